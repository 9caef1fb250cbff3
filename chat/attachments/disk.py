"""The storage of attachments: ATTACHMENTS/<owner>/<name>. No other module opens these files, and no web server does."""

import contextlib
import shutil
import time
from collections.abc import Iterator
from pathlib import Path

from django.conf import settings

from oneclaw import files


def write(owner_id: int, name: str, data: bytes) -> None:
    """Write `data` to the file `name` atomically and durably. Raise OSError when that fails."""
    files.write(settings.ATTACHMENTS, f"{owner_id}/{name}", data)


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


def remove_folder(owner_id: int) -> None:
    """Delete all files of a person. Raise OSError when the disk refuses."""
    with contextlib.suppress(FileNotFoundError):
        shutil.rmtree(_folder(owner_id))


def has_folder(owner_id: int) -> bool:
    """Return whether there are files of the person."""
    return _folder(owner_id).exists()


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
