"""Serve the form that imports skills from a zip file or a folder."""

from django.contrib import messages
from django.core.files.uploadedfile import UploadedFile
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.http import require_http_methods

from memory.skills import importing
from memory.skills.catalogue import OWN
from oneclaw.people.requests import SignedInRequest


@require_http_methods(["GET", "POST"])
def import_skills(request: SignedInRequest) -> HttpResponse:
    """Show the form; POST imports the skills of a zip file or of a folder. They wait for the person's approval."""
    if request.method == "GET":
        return render(request, "memory/import_skills.html")
    try:
        done = _imported(request)
    except importing.SkillImportError as error:
        refusal = _("%(why)s Nothing was imported.") % {"why": error}
        return render(request, "memory/import_skills.html", {"refusal": refusal}, status=422)
    count = len(done.names)
    messages.success(
        request,
        ngettext(
            "%d skill is imported. It waits for your approval.",
            "%d skills are imported. They wait for your approval.",
            count,
        )
        % count,
    )
    if left := len(done.skipped):
        messages.info(
            request,
            ngettext("%d file is no text and was left out.", "%d files are no text and were left out.", left) % left,
        )
    return redirect("memory_skill", OWN, done.names[0]) if count == 1 else redirect("memory_skills")


def _imported(request: SignedInRequest) -> importing.ImportedSkills:
    """Import what the form has sent. Raise SkillImportError."""
    replaces = request.POST.get("replaces") == "yes"
    archive = request.FILES.get("archive")
    if isinstance(archive, UploadedFile):
        # One byte more than is possible says that it is too long.
        data = archive.read(importing.ARCHIVE_MAX_BYTES + 1)
        return importing.import_zip(request.user, archive.name or "archive.zip", data, replaces=replaces)
    sent = [file for file in request.FILES.getlist("folder") if isinstance(file, UploadedFile)]
    # Django keeps only the last part of a file's name; the page sends the paths in another field.
    paths = request.POST.getlist("paths")
    if not sent or len(paths) != len(sent):
        raise importing.SkillImportError(_("Choose a zip file or a folder."))
    files = ((path, file.read()) for path, file in zip(paths, sent, strict=True))
    return importing.import_uploaded(request.user, paths[0].partition("/")[0], files, replaces=replaces)
