"""Call what the kernel offers for files and Python does not: exchange two names, and ask for writers of a file."""

import contextlib
import ctypes
import errno
import fcntl
import os
import signal

RENAME_NOREPLACE, RENAME_EXCHANGE = 1, 2
# What the kernel, the C library or the file system answer when they do not know the call.
UNSUPPORTED = {errno.ENOSYS, errno.EINVAL, errno.EOPNOTSUPP}


class UnsupportedCallError(Exception):
    """The system or the file system does not offer this call."""


def exchange(folder: int, first: str, second: str) -> None:
    """Exchange two names of the open `folder` in one step. Raise FileNotFoundError, or UnsupportedCallError."""
    _rename(folder, first, second, RENAME_EXCHANGE)


def rename_new(folder: int, old: str, new: str) -> None:
    """Rename `old` to `new` in the open `folder`. Raise FileExistsError, or UnsupportedCallError."""
    _rename(folder, old, new, RENAME_NOREPLACE)


def has_writer(file: int) -> bool | None:
    """Return whether a program has the file open for writing; None when the system cannot say.

    `file` must be open for reading only. Linux grants a read lease only on a file that no program can write to.
    """
    try:
        # The signal that the kernel sends to the holder of a lease ends a process, unless another one is chosen.
        fcntl.fcntl(file, fcntl.F_SETSIG, signal.SIGURG)
        fcntl.fcntl(file, fcntl.F_SETLEASE, fcntl.F_RDLCK)
    except BlockingIOError:
        return True
    except (AttributeError, OSError):
        return None
    with contextlib.suppress(OSError):
        fcntl.fcntl(file, fcntl.F_SETLEASE, fcntl.F_UNLCK)
    return False


def _rename(folder: int, old: str, new: str, flags: int) -> None:
    renameat2 = getattr(_LIBRARY, "renameat2", None)
    if renameat2 is None:
        raise UnsupportedCallError("renameat2")
    if renameat2(folder, os.fsencode(old), folder, os.fsencode(new), flags) != 0:
        number = ctypes.get_errno()
        if number in UNSUPPORTED:
            raise UnsupportedCallError("renameat2")
        raise OSError(number, os.strerror(number), old, None, new)


_LIBRARY = ctypes.CDLL(None, use_errno=True)
