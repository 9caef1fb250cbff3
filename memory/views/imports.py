"""Serve the pages of an import: choose a zip file, preview its changes, and confirm them."""

import uuid

from django.contrib import messages
from django.core.files.uploadedfile import UploadedFile
from django.http import HttpResponse, HttpResponseBadRequest
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.http import require_http_methods, require_POST

from memory.documents import write
from memory.transfer import archive, imports
from oneclaw.people.requests import SignedInRequest

# Changed lines of one file that the page shows; the rest is counted.
SHOWN_MAX_LINES = 400


@require_http_methods(["GET", "POST"])
def import_zip(request: SignedInRequest) -> HttpResponse:
    """Show the form; POST shows what the uploaded zip file would change, without changing anything."""
    if request.method == "GET":
        return render(request, "memory/import.html")
    file = request.FILES.get("archive")
    if not isinstance(file, UploadedFile):
        return render_refusal(request, _("Choose a zip file."))
    if (file.size or 0) > archive.ARCHIVE_MAX_BYTES:
        sentence = _("This file is larger than {longest} MB. Nothing was imported.")
        return render_refusal(request, sentence.format(longest=archive.ARCHIVE_MAX_BYTES // 1024**2))
    try:
        plan = imports.upload(request.user, file.name or "archive.zip", file.read())
    except archive.UnusableArchiveError as error:
        return render_refusal(request, str(error))
    return render_plan(request, plan)


@require_POST
def confirm_import(request: SignedInRequest) -> HttpResponse:
    """Apply exactly the plan that was shown; show the new plan when memory has changed since."""
    try:
        token = uuid.UUID(request.POST.get("token", ""))
    except ValueError:
        return HttpResponseBadRequest()
    try:
        try:
            done = imports.confirm(request.user, token, request.POST.get("digest", ""))
        except imports.ImportPlanChangedError:
            plan = imports.plan(imports.pending_upload(request.user, token))
            warning = _("Memory was changed in the meantime, so nothing was imported. This is the new preview:")
            return render_plan(request, plan, warning, 409)
    except imports.UploadMissingError:
        sentence = _("This upload was imported already, replaced by another one, or is too old.")
        return render_refusal(request, sentence, 409)
    except (write.DocumentError, archive.UnusableArchiveError) as error:
        return render_refusal(request, str(error))
    count = len(done.changes)
    messages.success(request, ngettext("%d file is imported.", "%d files are imported.", count) % count)
    if failed := len(done.refused):
        messages.error(request, ngettext("%d file was not imported.", "%d files were not imported.", failed) % failed)
    return redirect("memory")


def render_refusal(request: SignedInRequest, sentence: str, status: int = 422) -> HttpResponse:
    """Render the form with the error `sentence`."""
    return render(request, "memory/import.html", {"refusal": sentence}, status=status)


def render_plan(
    request: SignedInRequest, plan: imports.ImportPlan, warning: str = "", status: int = 200
) -> HttpResponse:
    """Render the preview of `plan`, with `warning` above it."""
    changes = [(change, *first_hunks(change)) for change in plan.changes]
    context = {"plan": plan, "changes": changes, "warning": warning}
    return render(request, "memory/import.html", context, status=status)


def first_hunks(change: imports.PlannedChange) -> tuple[list[dict[str, list[str]]], int]:
    """Return the first hunks of `change`, up to SHOWN_MAX_LINES lines, and the number of lines left out."""
    left, more, fitting = SHOWN_MAX_LINES, 0, []
    for hunk in reversed(change.hunks):
        removed, added = hunk["removed"][:left], hunk["added"][: max(0, left - len(hunk["removed"]))]
        left -= len(removed) + len(added)
        more += len(hunk["removed"]) + len(hunk["added"]) - len(removed) - len(added)
        if removed or added:
            fitting.append({"removed": removed, "added": added})
    return fitting, more
