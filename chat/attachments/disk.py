"""The storage of attachments: ATTACHMENTS/<owner>/<name>. No other module opens these files, and no web server does."""

import contextlib
import os
import secrets
import time
from collections.abc import Iterator
from pathlib import Path

from django.conf import settings

FOLDER_MODE, FILE_MODE = 0o700, 0o600


def write(owner_id: int, name: str, data: bytes) -> None:
    """Write `data` to the file `name` atomically and durably. Raise OSError when that fails."""
    folder = _folder(owner_id)
    for each in (folder.parent, folder):
        each.mkdir(mode=FOLDER_MODE, exist_ok=True)
    temporary = folder / f".{secrets.token_hex(8)}"
    try:
        with open(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, FILE_MODE), "wb") as stream:
            stream.write(data)
            stream.flush()
            os.fsync(stream.fileno())
        temporary.rename(folder / name)
    except OSError:
        temporary.unlink(missing_ok=True)
        raise
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def read(owner_id: int, name: str) -> bytes | None:
    """Return the bytes of the file `name`; None when it does not exist."""
    try:
        return (_folder(owner_id) / name).read_bytes()
    except FileNotFoundError:
        return None


def size(owner_id: int, name: str) -> int | None:
    """Return the size of the file `name` in bytes; None when it does not exist."""
    try:
        return (_folder(owner_id) / name).stat().st_size
    except FileNotFoundError:
        return None


def remove(owner_id: int, name: str) -> None:
    """Delete the file `name`, if it exists."""
    (_folder(owner_id) / name).unlink(missing_ok=True)


def stored_files(older_than: float) -> Iterator[tuple[int, str]]:
    """Yield (owner id, name) of each file written more than `older_than` seconds ago, temporary files included."""
    latest = time.time() - older_than
    with contextlib.suppress(FileNotFoundError):
        for folder in sorted(settings.ATTACHMENTS.iterdir()):
            if not folder.name.isdigit():
                continue
            for file in sorted(folder.iterdir()):
                with contextlib.suppress(FileNotFoundError):
                    if file.stat().st_mtime < latest:
                        yield int(folder.name), file.name


def _folder(owner_id: int) -> Path:
    return settings.ATTACHMENTS / str(owner_id)
