"""Keep what the mirror replaces until it is certain that nothing of a person's is in it.

The mirror reads a file before it replaces it, and a person may save it in between, or may have opened it to save it a
moment later. What was replaced is kept in the same folder under a hidden name, which says the version that the document
and the file last had in common.
"""

import hashlib
import os
import re
from dataclasses import dataclass
from pathlib import Path

from memory.files import disk
from memory.models import MemoryDocument
from oneclaw import files

REPLACED_NAME = re.compile(r"\.([0-9a-f]{16})\.([0-9]{1,10})\.replaced")
# After so long without a change a replaced file is taken as it is, even if a program still has it open for writing.
OPEN_FILE_REST_SECONDS = 30.0


@dataclass(frozen=True)
class ReplacedFile:
    """A file that the mirror has replaced; `mirrored_version` is the version that it was made from."""

    path: str
    mirrored_version: int
    inode: int


def replace_file(root: Path, document: MemoryDocument) -> None:
    """Write the content of `document` to its file, or remove the file, and keep what was replaced. Raise OSError."""
    kept = f".{_digest(document.path)}.{document.mirrored_version}.replaced"
    if document.is_deleted:
        files.remove_keeping(root, document.path, kept)
    else:
        files.write_keeping(root, document.path, disk.encoded(root, document.path, document.content), kept)


def find_replaced(root: Path, path: str) -> ReplacedFile | None:
    """Return what was replaced at `path` and is still kept; None without one. There is one at most."""
    digest, parent = _digest(path), path.rpartition("/")[0]
    try:
        names = os.listdir(root / parent)
    except OSError:
        return None
    for name in names:
        found = REPLACED_NAME.fullmatch(name)
        if found and found[1] == digest:
            kept = f"{parent}/{name}" if parent else name
            inode = _inode(root, kept)
            return ReplacedFile(kept, int(found[2]), inode) if inode is not None else None
    return None


def is_replaced(path: str) -> bool:
    """Return whether `path` is a file that was replaced."""
    return REPLACED_NAME.fullmatch(path.rpartition("/")[2]) is not None


def is_replaced_of(kept: str, path: str) -> bool:
    """Return whether `kept` is what was replaced at `path`."""
    folder, _, name = kept.rpartition("/")
    found = REPLACED_NAME.fullmatch(name)
    return found is not None and folder == path.rpartition("/")[0] and found[1] == _digest(path)


def is_unchanged(root: Path, replaced: ReplacedFile, text: str | None) -> bool:
    """Return whether the replaced file holds `text`, and no program is known to write into it."""
    try:
        return disk.has_writer(root, replaced.path) is not True and disk.read(root, replaced.path) == text
    except disk.UnreadableFileError:
        return False


def is_final(root: Path, replaced: ReplacedFile) -> bool:
    """Return whether the replaced file is complete: no program writes into it any more."""
    rest, is_open = disk.age(root, replaced.path), disk.has_writer(root, replaced.path)
    if is_open is None:
        return rest >= disk.WRITE_REST_SECONDS
    return not is_open or rest >= OPEN_FILE_REST_SECONDS


def discard(root: Path, replaced: ReplacedFile) -> None:
    """Remove the replaced file, unless there is another one of that name by now."""
    if _inode(root, replaced.path) == replaced.inode:
        disk.remove(root, replaced.path)


def _inode(root: Path, path: str) -> int | None:
    try:
        return os.stat(root / path, follow_symlinks=False).st_ino
    except FileNotFoundError:
        return None


def _digest(path: str) -> str:
    return hashlib.sha256(path.rpartition("/")[2].encode()).hexdigest()[:16]
