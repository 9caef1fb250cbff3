"""Documents as files: ONECLAW_HOME/workspaces/<space id>/MEMORY.md and so on.

Either side may change. What stands in a file is taken in (memory/files/import_changes.py) before it is written over.
"""

from pathlib import Path

from django.conf import settings
from django.db import transaction

from memory.files import disk
from memory.models import MemoryDocument
from oneclaw.locks import hold
from oneclaw.models import Space


def mirror_document(document_id: int) -> None:
    """Bring the file up to the document. Safe to run twice, and at once with others: the newest content stays.

    OSError when the disk refuses; the row then still says that the file is behind. So it does while somebody is
    writing the file.
    """
    with transaction.atomic():
        # Of many who changed it at once, those who waited find it done.
        hold(f"mirror {document_id}")
        is_behind = MemoryDocument.objects.to_mirror().filter(pk=document_id).exists()
    if is_behind:
        settle(document_id)


def settle(document_id: int) -> None:
    """What was changed in the file comes into the document; then the file becomes what the document is.

    Two transactions, so that what was taken in is committed before the file that it stood in is written over.
    """
    from memory.files.import_changes import take_in

    take_in(document_id)
    write_out(document_id)


@transaction.atomic
def write_out(document_id: int) -> None:
    """Write the file, unless somebody has changed it since it was last taken in."""
    from memory.files.import_changes import is_taken_in

    # One writer a file, or an older content could come to stand over a newer one. Nobody who changes the document
    # waits for the disk: its row is not locked.
    hold(f"mirror {document_id}")
    document = MemoryDocument.objects.filter(pk=document_id).select_related("space").first()
    if document is None:
        return
    folder = folder_of(document.space)
    text = standing(document)
    if text is not None and not is_taken_in(document, text):
        return
    if document.is_deleted:
        disk.remove(folder, document.path)
    elif text != document.content:
        disk.write(folder, document.path, document.content.encode())
    MemoryDocument.objects.filter(pk=document_id).update(mirrored_version=document.version)


def standing(document: MemoryDocument) -> str | None:
    """What the document's file holds; None without one. A file that cannot be read is put aside under another name."""
    from memory.documents import write

    folder = folder_of(document.space)
    try:
        text = disk.read(folder, document.path)
        write.check(document.path, text)
        return text
    except (disk.Refused, write.BadText):
        disk.put_aside(folder, document.path)
        return None


def folder_of(space: Space) -> Path:
    return Path(settings.WORKSPACES) / str(space.pk)
