"""The disk under attachments: ATTACHMENTS/<owner>/<name>. Nothing else opens these files, and no web server does."""

import contextlib
import os
import secrets
import time
from collections.abc import Iterator
from pathlib import Path

from django.conf import settings

FOLDER_MODE, FILE_MODE = 0o700, 0o600


def write(owner_id: int, name: str, data: bytes) -> None:
    """Put a file in its place whole or not at all, also when the power fails. OSError when it cannot be done."""
    folder = _folder(owner_id)
    for each in (folder.parent, folder):
        each.mkdir(mode=FOLDER_MODE, exist_ok=True)
    draft = folder / f".{secrets.token_hex(8)}"
    try:
        with open(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, FILE_MODE), "wb") as stream:
            stream.write(data)
            stream.flush()
            os.fsync(stream.fileno())
        draft.rename(folder / name)
    except OSError:
        draft.unlink(missing_ok=True)
        raise
    opened = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(opened)
    finally:
        os.close(opened)


def read(owner_id: int, name: str) -> bytes | None:
    """The whole file; None when there is none."""
    try:
        return (_folder(owner_id) / name).read_bytes()
    except FileNotFoundError:
        return None


def size(owner_id: int, name: str) -> int | None:
    """Bytes; None when there is no such file."""
    try:
        return (_folder(owner_id) / name).stat().st_size
    except FileNotFoundError:
        return None


def remove(owner_id: int, name: str) -> None:
    (_folder(owner_id) / name).unlink(missing_ok=True)


def found(older_than: float) -> Iterator[tuple[int, str]]:
    """(owner id, name) of each file that was written more than `older_than` seconds ago, drafts included."""
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
