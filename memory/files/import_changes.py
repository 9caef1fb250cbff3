"""Import the changes that people make in the files of their folder, exactly once and without losing one."""

import datetime as dt
import unicodedata

from django.db import transaction

from memory.documents import write
from memory.documents.merge import merge
from memory.documents.write import Author, Replace, Source
from memory.files import disk
from memory.files.folders import folder_of, text_in_file
from memory.files.merge_base import is_imported, last_common, operation_key
from memory.models import MemoryDocument, content_hash
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
    rows = MemoryDocument.objects.filter(pk=document_id).select_related("space")
    document = rows.first()
    text = text_in_file(document) if document else None
    if document is None or text is None or is_imported(document, text):
        return
    if not disk.is_at_rest(folder_of(document.space), document.path):
        return
    # The row lock excludes other changes of the document from here on.
    document = rows.select_for_update(of=("self",)).get()
    base, existed = last_common(document)
    allowed = tombstones.of_space(document.space_id).without(text)
    theirs, key = with_line_ends_of(base, allowed), operation_key(document, allowed)
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
        return
    try:
        revision = write.apply(document.space, document.path, Replace(changed, document.version), author)
    except write.DocumentTooLargeError:
        # Each text is small enough, but the merged one is not.
        if is_whole:
            write_conflict_copy(document, theirs, key)
        return
    if revision and changed == text:
        rows.update(mirrored_version=revision.number)


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
