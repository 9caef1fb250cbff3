"""The guardian: the parent process of the embedded PostgreSQL. It creates, starts, restarts and finally stops it.

Every process that uses the database holds a shared lock on `pg.users` (oneclaw/postgres/embedded.py). The guardian
waits for the exclusive lock, which the kernel grants when the last user has ended, even by a crash. To stay small, it
runs as a separate program with the standard library alone:

    python -I -S guardian.py HOME BINARIES LOCK

LOCK is the descriptor of `pg.guardian`, which the starting process has locked exclusively: only one guardian runs.
"""

import contextlib
import ctypes
import fcntl
import functools
import os
import pwd
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import zlib
from collections.abc import Callable, Generator, Mapping
from pathlib import Path
from typing import Any

MAJOR_VERSION = 18
USERS, GUARDIAN, LOG = "pg.users", "pg.guardian", "postgres.log"
SOCKET = ".s.PGSQL.5432"
# The length of a Unix socket's path that all systems allow.
SOCKET_PATH_MAX_BYTES = 103
# The accounts under which the server runs when root starts it, the first that exists: PostgreSQL refuses root.
ACCOUNTS = ("oneclaw", "postgres", "nobody")
# Where the server's data is when that account cannot reach root's data folder.
OPEN_FOLDER = Path("/var/lib/oneclaw")
# initdb calls the other programs by a shell, with their paths in double quotes.
UNQUOTABLE = re.compile(r"[\"\\$`\n]")
# How long a server may take to stop before the next stronger signal.
STOP_SECONDS = 30.0
# A server that fails this often without running for STABLE_SECONDS is not started again.
MAX_FAILURES, STABLE_SECONDS = 5, 30.0
# How its files are flushed to the disk: all at once where possible, because one by one takes seconds.
SYNC_METHOD = "syncfs" if sys.platform == "linux" else "fsync"
LOG_MAX_BYTES = 1_000_000
NO_USERS = b"\0"
# Variables that PostgreSQL's programs get from their starter: tests preload a library that moves the clock.
PASSED_VARIABLES = ("LD_PRELOAD", "CLOCK_SHIFT")

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


class ServerLayout:
    """Paths and account of the server of one data folder."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.link = home / f"pg{MAJOR_VERSION}"
        self.data = Path(os.path.realpath(self.link))
        sockets = self.data.parent / "run"
        if len(os.fsencode(sockets / SOCKET)) > SOCKET_PATH_MAX_BYTES or "," in str(sockets):
            sockets = Path(tempfile.gettempdir()) / f"oneclaw-{self.data.parent.stat().st_ino:x}-{os.geteuid()}"
        self.sockets = sockets

    @property
    def copies(self) -> Path:
        """Return the folder for copies of the programs: that of the data, unless its name cannot be in a command."""
        folder = self.data.parent
        if not UNQUOTABLE.search(str(folder)):
            return folder
        return OPEN_FOLDER / f"programs-of-{zlib.crc32(os.fsencode(folder)):x}"

    @property
    def uid(self) -> int:
        """Return the user id that owns the data, or will own it for a new server."""
        with contextlib.suppress(OSError):
            return self.data.stat().st_uid
        return account().pw_uid if os.geteuid() == 0 else os.geteuid()

    def as_owner(self) -> dict[str, Any]:
        """Return the arguments of subprocess that run a program as the owner of the data; none unless this is root."""
        if os.geteuid() != 0:
            return {}
        entry = pwd.getpwuid(self.uid)
        return {"user": entry.pw_uid, "group": entry.pw_gid, "extra_groups": []}


def account() -> pwd.struct_passwd:
    """Return the first existing account of ACCOUNTS. Raise SystemExit when there is none."""
    for name in ACCOUNTS:
        with contextlib.suppress(KeyError):
            return pwd.getpwnam(name)
    raise SystemExit(f"PostgreSQL does not run as root, and there is no account named {' or '.join(ACCOUNTS)}.")


def reachable(path: Path) -> bool:
    """Return whether other accounts can enter the folders above `path`."""
    return all(folder.stat().st_mode & 0o001 for folder in path.parents if folder.exists())


def dies_with_parent(number: int) -> Callable[[], None]:
    """Return a `preexec_fn` by which the child gets signal `number` when this process ends, even when killed."""
    return functools.partial(die_with_parent, number, os.getpid())


def die_with_parent(number: int, parent: int) -> None:
    """Ask the kernel to send signal `number` to this process when its parent ends. Linux only.

    Call it after a change of uid, which would clear it. `parent` is the parent's process id.
    """
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(1, number)  # PR_SET_PDEATHSIG
        if os.getppid() != parent:  # it ended before the line above
            os.kill(os.getpid(), signal.SIGKILL)


def main(home: str, binaries: str, lock: str) -> None:
    """Run the guardian in a forked process, with its process id in the lock file."""
    if os.fork():
        os._exit(0)  # the starter has no child to wait for
    # Another account reads the copied programs; private folders get their modes one by one.
    os.umask(0o022)
    with open(int(lock), "w") as own:
        own.write(str(os.getpid()))
        own.flush()
        Guardian(ServerLayout(Path(home)), Path(binaries)).guard()
        own.truncate(0)


class Guardian:
    """The loop that keeps one server running."""

    def __init__(self, layout: ServerLayout, binaries: Path) -> None:
        self.binaries = binaries
        self.layout = layout

    def guard(self) -> None:
        """Run the server until it has no users. Raise SystemExit when it keeps failing."""
        self.prepare()
        with contextlib.closing(events(self.layout.home / USERS)) as received:
            failures = 0
            while failures < MAX_FAILURES:
                time.sleep(0.1 * 2**failures if failures else 0)
                server, started = self._start(), time.monotonic()
                while server.poll() is None:
                    if next(received) != signal.SIGCHLD:
                        return stop(server)
                failures = 1 if time.monotonic() - started > STABLE_SECONDS else failures + 1
        raise SystemExit(f"PostgreSQL ended {MAX_FAILURES} times; it is not started again.")

    def prepare(self) -> None:
        """Choose the folder of the server, and create its folders and data, as far as they are missing."""
        if os.geteuid() == 0 and not os.path.lexists(self.layout.link) and not reachable(self.layout.data):
            # Root's folders are not opened to other accounts: the data is put into another folder, and linked.
            OPEN_FOLDER.mkdir(parents=True, exist_ok=True)
            folder = Path(tempfile.mkdtemp(dir=OPEN_FOLDER))
            folder.chmod(0o755)
            self.layout.link.symlink_to(folder / self.layout.link.name)
            self.layout = ServerLayout(self.layout.home)
        self._own_folder(self.layout.sockets)
        if os.geteuid() == 0 and not reachable(self.binaries / "postgres"):
            self.binaries = self._copy_binaries()
        if not self.layout.data.exists():
            self._make_data()
        self._configure()

    def _own_folder(self, folder: Path) -> None:
        """Make `folder` for the server alone. Raise SystemExit when it belongs to another account."""
        folder.mkdir(mode=0o700, exist_ok=True)
        found = folder.lstat()
        owner = self.layout.as_owner()
        if folder.is_symlink() or found.st_uid not in (os.geteuid(), owner.get("user", os.geteuid())):
            raise SystemExit(f"{folder} belongs to another account: remove it.")
        if owner:
            os.chown(folder, owner["user"], owner["group"])
        folder.chmod(0o700)

    def _copy_binaries(self) -> Path:
        """Return the folder of a copy of PostgreSQL's programs and libraries that the server's account can read."""
        install = self.binaries.parent
        package = install.parent
        # Another package, or another version of it, is another copy.
        copied = zlib.crc32(f"{install} {install.stat().st_mtime_ns}".encode())
        copy = self.layout.copies / f"programs-{copied:x}"
        if not copy.exists():
            copy.parent.mkdir(mode=0o755, parents=True, exist_ok=True)
            for old in copy.parent.glob("programs-*"):
                shutil.rmtree(old, ignore_errors=True)
            draft = copy.with_suffix(".draft")
            unneeded = shutil.ignore_patterns("include", "pkgconfig", "*.a")
            shutil.copytree(install, draft / package.name / install.name, symlinks=True, ignore=unneeded)
            # initdb needs them, and finds them next to the package.
            libraries = package.with_suffix(".libs")
            if libraries.exists():
                shutil.copytree(libraries, draft / libraries.name)
            draft.chmod(0o755)
            draft.rename(copy)
        return copy / package.name / install.name / "bin"

    def _make_data(self) -> None:
        """Create the data of a new server with an empty database. A final rename makes this atomic."""
        parent = self.layout.data.parent
        for leftover in parent.glob("init-*"):
            shutil.rmtree(leftover, ignore_errors=True)
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
        draft.rename(self.layout.data)

    def _configure(self) -> None:
        quoted = str(self.layout.sockets).replace("\\", "\\\\").replace('"', '""').replace("'", "''")
        file = self.layout.data / "oneclaw.conf"
        file.write_text(CONFIGURATION.format(sockets=quoted, sync_method=SYNC_METHOD))
        if owner := self.layout.as_owner():
            os.chown(file, owner["user"], owner["group"])

    def _run(self, program: str, *arguments: str, text: str = "") -> None:
        """Run one of PostgreSQL's programs with `text` as its input. Raise CalledProcessError when it fails."""
        subprocess.run(
            [self.binaries / program, *arguments],
            input=text,
            text=True,
            check=True,
            cwd="/",
            env=environment(),
            preexec_fn=dies_with_parent(signal.SIGKILL),
            **self.layout.as_owner(),
        )

    def _start(self) -> subprocess.Popen[bytes]:
        end_predecessor(self.layout.data)
        for leftover in self.layout.sockets.glob(f"{SOCKET}*"):
            leftover.unlink(missing_ok=True)
        return subprocess.Popen(
            [self.binaries / "postgres", "-D", self.layout.data],
            stdin=subprocess.DEVNULL,
            cwd="/",
            env=environment(),
            # SIGINT is PostgreSQL's fast shutdown, which ends running transactions.
            preexec_fn=dies_with_parent(signal.SIGINT),
            **self.layout.as_owner(),
        )


def environment(starter: Mapping[str, str] = os.environ) -> Mapping[str, str]:
    """Return the environment variables of PostgreSQL's programs, which `starter` starts."""
    passed = {name: starter[name] for name in PASSED_VARIABLES if name in starter}
    return {"PATH": os.defpath, "LC_ALL": "C", "TZ": "UTC", **passed}


def events(users: Path) -> Generator[int]:
    """Yield each event when it occurs: the number of a signal, or 0 when the last user has ended."""
    readable, writable = os.pipe()
    os.set_blocking(writable, False)
    for number in (signal.SIGCHLD, signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, lambda *_: None)
    signal.set_wakeup_fd(writable)
    # Held until the guardian ends: a new user waits for the lock until the server has stopped.
    lock = os.open(users, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)

    def wait_for_users() -> None:
        fcntl.flock(lock, fcntl.LOCK_EX)
        os.write(writable, NO_USERS)

    threading.Thread(target=wait_for_users, daemon=True).start()
    while True:
        yield os.read(readable, 1)[0]


def stop(server: subprocess.Popen[bytes]) -> None:
    """Stop the server, with stronger signals as long as it does not end."""
    for number in (signal.SIGINT, signal.SIGQUIT, signal.SIGKILL):
        server.send_signal(number)
        with contextlib.suppress(subprocess.TimeoutExpired):
            server.wait(STOP_SECONDS)
            return


def end_predecessor(data: Path) -> None:
    """Stop a server that outlived its guardian, and clear its process id in `data`, which may have been reused."""
    pidfile = data / "postmaster.pid"
    for number in (signal.SIGINT, signal.SIGQUIT, signal.SIGKILL):
        deadline = time.monotonic() + STOP_SECONDS
        pid = recorded_pid(pidfile)
        while pid and is_server(pid, data) and time.monotonic() < deadline:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, number)
            time.sleep(0.1)
    with contextlib.suppress(FileNotFoundError):
        # 2**30 is no valid process id. The other lines stay: by them PostgreSQL finds child processes of the old server
        # that still use the data, and waits for them.
        lines = pidfile.read_text().splitlines(keepends=True)
        pidfile.write_text("".join([f"{2**30}\n", *lines[1:]]))


def recorded_pid(pidfile: Path) -> int:
    """Return the process id in `pidfile`; 0 when it has none."""
    try:
        return int(pidfile.read_text().split()[0])
    except (OSError, ValueError, IndexError):
        return 0


def is_server(pid: int, data: Path) -> bool:
    """Return whether process `pid` is the PostgreSQL of `data`, and not another one with a reused id."""
    if sys.platform == "linux":
        with contextlib.suppress(OSError):
            return os.readlink(f"/proc/{pid}/cwd") == str(data)
        return False
    command = subprocess.run(["ps", "-o", "command=", "-p", str(pid)], capture_output=True, text=True).stdout
    return str(data) in command


if __name__ == "__main__":
    main(*sys.argv[1:])
