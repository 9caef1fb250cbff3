"""Invitations to spaces: the invited person accepts or declines, an owner withdraws."""

from django.contrib import messages
from django.http import Http404, HttpResponse
from django.shortcuts import redirect
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST

from chat.views.spaces.frame import owned_space
from oneclaw.people import space_invitations
from oneclaw.people.requests import SignedInRequest
from oneclaw.spaces.lifecycle import SpaceNotFoundError


@require_POST
def answer(request: SignedInRequest, invitation_id: int) -> HttpResponse:
    """Accept the invitation (`do` is accept), or decline it."""
    try:
        if request.POST.get("do") == "accept":
            space = space_invitations.accept(request.user, invitation_id)
            return redirect("space", space.pk)
        space_invitations.decline(request.user, invitation_id)
    except SpaceNotFoundError:
        raise Http404 from None
    messages.success(request, _("Declined."))
    return redirect("spaces")


@require_POST
def withdraw(request: SignedInRequest, space_id: int, invitation_id: int) -> HttpResponse:
    """Withdraw an open invitation of a space that the person owns."""
    space = owned_space(request.user, space_id)
    try:
        space_invitations.withdraw(space, invitation_id, request.user)
    except SpaceNotFoundError:
        raise Http404 from None
    return redirect("space_members", space.pk)
