"""Import on the page: a zip file is chosen, what it would change is looked at, and confirmed."""

import uuid

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.files.uploadedfile import UploadedFile
from django.http import HttpResponse, HttpResponseBadRequest
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.http import require_http_methods, require_POST

from memory.documents import write
from memory.transfer import archive, imports
from oneclaw.people.requests import SignedInRequest

# Lines of one file that the page shows; the rest is counted.
LONGEST_SHOWN = 400


@login_required
@require_http_methods(["GET", "POST"])
def import_zip(request: SignedInRequest) -> HttpResponse:
    """GET: the form. POST: what the uploaded zip file would change; nothing is changed yet."""
    if request.method == "GET":
        return render(request, "memory/import.html")
    file = request.FILES.get("archive")
    if not isinstance(file, UploadedFile):
        return refused(request, _("Choose a zip file."))
    if (file.size or 0) > archive.LARGEST_ARCHIVE:
        told = _("This file is larger than {longest} MB. Nothing was imported.")
        return refused(request, told.format(longest=archive.LARGEST_ARCHIVE // 1024**2))
    try:
        plan = imports.upload(request.user, file.name or "archive.zip", file.read())
    except archive.Unusable as error:
        return refused(request, str(error))
    return shown(request, plan)


@login_required
@require_POST
def confirm_import(request: SignedInRequest) -> HttpResponse:
    """Import exactly what was shown; when memory changed meanwhile, show anew what would change."""
    try:
        token = uuid.UUID(request.POST.get("token", ""))
    except ValueError:
        return HttpResponseBadRequest()
    try:
        done = imported(request, token)
    except imports.NothingWaits:
        return refused(request, _("This upload was imported already, replaced by another one, or is too old."), 409)
    except (write.DocumentError, archive.Unusable) as error:
        return refused(request, str(error))
    if isinstance(done, HttpResponse):
        return done
    count = len(done.changes)
    messages.success(request, ngettext("%d file is imported.", "%d files are imported.", count) % count)
    return redirect("memory")


def imported(request: SignedInRequest, token: uuid.UUID) -> imports.Plan | HttpResponse:
    """What was done; or, when it is not what was shown, the page with what would be done now."""
    try:
        return imports.confirm(request.user, token, request.POST.get("digest", ""))
    except imports.Changed:
        plan = imports.plan(imports.waiting(request.user, token))
        return shown(
            request,
            plan,
            _("Memory was changed in the meantime, so nothing was imported. This is the new preview:"),
            409,
        )


def refused(request: SignedInRequest, sentence: str, status: int = 422) -> HttpResponse:
    return render(request, "memory/import.html", {"refusal": sentence}, status=status)


def shown(request: SignedInRequest, plan: imports.Plan, warning: str = "", status: int = 200) -> HttpResponse:
    changes = [(change, *within(change)) for change in plan.changes]
    context = {"plan": plan, "changes": changes, "warning": warning}
    return render(request, "memory/import.html", context, status=status)


def within(change: imports.Change) -> tuple[list[dict[str, list[str]]], int]:
    """The hunks, from the top of the file, as far as they fit on a page; how many lines more there are."""
    left, more, fitting = LONGEST_SHOWN, 0, []
    for hunk in reversed(change.hunks):
        removed, added = hunk["removed"][:left], hunk["added"][: max(0, left - len(hunk["removed"]))]
        left -= len(removed) + len(added)
        more += len(hunk["removed"]) + len(hunk["added"]) - len(removed) - len(added)
        if removed or added:
            fitting.append({"removed": removed, "added": added})
    return fitting, more
