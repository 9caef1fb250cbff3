"""Write zip files while they are sent, and read uploaded ones within limits of size (zip bombs)."""

import datetime as dt
import io
import zipfile
import zlib
from collections.abc import AsyncIterator, Iterable, Iterator
from dataclasses import dataclass
from typing import IO

from django.utils.translation import gettext_lazy as _

from oneclaw.text import UserFacingError
from oneclaw.threads import in_database

# Bytes that are sent at once, about.
CHUNK_BYTES = 64 * 1024
# Files in an archive that is read.
ARCHIVE_MAX_FILES = 200_000
METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)


class BadArchiveError(UserFacingError):
    """An archive that cannot be read."""

    wording = _("This is no archive of an account, or it is damaged.")


class ArchiveTooLargeError(BadArchiveError):
    """An archive that unpacks to more than allowed."""

    wording = _("This archive is too large to be imported here. Ask your administrator to raise the limit.")


class MemberTooLargeError(ArchiveTooLargeError):
    """A file of an archive that unpacks to more than such a file may have."""


@dataclass(frozen=True)
class ZipEntry:
    """A file of a zip file: its path, its bytes in pieces, and the local time of its last change."""

    path: str
    pieces: Iterable[bytes]
    at: dt.datetime


class Outgoing(io.RawIOBase):
    """The output of a zip file that is sent while it is written: it does not keep what was sent and cannot seek."""

    def __init__(self) -> None:
        self._waiting = bytearray()

    def writable(self) -> bool:
        return True

    def write(self, data: object, /) -> int:
        self._waiting += memoryview(data)  # type: ignore[arg-type]
        return len(memoryview(data))  # type: ignore[arg-type]

    def taken(self) -> bytes:
        """Return what was written since the last call."""
        part = bytes(self._waiting)
        self._waiting.clear()
        return part


def zipped(entries: Iterable[ZipEntry]) -> Iterator[bytes]:
    """Yield a zip file with `entries`, piece by piece."""
    outgoing = Outgoing()
    with zipfile.ZipFile(outgoing, "w", zipfile.ZIP_DEFLATED) as archive:
        for each in entries:
            about = zipfile.ZipInfo(each.path, each.at.timetuple()[:6])
            about.compress_type, about.external_attr = zipfile.ZIP_DEFLATED, 0o600 << 16
            with archive.open(about, "w") as entry:
                for piece in each.pieces:
                    entry.write(piece)
                    if part := outgoing.taken():
                        yield part
    yield outgoing.taken()


async def streamed(pieces: Iterator[bytes]) -> AsyncIterator[bytes]:
    """Yield `pieces`, each made in the database thread, and only when the browser has taken those before it."""
    while part := await in_database(next_chunk, pieces):
        yield part


def next_chunk(pieces: Iterator[bytes]) -> bytes:
    """Return the next pieces together; b"" at the end."""
    parts, size = [], 0
    for piece in pieces:
        parts.append(piece)
        size += len(piece)
        if size >= CHUNK_BYTES:
            break
    return b"".join(parts)


class ArchiveReader:
    """An uploaded zip file, of whose files at most `max_bytes` bytes are unpacked in all."""

    def __init__(self, file: IO[bytes], max_bytes: int) -> None:
        """Open the archive. Raise BadArchiveError when it is none."""
        try:
            self._archive = zipfile.ZipFile(file)
        except (zipfile.BadZipFile, NotImplementedError, ValueError, EOFError, OSError):
            raise BadArchiveError from None
        self._entries = {entry.filename: entry for entry in self._archive.infolist() if not entry.is_dir()}
        self._max_bytes, self._unpacked = max_bytes, 0
        # What was unpacked of each file, which counts once.
        self._sizes: dict[str, int] = {}
        if len(self._entries) > ARCHIVE_MAX_FILES:
            raise ArchiveTooLargeError

    def names(self, folder: str) -> list[str]:
        """Return the paths of the files below `folder`, which ends with a slash, in their order."""
        return sorted(name for name in self._entries if name.startswith(folder))

    def read(self, name: str, max_bytes: int) -> bytes | None:
        """Return the bytes of the file, at most `max_bytes`; None when there is none. Raise as `pieces` does."""
        return b"".join(self.pieces(name, max_bytes)) if name in self._entries else None

    def pieces(self, name: str, max_bytes: int) -> Iterator[bytes]:
        """Yield the bytes of the file piece by piece; it may be read again.

        No more than `max_bytes` are unpacked: raise MemberTooLargeError when it has more, ArchiveTooLargeError when the
        archive has, and BadArchiveError when it cannot be read.
        """
        entry = self._entries[name]
        if entry.compress_type not in METHODS or entry.flag_bits & 1:
            raise BadArchiveError
        size = 0
        try:
            with self._archive.open(entry) as stream:
                while piece := stream.read(CHUNK_BYTES):
                    size += len(piece)
                    if size > max_bytes:
                        raise MemberTooLargeError
                    if self._unpacked - self._sizes.get(name, 0) + size > self._max_bytes:
                        raise ArchiveTooLargeError
                    yield piece
        except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError, OSError):
            raise BadArchiveError from None
        finally:
            self._unpacked += max(0, size - self._sizes.get(name, 0))
            self._sizes[name] = max(size, self._sizes.get(name, 0))
