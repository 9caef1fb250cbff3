"""Write files below a folder atomically and durably, and never follow a symbolic link."""

import contextlib
import errno
import hashlib
import os
import stat
from collections.abc import Iterator
from pathlib import Path

from oneclaw.files import system_calls

# Only the owner of the process may read them.
FOLDER_MODE_BITS = 0o700
FILE_MODE_BITS = 0o600


def write(root: Path, path: str, data: bytes) -> None:
    """Write `data` to the file at `path` below `root` atomically and durably, so that a crash leaves it old or new.

    The caller ensures that a path has only one writer at a time. Raise OSError when the disk refuses.
    """
    with folder_of(root, path, make=True) as (folder, name), _draft(folder, name, data) as draft:
        os.rename(draft, name, src_dir_fd=folder, dst_dir_fd=folder)
        os.fsync(folder)


def write_keeping(root: Path, path: str, data: bytes, kept: str) -> None:
    """Write `data` as write() does, and keep what stood at `path` in the same folder under the name `kept`.

    Other programs may write to the file at any moment: what was replaced is what is kept. After a crash, `kept` may
    also hold `data`. Raise OSError when the disk refuses, or for a folder at `path`.
    """
    with folder_of(root, path, make=True) as (folder, name), _draft(folder, name, data) as draft:
        while not (_is_put(folder, draft, name) or _is_exchanged(folder, draft, name, kept)):
            pass
        os.fsync(folder)


def remove_keeping(root: Path, path: str, kept: str) -> None:
    """Remove the file at `path` below `root`, if there is one, and keep it in the same folder under the name `kept`."""
    with contextlib.suppress(FileNotFoundError), folder_of(root, path, make=False) as (folder, name):
        _check_exchangeable(folder, name, kept)
        os.rename(name, kept, src_dir_fd=folder, dst_dir_fd=folder)
        os.fsync(folder)


@contextlib.contextmanager
def _draft(folder: int, name: str, data: bytes) -> Iterator[str]:
    """Write `data` durably to a new hidden file of the open `folder` and yield its name; remove it after an error."""
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
        yield draft
    except OSError:
        with contextlib.suppress(OSError):
            os.unlink(draft, dir_fd=folder)
        raise


def _is_put(folder: int, draft: str, name: str) -> bool:
    """Rename `draft` to `name`, unless there is something already, and return whether that was done."""
    try:
        try:
            system_calls.rename_new(folder, draft, name)
        except system_calls.UnsupportedCallError:
            os.link(draft, name, src_dir_fd=folder, dst_dir_fd=folder, follow_symlinks=False)
            os.unlink(draft, dir_fd=folder)
    except FileExistsError:
        return False
    return True


def _is_exchanged(folder: int, draft: str, name: str, kept: str) -> bool:
    """Put `draft` at `name` and what stood there at `kept`, and return whether that was done.

    Where the system cannot exchange names, the old file is only moved away: `name` is missing until the caller puts the
    draft there.
    """
    _check_exchangeable(folder, name, kept)
    # Under its last name before the exchange, so that a crash never leaves a person's file under that of a draft.
    os.rename(draft, kept, src_dir_fd=folder, dst_dir_fd=folder)
    try:
        system_calls.exchange(folder, kept, name)
    except (FileNotFoundError, system_calls.UnsupportedCallError) as error:
        os.rename(kept, draft, src_dir_fd=folder, dst_dir_fd=folder)
        if not isinstance(error, FileNotFoundError):
            with contextlib.suppress(FileNotFoundError):
                os.rename(name, kept, src_dir_fd=folder, dst_dir_fd=folder)
        return False
    except OSError:
        os.rename(kept, draft, src_dir_fd=folder, dst_dir_fd=folder)
        raise
    return True


def _check_exchangeable(folder: int, name: str, kept: str) -> None:
    """Raise OSError when there is a folder at `name`, or something at `kept` already."""
    with contextlib.suppress(FileNotFoundError):
        if stat.S_ISDIR(os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode):
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), name)
    with contextlib.suppress(FileNotFoundError):
        os.stat(kept, dir_fd=folder, follow_symlinks=False)
        raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), kept)


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
