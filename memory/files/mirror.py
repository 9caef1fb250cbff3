"""Write documents to their files: ONECLAW_HOME/workspaces/<space id>/MEMORY.md and so on.

Both sides may change. Changes of a file are imported (memory/files/import_changes.py) before it is overwritten.
"""

import logging
from collections.abc import Sequence

from django.db import transaction

from memory.files import disk
from memory.files.folders import folder_of, text_in_file
from memory.files.import_changes import import_changes, import_replaced
from memory.files.merge_base import is_imported
from memory.files.replaced import discard, find_replaced, is_unchanged, replace_file
from memory.models import MemoryDocument
from oneclaw.locks import hold

logger = logging.getLogger(__name__)


def try_to_mirror(document_id: int) -> bool:
    """Bring the file of a document up to date, and return whether the disk allowed it.

    An error of the disk is logged; the row still says that the file is behind, so the sweep retries.
    """
    try:
        mirror_document(document_id)
    except OSError:
        logger.exception("Document %s could not be written to its file; the sweep tries again.", document_id)
        return False
    return True


def try_to_mirror_all(document_ids: Sequence[int]) -> None:
    """Bring the files of several documents up to date, as try_to_mirror does for one."""
    behind = MemoryDocument.objects.to_mirror().filter(pk__in=document_ids)
    # Of a new document there is no file, whose changes would be imported first, unless a person has just made one.
    for document_id in behind.filter(mirrored_version=0).values_list("pk", flat=True):
        try:
            write_file(document_id)
        except OSError:
            logger.exception("Document %s could not be written to its file; the sweep tries again.", document_id)
    for document_id in behind.all().values_list("pk", flat=True):
        try_to_mirror(document_id)


def mirror_document(document_id: int) -> None:
    """Bring the file of a document up to date. Idempotent, and safe to run concurrently.

    While a program is writing the file it is left alone, and the row still says that it is behind. Raise OSError when
    the disk refuses.
    """
    with transaction.atomic():
        # Concurrent callers wait here, and find that the file is up to date.
        hold(f"mirror {document_id}")
        is_behind = MemoryDocument.objects.to_mirror().filter(pk=document_id).exists()
    if is_behind:
        synchronise(document_id)


def synchronise(document_id: int) -> None:
    """Import the changes of a document's file, write the document to the file, and import what that replaced.

    These are transactions of their own, so that the imported changes are committed before the file is overwritten.
    """
    import_replaced(document_id)
    import_changes(document_id)
    write_file(document_id)
    import_replaced(document_id)


@transaction.atomic
def write_file(document_id: int) -> None:
    """Write the file of a document, unless it was changed since it was last imported. Raise OSError.

    What is replaced is kept if it is not what was read, because it was changed at the same moment.
    """
    # The lock ensures one writer per file, so that older content cannot replace newer. The document's row is not
    # locked: changes of the document do not wait for the disk.
    hold(f"mirror {document_id}")
    document = MemoryDocument.objects.filter(pk=document_id).select_related("space").first()
    if document is None:
        return
    folder = folder_of(document.space)
    if find_replaced(folder, document.path) is not None:
        # A program still writes into what was replaced before.
        return
    try:
        text = text_in_file(document)
    except disk.UnreadableFileError:
        return
    if text is not None and not is_imported(document, text):
        return
    if text != (None if document.is_deleted else document.content):
        replace_file(folder, document)
        replaced = find_replaced(folder, document.path)
        if replaced is not None and is_unchanged(folder, replaced, text):
            discard(folder, replaced)
    MemoryDocument.objects.filter(pk=document_id).update(mirrored_version=document.version)
