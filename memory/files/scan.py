"""Scan the folder of a space for changed and new files, and import them."""

import logging
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from memory.documents import write
from memory.files import disk
from memory.files.folders import checked_text, folder_of
from memory.files.import_changes import import_new_file
from memory.files.merge_base import is_imported
from memory.files.mirror import synchronise
from memory.files.replaced import is_replaced, is_replaced_of
from memory.models import MemoryDocument, content_hash
from memory.policy.paths import BadPathError, checked_path
from oneclaw.models import Space
from oneclaw.text import InvalidTextError

logger = logging.getLogger(__name__)

# Refused files, by space, path and reason, so that each is logged only once.
_refused: set[tuple[int, str, str]] = set()


def scan_folder(space: Space, since: float = 0) -> bool:
    """Import every changed and new file in the folder of `space`; only those that were touched after `since`, if given.

    Return whether a file is being written at the moment, so that the folder must be scanned again. A missing file, and
    an empty or missing folder, change nothing.
    """
    folder = folder_of(space)
    columns = ("path", "pk", "version", "mirrored_version", "content_hash", "deleted_at")
    documents = {path: rest for path, *rest in space.documents.values_list(*columns)}
    is_being_written = False
    try:
        for found in disk.walk(folder):
            if is_replaced(found.path):
                is_being_written |= not import_rest_of(found.path, folder, documents)
                continue
            if found.is_hidden or not (found.is_link or found.path.endswith(".md")):
                continue
            if since and disk.touched_at(folder, found.path) < since:
                continue
            try:
                text = text_of(space, found)
                pk, version, mirrored, hash, deleted_at = documents.get(found.path, (None, 0, 0, "", None))
                if mirrored == version and hash == content_hash(text) and pk and deleted_at is None:
                    continue
                if not disk.is_at_rest(folder, found.path):
                    is_being_written |= pk is None or not was_written_by_mirror(pk, text)
                elif pk is None:
                    import_new_file(space, found.path)
                else:
                    synchronise(pk)
            except (disk.UnreadableFileError, InvalidTextError, write.DocumentError, BadPathError) as refusal:
                log_refusal(space, found, str(refusal))
    except FileNotFoundError:
        # The folder or a subfolder is missing, or was removed during the scan.
        pass
    except OSError:
        logger.exception("The folder of space %s could not be looked through; the next scan tries again.", space.pk)
    return is_being_written


def import_rest_of(path: str, folder: Path, documents: Mapping[str, Sequence[Any]]) -> bool:
    """Import the file at `path`, which the mirror replaced, and return whether it is done."""
    for document_path, (pk, *_) in documents.items():
        if is_replaced_of(path, document_path):
            synchronise(pk)
            return not disk.exists(folder, path)
    return True


def was_written_by_mirror(document_id: int, text: str) -> bool:
    """Return whether `text` is what the mirror has written to the file of the document since its row was read."""
    document = MemoryDocument.objects.select_related("space").filter(pk=document_id).first()
    return document is not None and is_imported(document, text)


def text_of(space: Space, found: disk.FolderEntry) -> str:
    """Return the text of the file `found`.

    Raise BadPathError or UnreadableFileError when it cannot be a document.
    """
    if found.is_link:
        raise BadPathError("It is a symbolic link: only plain files are taken in.")
    if checked_path(found.path) != found.path:
        raise BadPathError("Its name is not in Unicode form NFC.")
    return checked_text(folder_of(space), found.path, found.path)


def log_refusal(space: Space, found: disk.FolderEntry, reason: str) -> None:
    """Log why the file `found` is not imported, once per process."""
    refusal = (space.pk, found.path, reason)
    if refusal not in _refused:
        _refused.add(refusal)
        logger.warning("The file %r of space %s is not taken in: %s", found.path, space.pk, reason)
