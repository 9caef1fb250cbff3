"""Bring documents to their files: ONECLAW_HOME/workspaces/<space id>/MEMORY.md and so on.

Either side may change. What a file holds is imported (memory/files/import_changes.py) before the file is written over.
"""

import logging

from django.db import transaction

from memory.files import disk
from memory.files.folders import folder_of, text_in_file
from memory.files.import_changes import import_changes
from memory.files.merge_base import is_imported
from memory.models import MemoryDocument
from oneclaw.locks import hold

logger = logging.getLogger(__name__)


def try_to_mirror(document_id: int) -> bool:
    """Bring the file up to the document, and return whether the disk allowed it. A failure is logged, and the row still
    says that the file is behind."""
    try:
        mirror_document(document_id)
    except OSError:
        logger.exception("Document %s could not be written to its file; the sweep tries again.", document_id)
        return False
    return True


def mirror_document(document_id: int) -> None:
    """Bring the file up to the document. Safe to run twice, and beside others: the newest content stays.

    OSError when the disk refuses; the row then still says that the file is behind. So it does while a program is
    writing the file.
    """
    with transaction.atomic():
        # Of many who changed it at once, those who waited find it done.
        hold(f"mirror {document_id}")
        is_behind = MemoryDocument.objects.to_mirror().filter(pk=document_id).exists()
    if is_behind:
        synchronise(document_id)


def synchronise(document_id: int) -> None:
    """Import what was changed in the file, then make the file hold what the document holds.

    Two transactions, so that what was imported is committed before the file that it came from is written over.
    """
    import_changes(document_id)
    write_file(document_id)


@transaction.atomic
def write_file(document_id: int) -> None:
    """Write the file, unless it was changed since it was last imported."""
    # One writer a file, or an older content could replace a newer one. Nobody who changes the document waits for the
    # disk: its row is not locked.
    hold(f"mirror {document_id}")
    document = MemoryDocument.objects.filter(pk=document_id).select_related("space").first()
    if document is None:
        return
    folder = folder_of(document.space)
    text = text_in_file(document)
    if text is not None and not is_imported(document, text):
        return
    if document.is_deleted:
        disk.remove(folder, document.path)
    elif text != document.content:
        disk.write(folder, document.path, document.content.encode())
    MemoryDocument.objects.filter(pk=document_id).update(mirrored_version=document.version)
