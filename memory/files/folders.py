"""Locate the folder of a space, and read the file of a document."""

from pathlib import Path

from django.conf import settings

from memory.documents import write
from memory.files import disk
from memory.models import MemoryDocument
from oneclaw.models import Space
from oneclaw.text import InvalidTextError


def folder_of(space: Space) -> Path:
    """Return the folder of `space`: ONECLAW_HOME/workspaces/<space id>."""
    return Path(settings.WORKSPACES) / str(space.pk)


def text_in_file(document: MemoryDocument) -> str | None:
    """Return the text of the file of `document`; None without one. A file that cannot be read is put aside first."""
    folder = folder_of(document.space)
    try:
        text = disk.read(folder, document.path)
        write.check(document.path, text)
        return text
    except (disk.UnreadableFileError, InvalidTextError):
        disk.put_aside(folder, document.path)
        return None
