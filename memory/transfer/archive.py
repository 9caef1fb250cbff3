"""Export a person's memory as a zip file, and read such a file for an import."""

import io
import re
import stat
import zipfile
import zlib
from dataclasses import dataclass, field

from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from memory.documents import write
from memory.models import MemoryDocument
from memory.policy.paths import DOCUMENT_MAX_BYTES, WORKSPACE_FILES, BadPathError, checked_path, may_be_document
from oneclaw.models import Space, User
from oneclaw.text import InvalidTextError, UserFacingError, formatted_number

# Limits of a zip file, of its unpacked files together, and of their number.
ARCHIVE_MAX_BYTES = 20 * 1024 * 1024
UNPACKED_MAX_BYTES = 50 * 1024 * 1024
ARCHIVE_MAX_FILES = 5_000
# The supported compression methods.
COMPRESSION_METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)


class UnusableArchiveError(UserFacingError):
    """An archive from which nothing can be imported."""


@dataclass
class ArchiveContents:
    """The content of an archive: texts by path, names of ignored files, and reasons for refused files by name."""

    texts: dict[str, str] = field(default_factory=dict)
    skipped: list[str] = field(default_factory=list)
    refused: dict[str, str] = field(default_factory=dict)


def zip_space(space: Space) -> bytes:
    """Return a zip file of every document of `space`, each with the time of its last change in UTC."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for document in MemoryDocument.objects.present().filter(space=space).order_by("path").iterator(chunk_size=20):
            about = zipfile.ZipInfo(document.path, document.updated_at.timetuple()[:6])
            about.compress_type, about.external_attr = zipfile.ZIP_DEFLATED, 0o600 << 16
            archive.writestr(about, document.content.encode())
    return buffer.getvalue()


def export_archive(user: User) -> bytes:
    """Return a zip file of the own memory of `user`, with agents/NAME.zip inside for each agent with its own memory.

    The memory of agents is not imported with the file.
    """
    buffer = io.BytesIO(zip_space(Space.objects.own_of(user)))
    names: set[str] = set()
    with zipfile.ZipFile(buffer, "a", zipfile.ZIP_STORED) as archive:
        for space in Space.objects.filter(owner=user, kind=Space.Kind.AGENT).order_by("pk"):
            if MemoryDocument.objects.present().filter(space=space).exists():
                about = zipfile.ZipInfo(f"agents/{_unique_name(names, space.name)}.zip", timezone.now().timetuple()[:6])
                about.external_attr = 0o600 << 16
                archive.writestr(about, zip_space(space))
    return buffer.getvalue()


def _unique_name(names: set[str], name: str) -> str:
    """Return `name` as a file name that is not in `names`, and add it to them in lower case."""
    plain = re.sub(r"[^\w .()-]", "_", name).strip(". ") or "agent"
    found, number = plain, 1
    while found.lower() in names:
        number += 1
        found = f"{plain} ({number})"
    names.add(found.lower())
    return found


def read_archive(data: bytes) -> ArchiveContents:
    """Return the Markdown files of the zip file `data`, each accepted or refused by itself, without using the disk.

    A folder that holds the whole workspace is removed from the paths. Raise UnusableArchiveError when `data` is no zip
    file or exceeds the limits.
    """
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            entries = [entry for entry in archive.infolist() if not entry.is_dir()]
            if len(entries) > ARCHIVE_MAX_FILES:
                words = _(
                    "This zip file contains %(number)s files; at most %(most)s can be imported. Nothing was imported."
                )
                raise UnusableArchiveError(
                    words, number=formatted_number(len(entries)), most=formatted_number(ARCHIVE_MAX_FILES)
                )
            return _read(archive, entries)
    except (zipfile.BadZipFile, NotImplementedError, EOFError, ValueError, OverflowError) as error:
        raise UnusableArchiveError(_("This zip file cannot be read. Nothing was imported.")) from error


def _read(archive: zipfile.ZipFile, entries: list[zipfile.ZipInfo]) -> ArchiveContents:
    found, total, around = ArchiveContents(), 0, _folder_around([entry.filename for entry in entries])
    for entry in entries:
        name = entry.filename.removeprefix(around)
        if _is_ignored(entry, name):
            found.skipped.append(_shown(name))
            continue
        try:
            path = _path_of(entry, name)
            total += entry.file_size
            if total > UNPACKED_MAX_BYTES:
                words = _("This zip file unpacks to more than %(most)s bytes. Nothing was imported.")
                raise UnusableArchiveError(words, most=formatted_number(UNPACKED_MAX_BYTES))
            data = _bytes_of(archive, entry)
            if path in found.texts:
                raise BadPathError(_("%(path)s is in it twice."), path=path)
            text = data.decode()
            write.check(path, text)
            found.texts[path] = text
        except UnicodeDecodeError as error:
            words = _("It is not valid UTF-8: byte %(number)s cannot be read.")
            found.refused[_shown(name)] = words % {"number": error.start + 1}
        except (BadPathError, InvalidTextError, write.DocumentError) as error:
            found.refused[_shown(name)] = str(error)
    return found


def _is_ignored(entry: zipfile.ZipInfo, name: str) -> bool:
    """Return whether the file is hidden, added by an operating system, or no Markdown (links are refused instead)."""
    parts = name.split("/")
    is_hidden = any(part.startswith(".") and part not in (".", "..") for part in parts) or parts[0] == "__MACOSX"
    return is_hidden or not (may_be_document(name) or _kind(entry) == stat.S_IFLNK)


def _path_of(entry: zipfile.ZipInfo, name: str) -> str:
    if _kind(entry) == stat.S_IFLNK:
        raise BadPathError(_("It is a symbolic link: only regular files are imported."))
    if _kind(entry) not in (0, stat.S_IFREG):
        raise BadPathError(_("It is not a regular file."))
    if entry.file_size > DOCUMENT_MAX_BYTES:
        raise BadPathError(_("It is larger than %(most)s bytes."), most=formatted_number(DOCUMENT_MAX_BYTES))
    if entry.flag_bits & 0x1:
        raise BadPathError(_("It is encrypted, which is not supported."))
    if entry.compress_type not in COMPRESSION_METHODS:
        raise BadPathError(_("Its compression is not supported: only stored and deflated files are."))
    return checked_path(name)


def _bytes_of(archive: zipfile.ZipFile, entry: zipfile.ZipInfo) -> bytes:
    """Return the bytes of `entry`, of which at most DOCUMENT_MAX_BYTES are unpacked. Raise BadPathError on damage."""
    try:
        with archive.open(entry) as stream:
            return stream.read(DOCUMENT_MAX_BYTES)
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError) as error:
        raise BadPathError(_("It is damaged, or its compression is not supported.")) from error


def _folder_around(names: list[str]) -> str:
    """Return the folder, with its /, that contains all files and is a workspace; "" without one."""
    ours = [name for name in names if not name.startswith("__MACOSX/")]
    around = ours[0].partition("/")[0] + "/" if ours and "/" in ours[0] else ""
    if not around or around in ("memory/", "skills/", "./", "../") or not all(name.startswith(around) for name in ours):
        return ""
    inside = {name.removeprefix(around) for name in ours}
    is_workspace = inside & {*WORKSPACE_FILES, "memory.md"} or any(
        name.startswith(("memory/", "skills/")) for name in inside
    )
    return around if is_workspace else ""


def _kind(entry: zipfile.ZipInfo) -> int:
    """Return the file type by the POSIX mode in the archive; 0 without one."""
    return stat.S_IFMT(entry.external_attr >> 16)


def _shown(name: str) -> str:
    """Return the name of a file as a page may show it."""
    return "".join(char if char.isprintable() else "\N{REPLACEMENT CHARACTER}" for char in name)[:200]
