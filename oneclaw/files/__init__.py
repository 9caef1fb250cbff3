"""Write files below a folder atomically and durably, and never follow a symbolic link."""

import contextlib
import hashlib
import os
from collections.abc import Iterator
from pathlib import Path

# Only the owner of the process may read them.
FOLDER_MODE_BITS = 0o700
FILE_MODE_BITS = 0o600


def write(root: Path, path: str, data: bytes) -> None:
    """Write `data` to the file at `path` below `root` atomically and durably, so that a crash leaves it old or new.

    The caller ensures that a path has only one writer at a time. Raise OSError when the disk refuses.
    """
    with folder_of(root, path, make=True) as (folder, name):
        draft = f".{hashlib.sha256(name.encode()).hexdigest()[:16]}.tmp"
        with contextlib.suppress(FileNotFoundError):
            os.unlink(draft, dir_fd=folder)
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW
        file = os.open(draft, flags, FILE_MODE_BITS, dir_fd=folder)
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


@contextlib.contextmanager
def folder_of(root: Path, path: str, *, make: bool) -> Iterator[tuple[int, str]]:
    """Open the folder of `path`, created with `make`, and yield its descriptor and the file's name.

    Raise OSError for a symbolic link in the path.
    """
    if make:
        root.mkdir(mode=FOLDER_MODE_BITS, parents=True, exist_ok=True)
    *parents, name = path.split("/")
    folder = os.open(root, os.O_RDONLY | os.O_DIRECTORY)
    try:
        for parent in parents:
            if make:
                with contextlib.suppress(FileExistsError):
                    os.mkdir(parent, FOLDER_MODE_BITS, dir_fd=folder)
                    os.fsync(folder)
            inner = os.open(parent, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=folder)
            os.close(folder)
            folder = inner
        yield folder, name
    finally:
        os.close(folder)
