"""The page of invitations, and of the people who have signed up and wait for approval."""

from typing import Any

from django.contrib import messages
from django.contrib.auth.decorators import permission_required
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET, require_POST

from oneclaw.models import Invitation
from oneclaw.people import roles
from oneclaw.people.requests import SignedInRequest
from oneclaw.people.sign_in import inviting, sign_up
from oneclaw.people.sign_in.fresh import fresh_sign_in_required
from oneclaw.team.forms import InviteForm, ManyForm
from oneclaw.text import UserFacingError

manages_people = permission_required(roles.MANAGE_PEOPLE, raise_exception=True)


@require_GET
@manages_people
def invitations(request: SignedInRequest) -> HttpResponse:
    """Show who is invited, and who waits for approval."""
    return shown(request)


def shown(request: SignedInRequest, *, status: int = 200, **changed: Any) -> HttpResponse:
    """Return the page; `changed` has forms with mistakes, or the links of new invitations, shown only once."""
    context = {
        "form": InviteForm(request.user),
        "many_form": ManyForm(prefix="many"),
        "waiting": sign_up.waiting(),
        "pending": Invitation.objects.pending().select_related("invited_by").prefetch_related("groups"),
        **changed,
    }
    return render(request, "team/invitations.html", context, status=status)


@never_cache
@require_POST
@manages_people
@fresh_sign_in_required
def invite(request: SignedInRequest) -> HttpResponse:
    """Invite one person, and show the link once."""
    form = InviteForm(request.user, request.POST)
    if form.is_valid():
        try:
            made = inviting.invite(request.user, form.wish(), form.cleaned_data["days"])
        except UserFacingError as refused:
            form.add_error(None, str(refused))
        else:
            return made_known(request, [made], by_mail=form.cleaned_data.get("mailed", False))
    return shown(request, status=422, form=form)


@never_cache
@require_POST
@manages_people
@fresh_sign_in_required
def invite_many(request: SignedInRequest) -> HttpResponse:
    """Invite all people of a list, or none when a line has a mistake."""
    form = ManyForm(request.POST, request.FILES, prefix="many")
    if form.is_valid():
        try:
            wishes = inviting.wishes_of_csv(request.user, form.cleaned_data["text"])
            made = inviting.invite_all(request.user, wishes, form.cleaned_data["days"])
        except inviting.CsvError as refused:
            form.add_error(None, [str(refused), *refused.lines])
        except UserFacingError as refused:
            form.add_error(None, str(refused))
        else:
            return made_known(request, made, by_mail=form.cleaned_data.get("mailed", False))
    return shown(request, status=422, many_form=form)


@never_cache
@require_POST
@manages_people
@fresh_sign_in_required
def renew(request: SignedInRequest, invitation_id: int) -> HttpResponse:
    """Give an invitation a new link, which is shown once, or mailed."""
    try:
        made = inviting.renew(request.user, invitation_id)
    except UserFacingError as refused:
        messages.error(request, str(refused))
        return redirect("invitations")
    if made is None:
        messages.error(request, _("This invitation is not open any more."))
        return redirect("invitations")
    return made_known(request, [made], by_mail=inviting.can_mail())


@require_POST
@manages_people
def revoke(request: SignedInRequest, invitation_id: int) -> HttpResponse:
    """Revoke an invitation: its link opens nothing any more."""
    if inviting.revoke(request.user, invitation_id):
        messages.success(request, _("The invitation was revoked."))
    return redirect("invitations")


@require_POST
@manages_people
@fresh_sign_in_required
def decide(request: SignedInRequest, person_id: int) -> HttpResponse:
    """Let in a person who has signed up, or delete their account."""
    approved = request.POST.get("answer") == "yes"
    try:
        person = sign_up.decide(request.user, person_id, approved=approved)
    except UserFacingError as refused:
        messages.error(request, str(refused))
    else:
        sentence = _("{person} can sign in now.") if approved else _("{person} was not let in.")
        messages.success(request, sentence.format(person=person))
    return redirect("invitations")


def made_known(request: SignedInRequest, made: list[tuple[Invitation, str]], *, by_mail: bool) -> HttpResponse:
    """Mail the links, and show those that were not mailed; each is shown only here."""
    links = []
    for invitation, link in made:
        mailed = False
        if by_mail and invitation.email:
            try:
                inviting.mail(invitation, link)
                mailed = True
            except OSError:
                # The mail server cannot be reached or refuses: the link is shown instead.
                messages.warning(request, _("No mail could be sent to {email}.").format(email=invitation.email))
        if not mailed:
            links.append((invitation, link))
    if not links:
        messages.success(request, _("Sent by email."))
        return redirect("invitations")
    return shown(request, links=links)
