"""Serve what people do with the files of a library: add and remove."""

from django.conf import settings
from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.core.files.uploadedfile import UploadedFile
from django.http import HttpResponse, JsonResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.http import require_http_methods, require_POST

from chat.attachments.examine import FileRefusedError
from memory.access.rights import may_write
from memory.library import files
from memory.models import LibraryFile
from memory.views.library_pages import chosen_space
from oneclaw.audit.holds import HeldError
from oneclaw.models import Space
from oneclaw.people.requests import SignedInRequest


@require_POST
def add_file(request: SignedInRequest) -> HttpResponse:
    """Add the files of the form. A script adds one at a time and is answered in JSON: the file's id, or why it is
    refused with the status 422."""
    space = writable(request, chosen_space(request))
    uploads = [each for each in request.FILES.getlist("files") if isinstance(each, UploadedFile)]
    refusals = [sentence for upload in uploads if (sentence := added(request, space, upload))]
    if request.headers.get("Accept") == "application/json":
        return JsonResponse({"text": " ".join(refusals)}, status=422 if refusals or not uploads else 200)
    for sentence in refusals:
        messages.error(request, sentence)
    if count := len(uploads) - len(refusals):
        messages.success(request, ngettext("%d file is added.", "%d files are added.", count) % count)
    elif not uploads:
        messages.error(request, _("Choose a file first."))
    return redirect(address_of(space))


@require_http_methods(["GET", "POST"])
def remove_file(request: SignedInRequest, file_id: int) -> HttpResponse:
    """Ask whether to remove a file; POST removes it with all its versions."""
    file = get_object_or_404(LibraryFile.objects.visible_to(request.user).select_related("space"), pk=file_id)
    space = writable(request, file.space)
    if request.method == "GET":
        return render(request, "memory/library/remove.html", {"file": file, "versions": file.versions.count()})
    try:
        files.remove(file, request.user)
    except HeldError as refusal:
        messages.error(request, refusal.sentence)
    else:
        messages.success(request, _("“%(name)s” is removed.") % {"name": file.name})
    return redirect(address_of(space))


def added(request: SignedInRequest, space: Space, upload: UploadedFile) -> str:
    """Add one file, and return why it is refused; "" when it is not."""
    name, size = upload.name or "", upload.size or 0
    try:
        if size > settings.LIBRARY_LIMITS.file_max_bytes:
            raise files.too_large_error(name, size)
        files.add(space, request.user, name, upload.read())
    except FileRefusedError as refusal:
        return refusal.sentence
    return ""


def writable(request: SignedInRequest, space: Space) -> Space:
    """Return `space`, which the person may read. Raise PermissionDenied for a reader."""
    if not may_write(request.user, space.pk):
        raise PermissionDenied
    return space


def address_of(space: Space) -> str:
    """Return the URL of the library of `space`."""
    return reverse("library", query={} if space.kind == Space.Kind.OWN else {"space": space.pk})
