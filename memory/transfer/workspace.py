"""Import a person's memory from a folder and export it to one, byte for byte."""

from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path

from django.db import transaction

from memory.documents import write
from memory.documents.write import Author, Replace, Source
from memory.files import disk
from memory.models import MemoryDocument, content_hash
from memory.policy.paths import BadPathError, checked_path, may_be_document
from memory.signals import together
from memory.trust import instructions
from oneclaw import files
from oneclaw.models import Space, User
from oneclaw.reasons import Reason
from oneclaw.text import InvalidTextError

# Files of one transaction: each commit waits for the disk.
BATCH_FILES = 50


class FolderError(Exception):
    """A folder that cannot be imported from or exported to; the message is one sentence."""


@dataclass
class Report:
    """The result of an import or export for each path of the folder."""

    written: list[str] = field(default_factory=list)
    unchanged: list[str] = field(default_factory=list)
    # Written files that instruct the assistant, and are used after a yes in the inbox.
    waiting: list[str] = field(default_factory=list)
    # Files that are hidden or no Markdown are ignored.
    skipped: list[str] = field(default_factory=list)
    # path → a sentence that says why the file was refused
    refused: dict[str, str] = field(default_factory=dict)


def import_folder(folder: Path, space: Space, user: User) -> Report:
    """Write every Markdown file of `folder` as a document of `space`; documents without a file are kept.

    Files that cannot be documents are refused one by one. Raise FolderError when there is no such folder.
    """
    if not folder.is_dir():
        raise FolderError(f"There is no folder {folder}.")
    report, author = Report(), Author(Source.IMPORT, user, reason=Reason("change.folder_imported"))
    rows = space.documents.values_list("path", "version", "content_hash", "deleted_at")
    held = {path: (version, hash, deleted_at is None) for path, version, hash, deleted_at in rows}
    taken: dict[str, str] = {}
    found = iter(disk.walk(folder))
    with together():
        while batch := list(islice(found, BATCH_FILES)):
            with transaction.atomic():
                for entry in batch:
                    _import_file(entry, folder, space, author, held, taken, report)
    return report


def _import_file(
    found: disk.FolderEntry,
    folder: Path,
    space: Space,
    author: Author,
    held: dict[str, tuple[int, str, bool]],
    taken: dict[str, str],
    report: Report,
) -> None:
    """Write one file of `folder`, and add it to `report`. `held` has the version, the hash and whether it is present of
    each document; `taken` the paths of the files so far."""
    if found.is_hidden or (found.is_file and not may_be_document(found.path)):
        report.skipped.append(found.path)
        return
    try:
        path = _taken_once(found, taken)
        content = disk.read(folder, found.path)
        version, hash, present = held.get(path, (0, "", False))
        if present and hash == content_hash(content):
            report.unchanged.append(path)
            return
        with transaction.atomic():
            write.apply(space, path, Replace(content, version), author)
            waits = instructions.ask_about(space, path, content, folder.name)
        report.written.append(path)
        if waits:
            report.waiting.append(path)
    except (disk.UnreadableFileError, BadPathError, InvalidTextError, write.DocumentError) as error:
        report.refused[_shown(found.path)] = str(error)


def export_folder(folder: Path, space: Space) -> Report:
    """Write every document of `space` as a file. Raise FolderError unless `folder` is new or empty, and writable."""
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise FolderError(f"{folder} is not an empty folder: name one that is new or empty.")
    report = Report()
    present = MemoryDocument.objects.present().filter(space=space)
    try:
        for document in present.order_by("path"):
            files.write(folder, document.path, document.content.encode())
            report.written.append(document.path)
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise FolderError(f"{folder} cannot be written: {error.strerror}.") from error
    return report


def _taken_once(found: disk.FolderEntry, taken: dict[str, str]) -> str:
    """Return the document path of `found`, and add it to `taken`. Raise BadPathError if it is invalid or known."""
    if found.is_link:
        raise BadPathError(f"{_shown(found.path)} is a symbolic link: only plain files are taken.")
    path = checked_path(found.path)
    if path in taken:
        raise BadPathError(f"{path} exists twice, its name in two Unicode forms.")
    taken[path] = found.path
    return path


def _shown(name: str) -> str:
    """Return a file name as it may be printed: bytes that are not Unicode become question marks."""
    return name.encode(errors="replace").decode()
