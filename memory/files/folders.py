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
    """Return the text of the file of `document`; None without one. A file that cannot be read is put aside first.

    Raise UnreadableFileError for one that cannot be read because it is being written.
    """
    folder = folder_of(document.space)
    try:
        return checked_text(folder, document.path, document.path)
    except disk.UnreadableFileError:
        if not disk.is_at_rest(folder, document.path):
            raise
        disk.put_aside(folder, document.path, document.path)
        return None


def checked_text(folder: Path, path: str, document_path: str) -> str:
    """Return the text of the file at `path`. Raise UnreadableFileError if the document cannot have it."""
    text = disk.read(folder, path)
    try:
        write.check(document_path, text)
    except (InvalidTextError, write.DocumentTooLargeError) as error:
        raise disk.UnreadableFileError(str(error)) from error
    return text
