"""Where something forgotten still stands in the folder of a space, and taking it out of what is no document."""

import logging

from memory.files import disk
from memory.files.folders import folder_of
from memory.policy.tombstones import Known
from oneclaw.models import Space

logger = logging.getLogger(__name__)


def files_with(space: Space, known: Known) -> list[str]:
    """The files of the space's folder in which it stands, whatever they are."""
    folder = folder_of(space)
    try:
        return [one.path for one in disk.walk(folder) if known.is_in_text(disk.words_in(folder, one.path))]
    except OSError:
        return []


def clean_files(space: Space, known: Known) -> None:
    """Take it out of files that are no documents: what was put aside goes, others lose the lines. OSError."""
    folder, held = folder_of(space), set(space.documents.values_list("path", flat=True))
    for path in files_with(space, known):
        if path in held:
            continue
        if disk.is_ours(path):
            disk.remove(folder, path)
            continue
        try:
            text = disk.read(folder, path)
        except disk.UnreadableFileError as refusal:
            logger.warning("Something forgotten stands in a file of space %s: %s", space.pk, refusal)
        else:
            disk.write(folder, path, known.without(text).encode())
