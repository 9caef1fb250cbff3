"""Import the changes that people make in the files of their folder, exactly once and without losing one."""

import datetime as dt
import unicodedata

from django.db import transaction

from memory.documents import write
from memory.documents.merge import merge
from memory.documents.write import Author, Replace, Source
from memory.files import disk
from memory.files.folders import checked_text, folder_of, text_in_file
from memory.files.merge_base import is_imported, last_common, operation_key
from memory.files.replaced import discard, find_replaced, is_final
from memory.models import MemoryDocument, MemoryRevision, content_hash
from memory.policy import tombstones
from memory.policy.line_ends import with_line_ends_of
from memory.policy.paths import PATH_MAX_BYTES
from oneclaw.locks import hold
from oneclaw.models import Space, User
from oneclaw.reasons import Reason


@transaction.atomic
def import_changes(document_id: int) -> None:
    """Merge the changes in the file of a document into the document. Idempotent.

    Where both sides changed the same lines, the document's are kept, and the file's text goes into a conflict copy.
    """
    hold(f"mirror {document_id}")
    document = MemoryDocument.objects.filter(pk=document_id).select_related("space").first()
    if document is None:
        return
    try:
        text = text_in_file(document)
    except disk.UnreadableFileError:
        return
    if text is None or is_imported(document, text) or not disk.is_at_rest(folder_of(document.space), document.path):
        return
    revision = import_text(document.pk, text, document.mirrored_version)
    if revision and revision.content_hash == content_hash(text):
        MemoryDocument.objects.filter(pk=document.pk).update(mirrored_version=revision.number)


def import_replaced(document_id: int) -> None:
    """Merge what the mirror replaced into the document, if it is not what the mirror had read. Idempotent.

    It stays where it is while a program writes into it.
    """
    document = MemoryDocument.objects.filter(pk=document_id).select_related("space").first()
    replaced = find_replaced(folder_of(document.space), document.path) if document else None
    if document is None or replaced is None or not is_final(folder_of(document.space), replaced):
        return
    folder = folder_of(document.space)
    with transaction.atomic():
        hold(f"mirror {document_id}")
        document.refresh_from_db()
        try:
            text = checked_text(folder, replaced.path, document.path)
        except disk.UnreadableFileError:
            disk.put_aside(folder, replaced.path, document.path)
        else:
            if not is_imported(document, text, replaced.mirrored_version):
                import_text(document.pk, text, replaced.mirrored_version)
    # Once the change is committed.
    discard(folder, replaced)


def import_text(document_id: int, text: str, mirrored_version: int) -> MemoryRevision | None:
    """Merge `text`, of a file that had `mirrored_version` in common with the document; return the revision.

    Must be called in a transaction that holds the lock of the mirror.
    """
    # The row lock excludes other changes of the document from here on.
    rows = MemoryDocument.objects.filter(pk=document_id).select_related("space")
    document = rows.select_for_update(of=("self",)).get()
    base, existed = last_common(document, mirrored_version)
    allowed = tombstones.of_space(document.space_id).without(text)
    theirs, key = with_line_ends_of(base, allowed), operation_key(document, allowed, mirrored_version)
    author = Author(Source.FILE, editor(document.space), reason=Reason("change.file_changed"), operation_key=key)
    if document.is_deleted and not existed:
        # The file had already been deleted with the document: this is a new file.
        changed, is_whole = theirs, True
    elif document.is_deleted or not existed:
        changed, is_whole = None, False
    else:
        merged = merge(base, document.content, theirs)
        changed, is_whole = merged.text, merged.is_whole
    if not is_whole:
        write_conflict_copy(document, theirs, key)
    if changed is None or (changed == document.content and not document.is_deleted):
        return None
    try:
        return write.apply(document.space, document.path, Replace(changed, document.version), author)
    except write.DocumentTooLargeError:
        # Each text is small enough, but the merged one is not.
        if is_whole:
            write_conflict_copy(document, theirs, key)
        return None


@transaction.atomic
def import_new_file(space: Space, path: str) -> None:
    """Create a document from the file at `path`, unless there is one already. Raise UnreadableFileError."""
    hold(f"import {space.pk} {path}")
    if space.documents.filter(path=path).exists():
        return
    text = disk.read(folder_of(space), path)
    author = Author(Source.FILE, editor(space), reason=Reason("change.file_new"))
    revision = write.apply(space, path, Replace(text, 0), author)
    # If forgotten lines were left out, the texts differ and the file must be written again.
    if revision and revision.content_hash == content_hash(text):
        MemoryDocument.objects.filter(pk=revision.document_id).update(mirrored_version=revision.number)


def write_conflict_copy(document: MemoryDocument, text: str, key: str) -> None:
    """Write the file's text into a new document next to `document`. Idempotent for the same `key`."""
    at = document.space.owner.local()
    reason = Reason("change.both_changed", {"path": document.path})
    author = Author(Source.FILE, editor(document.space), reason=reason, operation_key=f"{key}:aside")
    number = 1
    while document.space.documents.filter(path=(path := conflict_path(document.path, at, number))).exists():
        number += 1
    write.apply(document.space, path, Replace(text, 0), author)


def conflict_path(path: str, at: dt.datetime, number: int = 1) -> str:
    """Return the path `name (conflict YYYY-MM-DD HHMM).md`, with `number` before the bracket if it is above 1."""
    mark = f" (conflict {at:%Y-%m-%d %H%M}{f' {number}' if number > 1 else ''}).md"
    stem = path.removesuffix(".md").encode()[: PATH_MAX_BYTES - len(mark)]
    return unicodedata.normalize("NFC", stem.decode(errors="ignore").rstrip()) + mark


def editor(space: Space) -> User | None:
    """Return the author of changes of files: the owner of a private space; None (unknown) for a shared one."""
    return space.owner if space.is_private else None
