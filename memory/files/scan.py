"""Scan the folder of a space for changed and new files, and import them."""

import logging
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from django.db import Error as DatabaseFailure
from django.db import transaction
from django.db.models import F

from memory.documents import write
from memory.files import disk
from memory.files.folders import checked_text, folder_of
from memory.files.import_changes import import_changes, import_new_file
from memory.files.merge_base import is_imported
from memory.files.mirror import synchronise
from memory.files.replaced import find_replaced, is_replaced, is_replaced_of
from memory.models import MemoryDocument, content_hash
from memory.policy.paths import BadPathError, checked_path, may_be_document
from memory.policy.sync_copies import copied_path
from memory.signals import together
from oneclaw.models import Space
from oneclaw.text import InvalidTextError

logger = logging.getLogger(__name__)

# Files that are imported in one transaction, which locks their documents.
TRANSACTION_MAX_FILES = 25
# What is wrong with one file and no other.
REFUSALS = (disk.UnreadableFileError, InvalidTextError, write.DocumentError, BadPathError)

# Refused files, by space, path and reason, so that each is logged only once.
_refused: set[tuple[int, str, str]] = set()


def scan_folder(space: Space, since: float = 0, paths: Collection[str] | None = None) -> set[str]:
    """Import the changed and new files in the folder of `space`: only those that were touched after `since`, if given,
    and only those at `paths`, if given.

    Return the paths of the files that are being written at the moment, and so must be scanned again. A missing file,
    and an empty or missing folder, change nothing.
    """
    folder = folder_of(space)
    columns = ("path", "pk", "version", "mirrored_version", "content_hash", "deleted_at")
    documents = {path: rest for path, *rest in space.documents.values_list(*columns)}
    present = {path for path, (*_, deleted_at) in documents.items() if deleted_at is None}
    being_written: set[str] = set()
    changed: dict[int, ChangedFile] = {}
    try:
        entries = list(disk.walk(folder))
        # Of what is there, an original that is read for the first time may come after its copy.
        present |= {found.path for found in entries if may_be_document(found.path)}
        for found in entries:
            if paths is not None and found.path not in paths:
                continue
            if is_replaced(found.path):
                if not import_rest_of(found.path, folder, documents):
                    being_written.add(found.path)
                continue
            if found.is_hidden or not (found.is_link or may_be_document(found.path)):
                continue
            if found.path not in documents and copied_path(found.path, present - {found.path}):
                # Its owner is asked (memory/files/waiting.py).
                continue
            if since and disk.touched_at(folder, found.path) < since:
                continue
            try:
                text = text_of(space, found)
                pk, version, mirrored, hash, deleted_at = documents.get(found.path, (None, 0, 0, "", None))
                if mirrored == version and hash == content_hash(text) and pk and deleted_at is None:
                    continue
                if not disk.is_at_rest(folder, found.path):
                    if pk is None or not was_written_by_mirror(pk, text):
                        being_written.add(found.path)
                elif pk is None:
                    import_new_file(space, found.path)
                elif find_replaced(folder, found.path) is not None:
                    synchronise(pk)
                else:
                    changed[pk] = ChangedFile(found, content_hash(text))
            except REFUSALS as refusal:
                log_refusal(space, found, str(refusal))
    except FileNotFoundError:
        # The folder or a subfolder is missing, or was removed during the scan.
        pass
    except OSError:
        logger.exception("The folder of space %s could not be looked through; the next scan tries again.", space.pk)
    import_changed_files(space, changed)
    return being_written


@dataclass(frozen=True)
class ChangedFile:
    """The file of a document that changed, and the hash of the text that it had when it was read."""

    found: disk.FolderEntry
    hash: str


def import_changed_files(space: Space, changed: Mapping[int, ChangedFile]) -> None:
    """Import the files of these documents, by their id: many in one transaction, and with one update of the index."""
    # In the order of ids, so that two scans cannot wait for each other.
    waiting = sorted(changed)
    for start in range(0, len(waiting), TRANSACTION_MAX_FILES):
        batch = waiting[start : start + TRANSACTION_MAX_FILES]
        with together():
            try:
                with transaction.atomic():
                    for pk in batch:
                        try_to_import(space, pk, changed[pk].found)
            except DatabaseFailure:
                logger.warning("Changed files could not be imported together; importing each alone.", exc_info=True)
                for pk in batch:
                    try_to_import(space, pk, changed[pk].found)
    # Where document and file still differ, the file is written.
    documents = MemoryDocument.objects.filter(pk__in=waiting, mirrored_version=F("version"), deleted_at=None)
    hashes = dict(documents.values_list("pk", "content_hash"))
    for pk in waiting:
        if hashes.get(pk) == changed[pk].hash:
            continue
        try:
            synchronise(pk)
        except REFUSALS as refusal:
            log_refusal(space, changed[pk].found, str(refusal))
        except OSError:
            logger.exception("The file of document %s could not be written; the next scan tries again.", pk)


def try_to_import(space: Space, document_id: int, found: disk.FolderEntry) -> None:
    """Import the file `found` of a document; log why it is refused."""
    try:
        import_changes(document_id)
    except REFUSALS as refusal:
        log_refusal(space, found, str(refusal))


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
