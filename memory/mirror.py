"""Documents as files: ONECLAW_HOME/workspaces/<space id>/MEMORY.md and so on."""

from pathlib import Path

from django.conf import settings
from django.db import transaction

from memory import files
from memory.locks import hold
from memory.models import MemoryDocument
from oneclaw.models import Space


def mirror_document(document_id: int) -> None:
    """Bring the file up to the document. Safe to run twice, and at once with others: the newest content stays.

    OSError when the disk refuses; the row then still says that the file is behind.
    """
    with transaction.atomic():
        # One writer a file, or an older content could come to stand over a newer one. Nobody who changes the
        # document waits for the disk: its row is not locked.
        hold(f"mirror {document_id}")
        document = MemoryDocument.objects.filter(pk=document_id).select_related("space").first()
        if document is None or document.mirrored_version == document.version:
            return
        folder = folder_of(document.space)
        if document.is_deleted:
            files.remove(folder, document.path)
        else:
            files.write(folder, document.path, document.content.encode())
        MemoryDocument.objects.filter(pk=document_id).update(mirrored_version=document.version)


def folder_of(space: Space) -> Path:
    return Path(settings.WORKSPACES) / str(space.pk)
