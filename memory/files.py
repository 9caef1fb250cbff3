"""The disk: reads and writes files below a folder, and never follows a symbolic link out of it."""

import contextlib
import hashlib
import os
from collections.abc import Iterator
from pathlib import Path

# What was remembered is its owner's alone.
FOLDER_MODE = 0o700
FILE_MODE = 0o600


def write(root: Path, path: str, data: bytes) -> None:
    """Put a file in its place whole or not at all, also when the power fails. OSError when it cannot be done.

    Of one path only one writer at a time.
    """
    with _folder_of(root, path, make=True) as (folder, name):
        draft = f".{hashlib.sha256(name.encode()).hexdigest()[:16]}.tmp"
        with contextlib.suppress(FileNotFoundError):
            os.unlink(draft, dir_fd=folder)
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW
        file = os.open(draft, flags, FILE_MODE, dir_fd=folder)
        try:
            with os.fdopen(file, "wb") as stream:
                stream.write(data)
                stream.flush()
                os.fsync(file)
            os.rename(draft, name, src_dir_fd=folder, dst_dir_fd=folder)
        except OSError:
            with contextlib.suppress(OSError):
                os.unlink(draft, dir_fd=folder)
            raise
        os.fsync(folder)


def remove(root: Path, path: str) -> None:
    """Take a file away; nothing when there is none."""
    with contextlib.suppress(FileNotFoundError), _folder_of(root, path, make=False) as (folder, name):
        os.unlink(name, dir_fd=folder)
        os.fsync(folder)


@contextlib.contextmanager
def _folder_of(root: Path, path: str, *, make: bool) -> Iterator[tuple[int, str]]:
    """The open folder of `path` and its name there. A symbolic link on the way is an OSError."""
    if make:
        root.mkdir(mode=FOLDER_MODE, parents=True, exist_ok=True)
    *parents, name = path.split("/")
    folder = os.open(root, os.O_RDONLY | os.O_DIRECTORY)
    try:
        for parent in parents:
            if make:
                with contextlib.suppress(FileExistsError):
                    os.mkdir(parent, FOLDER_MODE, dir_fd=folder)
                    os.fsync(folder)
            inner = os.open(parent, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=folder)
            os.close(folder)
            folder = inner
        yield folder, name
    finally:
        os.close(folder)
