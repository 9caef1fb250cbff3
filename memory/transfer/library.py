"""Take a library along: every version of its files byte for byte in the archive of an account, or its newest files in a
folder.

library/<name>                    the newest version of each file
library-versions/<number>/<name>  the versions before it
"""

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path, PurePosixPath

from django.conf import settings

from chat.attachments.examine import FileRefusedError
from memory.library import files, storage
from memory.models import FileVersion, LibraryFile
from memory.transfer.workspace import FolderError
from oneclaw import files as disk
from oneclaw.domains import Alive
from oneclaw.models import Space, User
from oneclaw.tasks import only_rows
from oneclaw.zipping import ArchiveReader, MemberTooLargeError, ZipEntry

NEWEST, EARLIER = "library/", "library-versions/"
# Between the names of folders in the name of a file that was added with its folder.
FOLDER_MARK = " · "


def entries(user: User, space: Space) -> Iterator[ZipEntry]:
    """Yield every version of the files of `space`. One whose bytes are missing is left out."""
    for file in LibraryFile.objects.filter(space=space).order_by("name").iterator(chunk_size=100):
        versions = list(file.versions.order_by("number"))
        if not versions:
            # It was removed while the files before it were sent.
            continue
        *earlier, newest = versions
        for version in (newest, *earlier):
            path = f"{NEWEST}{file.name}" if version is newest else f"{EARLIER}{version.number}/{file.name}"
            if storage.size(space.pk, str(version.pk)) is not None:
                yield ZipEntry(path, stored(space, version), user.local(version.created_at))


def stored(space: Space, version: FileVersion) -> Iterator[bytes]:
    """Yield the bytes of `version`, which are read when they are sent."""
    yield storage.read(space.pk, str(version.pk)) or b""


def take(user: User, space: Space, incoming: ArchiveReader, alive: Alive) -> Mapping[str, int]:
    """Add the versions of the archive that `space` does not have; return {code: number} of what came of the files."""
    counts = {"library_files": 0, "library_files_known": 0, "library_files_refused": 0}
    # So many hints would delay what people wait for: the sweep finds what is to be read.
    with only_rows():
        for name, paths in paths_by_name(incoming).items():
            counts[take_file(user, space, name, incoming, paths)] += 1
            alive()
    return {code: number for code, number in counts.items() if number}


def paths_by_name(incoming: ArchiveReader) -> dict[str, list[str]]:
    """Return the paths of the versions of each file in the archive, oldest first."""
    numbered: dict[str, list[tuple[int, str]]] = {}
    for path in incoming.names(EARLIER):
        number, _, name = path.removeprefix(EARLIER).partition("/")
        if name and number.isascii() and number.isdigit() and len(number) < 10:
            numbered.setdefault(name, []).append((int(number), path))
    found = {name: [path for _, path in sorted(paths)] for name, paths in numbered.items()}
    for path in incoming.names(NEWEST):
        found.setdefault(path.removeprefix(NEWEST), []).append(path)
    return found


def take_file(user: User, space: Space, name: str, incoming: ArchiveReader, paths: Sequence[str]) -> str:
    """Add the versions of the file `name` at `paths` after those that it has; return the code of what came of it.

    A file that begins with the same versions gets the rest of them; to any other, what it does not have in any version
    is added. One version at a time is in memory.
    """
    rows = FileVersion.objects.filter(file__space=space, file__name=name).order_by("number")
    held = list(rows.values_list("sha256", flat=True))
    try:
        hashes = [hash_in(incoming, path) for path in paths]
        if hashes[: len(held)] == held:
            fresh = list(paths[len(held) :])
        else:
            fresh = [path for path, known in zip(paths, hashes, strict=True) if known not in held]
        for path in fresh:
            files.add(space, user, name, incoming.read(path, settings.LIBRARY_LIMITS.file_max_bytes) or b"")
    except (FileRefusedError, MemberTooLargeError):
        return "library_files_refused"
    return "library_files" if fresh else "library_files_known"


def hash_in(incoming: ArchiveReader, path: str) -> str:
    """Return the hash of the file at `path` as files.hash_of does, without keeping its bytes."""
    found = hashlib.sha256()
    for piece in incoming.pieces(path, settings.LIBRARY_LIMITS.file_max_bytes):
        found.update(piece)
    return found.hexdigest()


def export_folder(folder: Path, space: Space) -> list[str]:
    """Write the newest version of each file of `space` below `folder`, and return their paths: what was added with its
    folders has them again. Raise FolderError unless `folder` is new or empty, and writable."""
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise FolderError(f"{folder} is not an empty folder: name one that is new or empty.")
    written: list[str] = []
    newest = FileVersion.objects.filter(file__space=space).order_by("file__name", "file", "-number")
    try:
        for version in newest.distinct("file__name", "file").select_related("file"):
            data = files.content_of(version)
            if data is not None:
                path = path_of(version.file.name)
                disk.write(folder, path, data)
                written.append(path)
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise FolderError(f"{folder} cannot be written: {error.strerror}.") from error
    return written


def path_of(name: str) -> str:
    """Return the path of the file `name` in a folder; a part that would lead out of it or hide it stays in its name.
    Pure."""
    parts = name.split(FOLDER_MARK)
    if any(not part.strip() or part.startswith(".") for part in parts):
        return name.lstrip(".") or "file"
    return str(PurePosixPath(*parts))
