"""A person's memory as a folder: taken in from one, and given out as one, byte for byte."""

from dataclasses import dataclass, field
from pathlib import Path

from memory.documents import write
from memory.documents.write import Author, Replace, Source
from memory.files import disk
from memory.models import MemoryDocument, content_hash
from memory.policy.paths import checked_path
from oneclaw.models import Space, User
from oneclaw.reasons import Reason


class FolderError(Exception):
    """A folder that cannot be used; the message is one sentence."""


@dataclass
class Report:
    """What became of each path of a folder."""

    written: list[str] = field(default_factory=list)
    unchanged: list[str] = field(default_factory=list)
    # What is no Markdown file, or hidden: none of our business.
    skipped: list[str] = field(default_factory=list)
    # path → a sentence that says why it was not taken
    refused: dict[str, str] = field(default_factory=dict)


def import_folder(folder: Path, space: Space, user: User) -> Report:
    """Every Markdown file of the folder becomes a document with its bytes. Nothing that is not there is deleted.

    What cannot be taken is refused by itself; the rest is taken. FolderError when there is no such folder.
    """
    if not folder.is_dir():
        raise FolderError(f"There is no folder {folder}.")
    report = Report()
    held = {
        path: (version, hash, deleted_at is None)
        for path, version, hash, deleted_at in space.documents.values_list(
            "path", "version", "content_hash", "deleted_at"
        )
    }
    taken: dict[str, str] = {}
    for found in disk.walk(folder):
        if found.is_hidden or (found.is_file and not found.path.endswith(".md")):
            report.skipped.append(found.path)
            continue
        try:
            path = _taken_once(found, taken)
            content = disk.read(folder, found.path)
            version, hash, present = held.get(path, (0, "", False))
            if present and hash == content_hash(content):
                report.unchanged.append(path)
                continue
            write.apply(
                space,
                path,
                Replace(content, version),
                Author(Source.IMPORT, user, reason=Reason("change.folder_imported")),
            )
            report.written.append(path)
        except (disk.UnreadableFileError, write.BadPathError, write.BadText, write.DocumentError) as error:
            report.refused[_shown(found.path)] = str(error)
    return report


def export_folder(folder: Path, space: Space) -> Report:
    """Every document becomes a file with its bytes. FolderError unless the folder is new or empty."""
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise FolderError(f"{folder} is not an empty folder: name one that is new or empty.")
    report = Report()
    present = MemoryDocument.objects.present().filter(space=space)
    try:
        for document in present.order_by("path"):
            disk.write(folder, document.path, document.content.encode())
            report.written.append(document.path)
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise FolderError(f"{folder} cannot be written: {error.strerror}.") from error
    return report


def _taken_once(found: disk.FolderEntry, taken: dict[str, str]) -> str:
    """The document's path; BadPathError when it cannot be one, or when a file before it was the same one."""
    if found.is_link:
        raise write.BadPathError(f"{_shown(found.path)} is a symbolic link: only plain files are taken.")
    path = checked_path(found.path)
    if path in taken:
        raise write.BadPathError(f"{path} stands there twice, its name in two Unicode forms.")
    taken[path] = found.path
    return path


def _shown(name: str) -> str:
    """A file name as it may be printed: what is no Unicode in it becomes a mark."""
    return name.encode(errors="replace").decode()
