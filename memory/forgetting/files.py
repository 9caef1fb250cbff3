"""Find forgotten lines in the folder of a space, and remove them from files that are no documents."""

import logging

from memory.files import disk
from memory.files.folders import folder_of
from memory.policy.tombstones import LineMatcher
from oneclaw import files
from oneclaw.models import Space

logger = logging.getLogger(__name__)


def files_with(space: Space, known: LineMatcher) -> list[str]:
    """Return the paths of all files in the folder of `space` that hold a line of `known`; none without a folder."""
    folder = folder_of(space)
    try:
        return [one.path for one in disk.walk(folder) if known.is_in_text(disk.readable_text(folder, one.path))]
    except OSError:
        return []


def clean_files(space: Space, known: LineMatcher) -> None:
    """Remove forgotten lines from files that are no documents; files that were put aside are deleted.

    Raise OSError when the disk refuses.
    """
    folder, documents = folder_of(space), set(space.documents.values_list("path", flat=True))
    for path in files_with(space, known):
        if path in documents:
            continue
        if disk.is_leftover(path):
            disk.remove(folder, path)
            continue
        try:
            text = disk.read(folder, path)
        except disk.UnreadableFileError as refusal:
            logger.warning("A file of space %s that has forgotten lines cannot be read: %s", space.pk, refusal)
        else:
            files.write(folder, path, known.without(text).encode())
