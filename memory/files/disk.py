"""Read and replace files below a folder, and never follow a symbolic link.

No other module opens a file of a folder of memory.
"""

import contextlib
import math
import os
import re
import shutil
import stat
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from chat.attachments.encodings import BYTE_ORDER_MARKS, EncodingUnknownError, NoTextError, encoding_of
from memory.policy.paths import DOCUMENT_MAX_BYTES
from oneclaw import files
from oneclaw.files import folder_of, system_calls

# The part of a file that is searched for forgotten lines when it is no document.
SEARCHED_FILE_MAX_BYTES = 16 * DOCUMENT_MAX_BYTES
DRAFT_NAME = re.compile(r"\.[0-9a-f]{16}\.tmp")
# The time without changes after which a file counts as completely written: editors empty a file before they fill it,
# and some programs write it in pieces.
WRITE_REST_SECONDS = 1.5


# Encodings besides UTF-8 in which a file is read without a question: those in which editors of Windows store.
CERTAIN = {"cp1252", "utf-16-le", "utf-16-be"}
# Encodings of programs of the last century, which no editor stores a file of memory in: a few odd bytes look like them.
OUTDATED = {"cp850", "mac_roman"}

# Inode, size in bytes, and time of the last change in nanoseconds.
FileMark = tuple[int, int, int]


class UnreadableFileError(Exception):
    """A file that cannot be read as text; the message is one sentence that says why."""


def remove(root: Path, path: str) -> None:
    """Delete the file at `path` below `root`, if there is one."""
    with contextlib.suppress(FileNotFoundError), folder_of(root, path, make=False) as (folder, name):
        os.unlink(name, dir_fd=folder)
        os.fsync(folder)


def remove_all(root: Path) -> None:
    """Delete the folder `root` with all that is in it, if it exists. Raise OSError when the disk refuses."""
    with contextlib.suppress(FileNotFoundError):
        shutil.rmtree(root)


def read(root: Path, path: str) -> str:
    """Return the text of the file at `path` below `root`, with its line ends and its byte order mark.

    Raise UnreadableFileError unless it is a regular file with one name, of text of at most DOCUMENT_MAX_BYTES whose
    encoding is UTF-8 or plainly another one.
    """
    try:
        with _regular_file(root, path) as stream:
            if os.fstat(stream.fileno()).st_nlink > 1:
                # Like a symbolic link it may be a file of somebody else, from anywhere on this disk.
                raise UnreadableFileError(f"{path} is a hard link: only files with one name are taken in.")
            data = stream.read(DOCUMENT_MAX_BYTES + 1)
    except OSError as error:
        raise UnreadableFileError(f"{path} cannot be read: {error.strerror}.") from error
    if len(data) > DOCUMENT_MAX_BYTES:
        raise UnreadableFileError(f"{path} has more than {DOCUMENT_MAX_BYTES:,} bytes.")
    try:
        return data.decode(_encoding_of(data))
    except (EncodingUnknownError, NoTextError, UnicodeDecodeError) as error:
        raise UnreadableFileError(f"{path} is not valid UTF-8, and its encoding is not known.") from error


def encoded(root: Path, path: str, text: str) -> bytes:
    """Return `text` in the encoding of the text that is at `path` now, so that the program that wrote it reads the next
    one as well; in UTF-8 where it has other characters, and without a file."""
    try:
        encoding = _encoding_of(read_bytes(root, path))
        data = text.encode(encoding)
        # Fewer characters may look like another encoding.
        return data if _encoding_of(data) == encoding else text.encode()
    except (EncodingUnknownError, NoTextError, UnicodeError):
        return text.encode()


def read_bytes(root: Path, path: str) -> bytes:
    """Return the first bytes of the regular file at `path`, one more than a document may have; none when there is
    none."""
    try:
        return first_bytes(root, path, DOCUMENT_MAX_BYTES + 1)
    except OSError:
        return b""


def probable_encoding(data: bytes, fallback: str) -> str:
    """Return the most probable encoding of `data`, `fallback` when none is; "" when it is no text."""
    try:
        if is_damaged_utf_8(data):
            return "utf-8"
        encoding = _encoding_of(data, certain=False)
        return fallback if encoding in OUTDATED else encoding
    except NoTextError:
        return ""
    except EncodingUnknownError:
        return "" if b"\x00" in data else fallback


def is_damaged_utf_8(data: bytes) -> bool:
    """Return whether `data` is a text in UTF-8 with a few broken bytes: by far more characters of several bytes are
    whole. No other encoding has many of these by chance."""
    if b"\x00" in data:
        return False
    text = data.decode(errors="replace")
    broken = text.count("\ufffd") - data.count("\ufffd".encode())
    whole = sum(not char.isascii() for char in text) - broken
    return 0 < 4 * broken <= whole


def has_other_names(root: Path, path: str) -> bool:
    """Return whether the file at `path` is a hard link."""
    try:
        return os.stat(root / path, follow_symlinks=False).st_nlink > 1
    except OSError:
        return False


def rewrite(root: Path, path: str, new_path: str, text: str) -> None:
    """Write `text` in UTF-8 to `new_path`, and remove the file at `path` if that is another one. Raise OSError."""
    files.write(root, new_path, text.encode())
    if path != new_path:
        remove(root, path)


def _encoding_of(data: bytes, *, certain: bool = True) -> str:
    """Return the encoding of a text, only one of CERTAIN when it is to be certain. Raise EncodingUnknownError or
    NoTextError."""
    for mark, encoding in BYTE_ORDER_MARKS:
        # The mark of UTF-8 belongs to the text, as it always did.
        if data.startswith(mark) and encoding != "utf-8-sig" and len(data) > len(mark):
            return encoding
    try:
        data.decode()
    except UnicodeDecodeError:
        encoding = encoding_of(data)
        # Damaged UTF-8: what cannot be read would be lost.
        if encoding == "utf-8" or (certain and encoding not in CERTAIN):
            raise EncodingUnknownError from None
        return encoding
    return "utf-8"


def first_bytes(root: Path, path: str, most: int) -> bytes:
    """Return the first `most` bytes of the regular file at `path`. Raise OSError, also for anything else."""
    try:
        with _regular_file(root, path) as stream:
            return stream.read(most)
    except UnreadableFileError as error:
        raise OSError(str(error)) from error


def readable_text(root: Path, path: str) -> str:
    """Return the readable text of any regular file, even one that is binary or too large; "" when there is none."""
    try:
        with _regular_file(root, path) as stream:
            return stream.read(SEARCHED_FILE_MAX_BYTES).decode(errors="replace")
    except (OSError, UnreadableFileError):
        return ""


@contextlib.contextmanager
def _regular_file(root: Path, path: str) -> Iterator[IO[bytes]]:
    """Open the file at `path` below `root`. Raise OSError, or UnreadableFileError unless it is a regular file."""
    with folder_of(root, path, make=False) as (folder, name):
        # Non-blocking, because opening a pipe would block for ever.
        file = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK, dir_fd=folder)
        with os.fdopen(file, "rb") as stream:
            if not stat.S_ISREG(os.fstat(file).st_mode):
                raise UnreadableFileError(f"{path} is not a file.")
            yield stream


def is_draft(path: str) -> bool:
    """Return whether `path` is a draft, of a file that is being written or that a crash left."""
    return DRAFT_NAME.fullmatch(path.rpartition("/")[2]) is not None


def is_leftover(path: str) -> bool:
    """Return whether `path` is a file that put_aside() renamed, or a draft that a crash left."""
    return path.endswith(".refused") or is_draft(path)


def is_at_rest(root: Path, path: str) -> bool:
    """Return whether the file was not changed for WRITE_REST_SECONDS."""
    return age(root, path) >= WRITE_REST_SECONDS


def age(root: Path, path: str) -> float:
    """Return the seconds since the file was last changed; infinity without a regular file, and when its time is in the
    future."""
    try:
        about = os.stat(root / path, follow_symlinks=False)
    except OSError:
        return math.inf
    seconds = time.time() - about.st_mtime
    return seconds if stat.S_ISREG(about.st_mode) and seconds >= 0 else math.inf


def touched_at(root: Path, path: str) -> float:
    """Return when the entry was last written, renamed or replaced, in seconds since 1970; infinity without one."""
    try:
        return os.stat(root / path, follow_symlinks=False).st_ctime
    except OSError:
        return math.inf


def has_writer(root: Path, path: str) -> bool | None:
    """Return whether a program has the file open for writing; None when the system cannot say."""
    try:
        with _regular_file(root, path) as stream:
            return system_calls.has_writer(stream.fileno())
    except (OSError, UnreadableFileError):
        return False


def put_aside(root: Path, path: str, document_path: str) -> None:
    """Rename the file or link at `path` to a name that no document can have.

    The new name begins with that of `document_path`.
    """
    aside = f"{document_path.rpartition('/')[2][:50]}.{time.time_ns()}.refused"
    with contextlib.suppress(FileNotFoundError), folder_of(root, path, make=False) as (folder, name):
        if not stat.S_ISDIR(os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode):
            os.rename(name, aside, src_dir_fd=folder, dst_dir_fd=folder)


def exists(root: Path, path: str) -> bool:
    """Return whether there is anything at `path`: a file, a folder or a link."""
    return os.path.lexists(root / path)


def has_any(root: Path) -> bool:
    """Return whether the folder `root` exists and holds a file."""
    try:
        return any(found.is_file for found in walk(root))
    except OSError:
        return False


@dataclass(frozen=True)
class FolderEntry:
    """An entry of a folder; `path` is relative to the folder."""

    path: str
    is_file: bool
    is_link: bool

    @property
    def is_hidden(self) -> bool:
        """Return whether the name begins with a dot."""
        return self.path.rpartition("/")[2].startswith(".")


def entry_at(root: Path, path: str) -> FolderEntry | None:
    """Return the entry at `path` below `root`; None when there is none."""
    try:
        mode = os.stat(root / path, follow_symlinks=False).st_mode
    except OSError:
        return None
    return FolderEntry(path, stat.S_ISREG(mode), stat.S_ISLNK(mode))


def walk(root: Path, below: str = "") -> Iterator[FolderEntry]:
    """Yield every entry below `root` except plain folders, which are entered unless hidden, in the order of names."""
    with os.scandir(root / below) as entries:
        ordered = sorted(entries, key=lambda entry: entry.name)
    for entry in ordered:
        found = FolderEntry(below + entry.name, entry.is_file(follow_symlinks=False), entry.is_symlink())
        if entry.is_dir(follow_symlinks=False) and not found.is_hidden:
            yield from walk(root, f"{found.path}/")
        else:
            yield found


def fingerprints(root: Path) -> dict[str, FileMark]:
    """Return for each file below `root` a mark that changes when it is written, added, renamed or replaced."""
    marks: dict[str, FileMark] = {}
    # A file that is removed during the walk ends it: the next fingerprints have the rest.
    with contextlib.suppress(OSError):
        for found in walk(root):
            about = os.stat(root / found.path, follow_symlinks=False)
            marks[found.path] = (about.st_ino, about.st_size, about.st_mtime_ns)
    return marks
