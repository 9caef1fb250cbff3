"""Serve the form that imports skills from a zip file or a folder."""

from django.contrib import messages
from django.core.files.uploadedfile import UploadedFile
from django.http import Http404, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.http import require_http_methods

from memory.skills import importing
from memory.skills.catalogue import OWN, source_in
from memory.views.skills.changes import spaces_to_write_in
from memory.views.skills.pages import source_of
from oneclaw.models import Space
from oneclaw.people.requests import SignedInRequest


@require_http_methods(["GET", "POST"])
def import_skills(request: SignedInRequest) -> HttpResponse:
    """Show the form; POST imports the skills of a zip file or of a folder. They wait for the person's approval."""
    spaces = spaces_to_write_in(request.user)
    chosen = request.POST.get("source", OWN)
    context = {"sources": [(source_in(space), source_of(space)) for space in spaces], "chosen": chosen}
    if request.method == "GET":
        return render(request, "memory/import_skills.html", context)
    space = next((each for each in spaces if source_in(each) == chosen), None)
    if space is None:
        raise Http404
    try:
        done = _imported(request, space)
    except importing.SkillImportError as error:
        context["refusal"] = _("%(why)s Nothing was imported.") % {"why": error}
        return render(request, "memory/import_skills.html", context, status=422)
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
    return redirect("memory_skill", chosen, done.names[0]) if count == 1 else redirect("memory_skills")


def _imported(request: SignedInRequest, space: Space) -> importing.ImportedSkills:
    """Import what the form has sent into `space`. Raise SkillImportError."""
    replaces = request.POST.get("replaces") == "yes"
    archive = request.FILES.get("archive")
    if isinstance(archive, UploadedFile):
        # One byte more than is possible says that it is too long.
        data = archive.read(importing.ARCHIVE_MAX_BYTES + 1)
        return importing.import_zip(request.user, archive.name or "archive.zip", data, space=space, replaces=replaces)
    sent = [file for file in request.FILES.getlist("folder") if isinstance(file, UploadedFile)]
    # Django keeps only the last part of a file's name; the page sends the paths in another field.
    paths = request.POST.getlist("paths")
    if not sent or len(paths) != len(sent):
        raise importing.SkillImportError(_("Choose a zip file or a folder."))
    files = ((path, file.read()) for path, file in zip(paths, sent, strict=True))
    name = paths[0].partition("/")[0]
    return importing.import_uploaded(request.user, name, files, space=space, replaces=replaces)
