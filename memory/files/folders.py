"""Where the files of a space are, and what the file of a document holds."""

from pathlib import Path

from django.conf import settings

from memory.documents import write
from memory.files import disk
from memory.models import MemoryDocument
from oneclaw.models import Space


def folder_of(space: Space) -> Path:
    """Return the folder of the space: ONECLAW_HOME/workspaces/<space id>."""
    return Path(settings.WORKSPACES) / str(space.pk)


def text_in_file(document: MemoryDocument) -> str | None:
    """Return what the document's file holds; None without one. A file that cannot be read is renamed out of the way."""
    folder = folder_of(document.space)
    try:
        text = disk.read(folder, document.path)
        write.check(document.path, text)
        return text
    except (disk.UnreadableFileError, write.BadText):
        disk.put_aside(folder, document.path)
        return None
