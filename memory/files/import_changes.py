"""Import what people change in the files of their folder: each change once, and none is lost."""

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
from memory.policy.line_ends import as_before
from memory.policy.paths import PATH_MAX_BYTES
from oneclaw.locks import hold
from oneclaw.models import Space, User
from oneclaw.reasons import Reason


@transaction.atomic
def import_changes(document_id: int) -> None:
    """Make the change that was made in the document's file one of the document, once.

    Lines that both sides changed stay as the document has them; the file's text then goes to a document of its own.
    """
    hold(f"mirror {document_id}")
    rows = MemoryDocument.objects.filter(pk=document_id).select_related("space")
    document = rows.first()
    text = text_in_file(document) if document else None
    if document is None or text is None or is_imported(document, text):
        return
    if not disk.is_at_rest(folder_of(document.space), document.path):
        return
    # From here on nobody else changes the document.
    document = rows.select_for_update(of=("self",)).get()
    base, existed = last_common(document)
    allowed = tombstones.of_space(document.space_id).without(text)
    theirs, key = as_before(base, allowed), operation_key(document, allowed)
    author = Author(Source.FILE, editor(document.space), reason=Reason("change.file_changed"), operation_key=key)
    if document.is_deleted and not existed:
        # Its deletion had reached the folder: this is a new file.
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
        # Each side fits, but not both together.
        if is_whole:
            write_conflict_copy(document, theirs, key)
        return
    if revision and changed == text:
        rows.update(mirrored_version=revision.number)


@transaction.atomic
def import_new_file(space: Space, path: str) -> None:
    """Make a document of a file that has none."""
    hold(f"import {space.pk} {path}")
    if space.documents.filter(path=path).exists():
        return
    text = disk.read(folder_of(space), path)
    author = Author(Source.FILE, editor(space), reason=Reason("change.file_new"))
    revision = write.apply(space, path, Replace(text, 0), author)
    # Without what was forgotten it is another text, and the file is still to be written.
    if revision and revision.content_hash == content_hash(text):
        MemoryDocument.objects.filter(pk=revision.document_id).update(mirrored_version=revision.number)


def write_conflict_copy(document: MemoryDocument, text: str, key: str) -> None:
    """Write the file's text into a document of its own, beside the one whose lines were kept."""
    at = document.space.owner.local()
    reason = Reason("change.both_changed", {"path": document.path})
    author = Author(Source.FILE, editor(document.space), reason=reason, operation_key=f"{key}:aside")
    number = 1
    while document.space.documents.filter(path=(path := conflict_path(document.path, at, number))).exists():
        number += 1
    write.apply(document.space, path, Replace(text, 0), author)


def conflict_path(path: str, at: dt.datetime, number: int = 1) -> str:
    """Return `name (conflict YYYY-MM-DD HHMM).md`; from the second copy of one minute on with its number."""
    mark = f" (conflict {at:%Y-%m-%d %H%M}{f' {number}' if number > 1 else ''}).md"
    stem = path.removesuffix(".md").encode()[: PATH_MAX_BYTES - len(mark)]
    return unicodedata.normalize("NFC", stem.decode(errors="ignore").rstrip()) + mark


def editor(space: Space) -> User | None:
    """Return who changed a file: of a private folder its owner; of a shared one it is unknown."""
    return space.owner if space.is_private else None
