"""Unpack an uploaded file, JSON or a zip file of JSON, within limits of size (zip bombs)."""

import re
import struct
import zipfile
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO

from django.conf import settings

from chat.transfer.importing.formats import unwrapped
from chat.transfer.importing.json_stream import BLANK, ByteReader, Element, elements
from chat.transfer.importing.reasons import MAX_CONVERSATIONS, ImportFileRefusedError

ZIP = b"PK\x03\x04"
# The file of ChatGPT's and Claude's exports, which large ones have in several parts.
CONVERSATIONS = re.compile(r"(?:.*/)?conversations\b[^/]*\.json", re.IGNORECASE)
# What macOS puts beside each file.
FORK = re.compile(r"(?:.*/)?(?:__MACOSX/.*|\._[^/]*)")
# The record at a zip file's end, behind it a comment of at most 64 KiB; in it, the size of the list of files.
END, END_MAX_BYTES = b"PK\x05\x06", 22 + 65_535
# Bytes of that list, enough for about 100,000 files.
DIRECTORY_MAX_BYTES = 10 * 1024 * 1024

# Allowed compression methods of a zip file. Others have no known limits and their own errors.
METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)

# Before each record: why it was skipped, and its length in bytes.
HEAD = struct.Struct("<16sQ")


class Bounded:
    """A limit of unpacked bytes over all files of an upload; reading raises FileRefused beyond it."""

    def __init__(self) -> None:
        self.stream: ByteReader
        self._left = settings.IMPORT_UNPACKED_MEGABYTES * 1024 * 1024

    def read(self, size: int, /) -> bytes:
        piece = self.stream.read(size)
        self._left -= len(piece)
        if self._left < 0:
            raise ImportFileRefusedError("unpacked")
        return piece


def unpack(path: Path, target: Path, alive: Callable[[], None]) -> int:
    """Write every conversation of the upload into `target`, undecoded, and return their number. Raise FileRefused.

    `alive` is called all the while.
    """
    count = 0
    with target.open("wb") as records:
        for raw, refused in (each for element in elements_of(path) for each in unwrapped(element)):
            alive()
            records.write(HEAD.pack(refused.encode(), len(raw)) + raw)
            count += 1
            if count > MAX_CONVERSATIONS:
                raise ImportFileRefusedError("many")
    return count


def records(target: Path, position: int) -> Iterator[tuple[bytes, str, int]]:
    """Yield the records that `unpack` wrote from byte `position` on: JSON, reason to skip, and offset of the next one.

    Raise FileRefused when the file is damaged.
    """
    try:
        with target.open("rb") as file:
            file.seek(position)
            while head := file.read(HEAD.size):
                refused, size = HEAD.unpack(head)
                yield file.read(size), refused.rstrip(b"\0").decode(), file.tell()
    except FileNotFoundError:
        raise ImportFileRefusedError("missing") from None


def elements_of(path: Path) -> Iterator[Element]:
    """Yield every conversation in the file, undecoded. Raise FileRefused."""
    bounded = Bounded()
    try:
        with path.open("rb") as file:
            if is_zip(file):
                yield from _zipped(file, bounded)
            else:
                bounded.stream = file
                yield from elements(bounded)
    except FileNotFoundError:
        raise ImportFileRefusedError("missing") from None


def looks_right(file: IO[bytes]) -> bool:
    """Return whether the file begins like one that can be imported."""
    if is_zip(file):
        return True
    first_bytes = file.read(1024).lstrip(BLANK)
    file.seek(0)
    return first_bytes[:1] in (b"[", b"{")


def is_zip(file: IO[bytes]) -> bool:
    file.seek(0)
    first_bytes = file.read(len(ZIP))
    file.seek(0)
    return first_bytes == ZIP


def _zipped(file: IO[bytes], bounded: Bounded) -> Iterator[Element]:
    try:
        _refuse_crowded(file)
        with zipfile.ZipFile(file) as archive:
            for entry in _chosen(archive):
                if entry.flag_bits & 1:
                    raise ImportFileRefusedError("encrypted")
                if entry.compress_type not in METHODS:
                    raise ImportFileRefusedError("packed")
                with archive.open(entry) as bounded.stream:
                    yield from elements(bounded)
    except (zipfile.BadZipFile, NotImplementedError, zlib.error, EOFError, struct.error, ValueError):
        # Also names that are none.
        raise ImportFileRefusedError("bad_zip") from None


def _chosen(archive: zipfile.ZipFile) -> list[zipfile.ZipInfo]:
    """Return the files of conversations: those with that name, or else every JSON file, as in our own export. Raise
    FileRefused when there are only other zip files."""
    entries = [entry for entry in archive.infolist() if not FORK.fullmatch(entry.filename)]
    named = [entry for entry in entries if entry.filename.lower().endswith((".json", ".jsonl"))]
    if not named and any(entry.filename.lower().endswith(".zip") for entry in entries):
        raise ImportFileRefusedError("zip_in_zip")
    called_so = [entry for entry in named if CONVERSATIONS.fullmatch(entry.filename)]
    return sorted(called_so or named, key=lambda entry: entry.filename)


def _refuse_crowded(file: IO[bytes]) -> None:
    """Python reads the whole list of files into memory: look at its size first."""
    size = file.seek(0, 2)
    file.seek(max(0, size - END_MAX_BYTES))
    end = file.read()
    at = end.rfind(END)
    if at < 0 or len(end) < at + 22:
        raise ImportFileRefusedError("bad_zip")
    (listed,) = struct.unpack_from("<I", end, at + 12)
    if listed > DIRECTORY_MAX_BYTES:
        raise ImportFileRefusedError("crowded")
    file.seek(0)
