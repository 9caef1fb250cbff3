"""The page with which people delete their own account."""

from django.contrib import auth
from django.http import HttpResponse
from django.shortcuts import render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods

from oneclaw.leaving import offboard
from oneclaw.leaving.shared_spaces import DELETE
from oneclaw.models import Space, User
from oneclaw.people.fresh import fresh_sign_in_required
from oneclaw.people.requests import SignedInRequest
from oneclaw.text import UserFacingError


@never_cache
@require_http_methods(["GET", "POST"])
@fresh_sign_in_required
def delete_account(request: SignedInRequest) -> HttpResponse:
    """Say what goes with the account (GET), or delete it (POST) and sign the person out everywhere."""
    person, refusal = request.user, ""
    planned = offboard.plan(person)
    if request.method == "POST":
        try:
            offboard.begin(person, choices=chosen(request, planned.spaces))
        except UserFacingError as refused:
            refusal = str(refused)
        else:
            auth.logout(request)
            return render(request, "people/account_deleted.html")
    context = {
        "plan": planned,
        "spaces": [(space, successors(space, person)) for space in planned.spaces],
        "refusal": refusal,
    }
    return render(request, "people/delete_account.html", context, status=422 if refusal else 200)


def successors(space: Space, person: User) -> list[User]:
    """Return the members to whom `person` may hand over `space`, by name."""
    members = space.members.exclude(user=person).filter(user__is_active=True).select_related("user")
    return sorted((member.user for member in members), key=str)


def chosen(request: SignedInRequest, spaces: list[Space]) -> dict[str, str]:
    """Return what the form says about each of `spaces`; nothing for one without an allowed choice."""
    choices = {}
    for space in spaces:
        value = request.POST.get(f"space-{space.pk}", "")
        if value in {DELETE, *(str(person.pk) for person in successors(space, request.user))}:
            choices[str(space.pk)] = value
    return choices
