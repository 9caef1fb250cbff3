"""The guardian: the embedded PostgreSQL's parent, which stops it when its last user is gone.

    python -m oneclaw.guardian USERS_FILE DATA_FOLDER POSTGRES [UID GID]

Every process that uses the database holds a shared lock on USERS_FILE (oneclaw/embedded.py). The guardian waits for
the exclusive one: the kernel gives it the moment the last user has ended, however it ended. Standard library only, so
that it stays small; it has closed every file of whoever started it.
"""

import contextlib
import ctypes
import fcntl
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from typing import Any

# prctl(2): the signal that the kernel sends to a child when its parent dies.
PR_SET_PDEATHSIG = 1
# Seconds that PostgreSQL may take to end in a fast shutdown, then in an immediate one.
FAST, IMMEDIATE = 10.0, 5.0
# Seconds to wait before a server that ended by itself is started again.
RESTART = 0.2

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def main(users: str, data: str, postgres: str, uid: str = "", gid: str = "") -> int:
    for number in SIGNALS:
        signal.signal(number, signal.SIG_IGN)  # Ctrl-C is for the users; the guardian goes after them
    owner = {"user": int(uid), "group": int(gid), "extra_groups": []} if uid else {}
    unused = threading.Event()
    threading.Thread(target=wait_for_the_last_user, args=(users, unused), daemon=True).start()
    while not unused.is_set():
        server = start(postgres, data, owner)
        while server.poll() is None and not unused.wait(0.2):
            pass
        if unused.is_set():
            stop(server)
        else:
            time.sleep(RESTART)  # it ended by itself while somebody needs it
    return 0


def wait_for_the_last_user(users: str, unused: threading.Event) -> None:
    """Set `unused` once nobody holds the lock, and keep it until this process ends, so that nobody starts meanwhile."""
    lock = os.open(users, os.O_RDWR)
    fcntl.flock(lock, fcntl.LOCK_EX)
    unused.set()


def start(postgres: str, data: str, owner: dict[str, Any]) -> subprocess.Popen[bytes]:
    with open(os.path.join(data, "log"), "ab") as log:
        return subprocess.Popen(
            [postgres, "-D", data],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            cwd=data,
            start_new_session=True,
            # SIGINT is PostgreSQL's fast shutdown. Set after the uid was dropped, which would clear it.
            preexec_fn=dying_with_parent(signal.SIGINT),
            **owner,
        )


def stop(server: subprocess.Popen[bytes]) -> None:
    for number, seconds in ((signal.SIGINT, FAST), (signal.SIGQUIT, IMMEDIATE)):
        server.send_signal(number)
        with contextlib.suppress(subprocess.TimeoutExpired):
            server.wait(seconds)
            return
    server.kill()
    server.wait()


def dying_with_parent(number: int) -> Callable[[], None]:
    """For `preexec_fn`: the child has the usual signals and gets `number` when its parent ends, however (on Linux)."""

    def prepare() -> None:
        for ignored in SIGNALS:
            signal.signal(ignored, signal.SIG_DFL)
        with contextlib.suppress(OSError, AttributeError):
            ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, number)

    return prepare


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
