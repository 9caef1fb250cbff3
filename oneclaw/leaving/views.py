"""The pages with which people take everything along, bring it back, and delete their own account."""

from django.conf import settings
from django.contrib import auth
from django.http import HttpResponse, StreamingHttpResponse
from django.shortcuts import redirect, render
from django.utils.http import content_disposition_header
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET, require_http_methods

from oneclaw.leaving import archive, imports, offboard
from oneclaw.leaving.shared_spaces import DELETE
from oneclaw.models import AccountImport, Space, User
from oneclaw.people.requests import SignedInRequest
from oneclaw.people.sign_in.fresh import fresh_sign_in_required
from oneclaw.reasons import Reason
from oneclaw.text import UserFacingError
from oneclaw.threads import in_database
from oneclaw.zipping import streamed

# Imports that the page lists.
SHOWN_IMPORTS = 5


@require_GET
async def send_archive(request: SignedInRequest) -> StreamingHttpResponse:
    """Send everything of the person as one zip file, while it is written."""
    user = await request.auser()
    response = StreamingHttpResponse(streamed(await in_database(archive.export, user)), content_type="application/zip")
    response["Content-Disposition"] = content_disposition_header(True, f"{user.day()} OneClaw.zip") or "attachment"
    response["X-Content-Type-Options"] = "nosniff"
    response["Cache-Control"] = "private, no-store"
    return response


@require_http_methods(["GET", "POST"])
def import_account(request: SignedInRequest) -> HttpResponse:
    """Show the form and the last imports (GET), or begin another one (POST)."""
    refusal = ""
    if request.method == "POST":
        try:
            imports.begin(request.user, request.FILES.get("file"))
            return redirect("import_account")
        except UserFacingError as refused:
            refusal = str(refused)
    found = AccountImport.objects.visible_to(request.user).order_by("-pk")[:SHOWN_IMPORTS]
    context = {
        "jobs": [(job, outcome(job)) for job in found],
        "refusal": refusal,
        "most": settings.IMPORT_MEGABYTES,
    }
    return render(request, "people/import_account.html", context, status=422 if refusal else 200)


def outcome(job: AccountImport) -> list[Reason]:
    """Return what came of an import: why it failed, or the numbers that are not 0."""
    if job.status == AccountImport.Status.FAILED:
        return [Reason(f"account_import.{job.error}")]
    return [Reason(f"account_import.{code}", {"number": number}) for code, number in job.counts.items() if number]


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
