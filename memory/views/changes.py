"""Serve the pages on which a person changes memory by hand: edit, delete a line, undo, restore."""

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse, HttpResponseBadRequest
from django.middleware.csrf import get_token
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_POST

from chat.views.spaces.frame import writable_space
from memory.access.rights import may_edit
from memory.documents import undo, write
from memory.documents.merge import OverlapError, merge
from memory.documents.write import Author, Delete, Replace, Source
from memory.files import waiting
from memory.files.disk import UnreadableFileError
from memory.files.mirror import try_to_mirror
from memory.files.missing import documents_without_file, write_file_again
from memory.files.scan import scan_folder
from memory.models import MemoryDocument, MemoryRevision
from memory.policy import tombstones
from memory.policy.line_ends import with_line_ends_of
from memory.policy.paths import CURATED
from memory.tools import saved
from memory.views.forgetting import parsed_number
from oneclaw.models import Space
from oneclaw.people.requests import SignedInRequest
from oneclaw.reasons import Reason
from oneclaw.text import InvalidTextError


@require_http_methods(["GET", "POST"])
def edit(request: SignedInRequest, document_id: int) -> HttpResponse:
    """Show the text of a document in a form; POST saves it.

    After a concurrent change nothing is saved: both texts are shown, and the form holds them merged, with status 409.
    """
    document = writable_document(request, document_id)
    context = {"document": document, "content": document.content, "base_version": document.version}
    context["has_forgotten"] = bool(tombstones.of_space(document.space_id))
    if request.method == "GET":
        return render(request, "memory/edit.html", context)
    base_version = form_number(request, "base_version")
    if base_version is None or base_version > document.version:
        return HttpResponseBadRequest()
    base = write.content_at(document, base_version)
    mine = with_line_ends_of(base, request.POST.get("content", ""))
    try:
        author = Author(Source.PAGE, request.user, reason=Reason("change.edited"))
        write.apply(document.space, document.path, Replace(mine, base_version), author)
    except write.StaleVersionError:
        document.refresh_from_db()
        if tombstones.forgotten_since(document, base_version):
            # The edit began before the forgetting, so it does not restore the forgotten lines.
            base = write.content_at(document, base_version)
            mine = tombstones.of_space(document.space_id).without(mine)
        merged = merge(base, document.content, mine)
        context |= {"mine": mine, "merged": merged, "content": merged.text, "current": document.content}
        return render(request, "memory/edit.html", context | {"base_version": document.version}, status=409)
    except (write.DocumentError, InvalidTextError) as error:
        context |= {"refusal": str(error), "content": mine, "base_version": base_version}
        return render(request, "memory/edit.html", context, status=422)
    messages.success(request, _("Saved."))
    return redirect("memory_document", document.pk)


@require_POST
def delete_line(request: SignedInRequest, document_id: int) -> HttpResponse:
    """Delete one line of a document, and go back to it."""
    document = writable_document(request, document_id)
    line, base_version = form_number(request, "line"), form_number(request, "base_version")
    if line is None or base_version is None:
        return HttpResponseBadRequest()
    author = Author(Source.PAGE, request.user, reason=Reason("change.line_deleted"))
    try:
        undo.change_lines(document, line, 1, [], base_version, author)
    except (OverlapError, IndexError):
        messages.error(request, _("That line was changed in the meantime, so it was not deleted."))
    else:
        messages.success(request, _("Line deleted. You can undo this in the history below."))
    return redirect("memory_document", document.pk)


@require_POST
def restore(request: SignedInRequest, document_id: int) -> HttpResponse:
    """Restore the content of an earlier revision, and go back to the document."""
    document = writable_document(request, document_id)
    number, base_version = form_number(request, "number"), form_number(request, "base_version")
    if number is None or base_version is None or not document.revisions.filter(number=number).exists():
        return HttpResponseBadRequest()
    author = Author(Source.UNDO, request.user, reason=Reason("change.restored", {"number": number}))
    try:
        undo.restore(document, number, base_version, author)
    except write.DocumentError as error:
        messages.error(request, str(error))
    else:
        messages.success(request, _("Restored. The previous text is in the history."))
    return redirect("memory_document", document.pk)


@require_http_methods(["GET", "POST"])
def undo_change(request: SignedInRequest, revision_id: int) -> HttpResponse:
    """Show a change and ask for confirmation; POST undoes it, and returns the updated card to htmx."""
    mine = MemoryRevision.objects.filter(space__roles__user=request.user)
    revision = get_object_or_404(mine.select_related("document", "space", "message__session"), pk=revision_id)
    if not may_edit(request.user, revision.space, revision.document.path):
        raise PermissionDenied
    if request.method == "GET":
        return render(request, "memory/undo.html", {"revision": revision, "document": revision.document})
    author = Author(Source.UNDO, request.user, reason=Reason("change.taken_back", {"number": revision.number}))
    refusal = ""
    try:
        undo.undo(revision, author)
    except write.DocumentError as error:
        refusal = str(error)
    if request.htmx and (card := saved.card_html(revision, request.user, get_token(request), refusal)):
        return HttpResponse(card)
    if refusal:
        messages.error(request, refusal)
    else:
        messages.success(request, _("Undone. Later changes were kept."))
    return redirect("memory_document", revision.document_id)


@require_POST
def file_missing(request: SignedInRequest, document_id: int) -> HttpResponse:
    """Take the person's answer about a missing file: delete the document too, or write the file again."""
    document = writable_document(request, document_id)
    if document not in documents_without_file(document.space):
        messages.info(request, _("The file was written again. Nothing else was changed."))
    elif request.POST.get("answer") == "delete":
        author = Author(Source.PAGE, request.user, reason=Reason("change.file_deleted"))
        try:
            write.apply(document.space, document.path, Delete(document.version), author)
        except write.DocumentError as error:
            messages.error(request, str(error))
    else:
        write_file_again(document)
        try_to_mirror(document.pk)
    return redirect("memory_files")


@require_POST
def file_waiting(request: SignedInRequest) -> HttpResponse:
    """Take in the text of a file that waits in the person's own folder, or in that of a `space` whose documents they
    may edit, make it a document (`answer` = keep), or delete it (discard)."""
    own, path = Space.objects.own_of(request.user), request.POST.get("path", "")
    space_id = form_number(request, "space")
    space = own if space_id is None else writable_space(request.user, space_id)
    if not may_edit(request.user, space, CURATED):
        raise PermissionDenied
    try:
        if request.POST.get("answer") == "discard":
            done, said = waiting.discard(space, path), _("The file was deleted.")
        elif request.POST.get("answer") == "keep":
            done, said = waiting.keep(space, path), _("The file is a document of its own.")
        else:
            done, said = waiting.take_in(space, request.user, path), _("The text of the file was taken in.")
    except (write.DocumentError, InvalidTextError, UnreadableFileError, OSError) as error:
        messages.error(
            request, str(error) if isinstance(error, write.DocumentError) else _("The file could not be changed.")
        )
    else:
        if done:
            messages.success(request, said)
        else:
            messages.info(request, _("That file is not there any more, or was changed. Nothing was done."))
    if request.POST.get("answer") != "discard":
        scan_folder(space)
    return redirect("memory_files") if space == own else redirect("space_memory", space.pk)


def writable_document(request: SignedInRequest, document_id: int) -> MemoryDocument:
    """Return the document. Raise Http404 unless the person may read it, PermissionDenied unless they may write it."""
    mine = MemoryDocument.objects.visible_to(request.user).select_related("space")
    document = get_object_or_404(mine, pk=document_id)
    if not may_edit(request.user, document.space, document.path):
        raise PermissionDenied
    return document


def form_number(request: HttpRequest, name: str) -> int | None:
    """Return the form field `name` as a whole number below a billion; None when it is no such number."""
    return parsed_number(request.POST.get(name))
