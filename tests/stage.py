"""Real processes for acceptance and fault tests, on free ports and with folders of their own.

    with embedded() as house:          # `oneclaw serve` and what it starts
        house.wait_until_ready()
        house["serve"].kill()

    with team(webs=2) as house:        # PostgreSQL over TCP, Redis, two webs, worker and beat, each on its own
        house["worker"].stop()

Everything ends with the block, by its process id; what the processes said is printed if the block fails.
"""

import contextlib
import fcntl
import json
import os
import random
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import psycopg
from psycopg import conninfo
from websockets.sync.client import ClientConnection, connect

from oneclaw.postgres import embedded as embedding
from oneclaw.postgres import guardian

ROOT = Path(__file__).resolve().parent.parent
PORTS = range(10_000, 32_000)

SIGN_IN = """
import sys
from importlib import import_module
import django
django.setup()
from django.conf import settings
from django.contrib.auth import BACKEND_SESSION_KEY, HASH_SESSION_KEY, SESSION_KEY
from oneclaw.models import User
for email in sys.argv[1:]:
    user = User.objects.filter(email=email).first() or User.objects.create_user(email)
    session = import_module(settings.SESSION_ENGINE).SessionStore()
    session[SESSION_KEY], session[HASH_SESSION_KEY] = str(user.pk), user.get_session_auth_hash()
    session[BACKEND_SESSION_KEY] = settings.AUTHENTICATION_BACKENDS[0]
    session.save()
    print(session.session_key)
"""


class Running:
    """One process that was started here, with what it says in a file."""

    def __init__(self, command: list[Any], environment: dict[str, str], log: Path, **how: Any) -> None:
        self.command, self.environment, self.log, self.how = command, environment, log, how
        self.start()

    def start(self) -> None:
        """Start it (again)."""
        with self.log.open("a") as log:
            self.process = subprocess.Popen(
                self.command,
                env=self.environment,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                preexec_fn=guardian.dies_with_parent(signal.SIGKILL),
                **{"cwd": ROOT, **self.how},
            )

    @property
    def pid(self) -> int:
        return self.process.pid

    def said(self) -> str:
        return self.log.read_text(errors="replace")

    def stop(self, number: int = signal.SIGTERM, seconds: float = 30) -> int:
        """Ask it to end, and wait; its exit code."""
        self.process.send_signal(number)
        return self.process.wait(seconds)

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()


class House:
    """A running OneClaw: its processes by name, its folder, and the way in."""

    def __init__(self, folder: Path, **settings: str) -> None:
        self.folder, self.home = folder, folder / "home"
        # The code that is started from now on: this one, or that of another release.
        self.code = ROOT
        self.running: dict[str, Running] = {}
        self.environment = {
            **os.environ,
            "ONECLAW_HOME": str(self.home),
            # What a scripted model answers is for the turn.
            "ONECLAW_TITLES": "no",
            "DJANGO_SETTINGS_MODULE": "oneclaw.settings",
            **settings,
        }
        self.urls: list[str] = []

    def __getitem__(self, name: str) -> Running:
        return self.running[name]

    @property
    def url(self) -> str:
        return self.urls[0]

    def start(self, name: str, command: list[Any], **settings: str) -> Running:
        log = self.folder / f"{name}.log"
        self.running[name] = Running(command, self.environment | settings, log, cwd=self.code)
        return self.running[name]

    def serve(self, name: str, *arguments: str, port: int | None = None) -> Running:
        """`oneclaw serve`, or one of its roles. With a port, its address joins `urls`."""
        settings = {"PORT": str(port)} if port else {}
        if port:
            self.urls.append(f"http://127.0.0.1:{port}")
        return self.start(name, [sys.executable, "manage.py", "serve", *arguments], **settings)

    def manage(self, *arguments: str) -> str:
        """Run a management command; what it printed."""
        return self._run("manage.py", *arguments)

    def sign_in(self, email: str) -> str:
        """A cookie with which this person, new or not, is signed in."""
        return self.sign_in_all(email)[0]

    def sign_in_all(self, *emails: str) -> list[str]:
        """The same for several people, by one process."""
        return [f"sessionid={key}" for key in self._run("-c", SIGN_IN, *emails).split()]

    def get(self, path: str, cookie: str = "", web: int = 0) -> tuple[int, str]:
        """The status and body of a page."""
        request = urllib.request.Request(self.urls[web] + path, headers={"Cookie": cookie})
        try:
            with urllib.request.urlopen(request, timeout=15) as response:
                return response.status, response.read().decode()
        except urllib.error.HTTPError as error:
            with error:
                return error.code, error.read().decode()

    @contextlib.contextmanager
    def socket(self, cookie: str, web: int = 0) -> Iterator["Talk"]:
        """An open socket, as the page of this web process opens it."""
        url = self.urls[web]
        address = url.replace("http", "ws", 1) + "/ws/"
        with connect(address, origin=url, additional_headers={"Cookie": cookie}) as connection:
            yield Talk(connection)

    def database(self) -> psycopg.Connection:
        """A connection of one's own to the database, in autocommit."""
        url = self.environment.get("DATABASE_URL")
        if url:
            return psycopg.connect(url, autocommit=True)
        return psycopg.connect(**embedding.EmbeddedPostgres(self.home).params(), autocommit=True)

    def wait_until_ready(self, seconds: float = 90) -> None:
        """Until every web process says that the database, the migrations and a worker are there."""
        for web in range(len(self.urls)):
            until(lambda web=web: self._answers(web), seconds, "it is ready")

    def _answers(self, web: int) -> bool:
        for name, running in self.running.items():
            assert running.process.poll() is None, f"{name} has ended."
        try:
            return self.get("/readyz", web=web)[0] == 200
        except OSError:
            return False

    def _run(self, *arguments: str) -> str:
        command = [sys.executable, *arguments]
        return subprocess.check_output(command, env=self.environment, cwd=self.code, text=True, timeout=400)

    def end(self) -> None:
        """End what still runs, in the opposite order, and wait for the embedded PostgreSQL."""
        for running in reversed(self.running.values()):
            if running.process.poll() is None:
                running.process.send_signal(signal.SIGTERM)
                try:
                    running.process.wait(20)
                except subprocess.TimeoutExpired:
                    running.kill()
        until(lambda: not guardian_of(self.home), 30, "the guardian has gone")


class Talk:
    """A person's open socket: JSON frames out and in."""

    def __init__(self, connection: ClientConnection) -> None:
        self.connection = connection
        self.seen: list[dict[str, Any]] = []

    def say(self, kind: str, **fields: Any) -> None:
        self.connection.send(json.dumps({"type": kind, **fields}))

    def hear(self, kind: str, /, seconds: float = 15, **fields: Any) -> dict[str, Any]:
        """The next frame of this kind with these fields; what comes before it is kept in `seen`."""
        deadline = time.monotonic() + seconds
        while True:
            frame = self.hear_any(max(0.01, deadline - time.monotonic()))
            if frame["type"] == kind and fields.items() <= frame.items():
                return frame

    def hear_any(self, seconds: float = 15) -> dict[str, Any]:
        """The next frame, whatever it is."""
        frame: dict[str, Any] = json.loads(self.connection.recv(seconds))
        self.seen.append(frame)
        return frame


@contextlib.contextmanager
def embedded(folder: Path | None = None, **settings: str) -> Iterator[House]:
    """`oneclaw serve`, as one starts it with one command. The same `folder` again is a second start."""
    with house(folder, **settings) as found:
        found.serve("serve", port=free_port())
        yield found


@contextlib.contextmanager
def embedded_again(**settings: str) -> Iterator[House]:
    """`oneclaw serve` as it is started on a later day: its database is there already."""
    with house(None, **settings) as found:
        server = embedding.EmbeddedPostgres(found.home)
        server.join()
        fill(found, conninfo.make_conninfo(**server.params()))
        server.leave()
        found.serve("serve", port=free_port())
        yield found


@contextlib.contextmanager
def team(webs: int = 2, **settings: str) -> Iterator[House]:
    """What docker-compose.yml describes, as processes."""
    with house(None, **settings) as found:
        database, broker = free_port(), free_port()
        found.environment["DATABASE_URL"] = f"postgresql://oneclaw@127.0.0.1:{database}/oneclaw"
        found.environment["REDIS_URL"] = f"redis://127.0.0.1:{broker}/0"
        start_postgres(found, database)
        start_redis(found, broker)
        fill(found, found.environment["DATABASE_URL"])
        for number in range(1, webs + 1):
            found.serve(f"web{number}", "web", port=free_port())
        found.serve("worker", "worker")
        found.serve("beat", "beat")
        yield found


@contextlib.contextmanager
def house(folder: Path | None = None, **settings: str) -> Iterator[House]:
    """A house with nothing running in it; it ends what is started."""
    with contextlib.ExitStack() as stack:
        found = House(folder or stack.enter_context(open_folder()), **settings)
        try:
            yield found
        except BaseException:
            for name, running in found.running.items():
                print(f"--- {name} said:\n{running.said()[-4000:]}")
            raise
        finally:
            found.end()


@contextlib.contextmanager
def open_folder() -> Iterator[Path]:
    """A temporary folder that PostgreSQL's own account can reach, unlike pytest's."""
    folder = Path(tempfile.mkdtemp(prefix="oneclaw-test-"))
    folder.chmod(0o755)
    try:
        yield folder
    finally:
        shutil.rmtree(folder)


def fill(found: House, address: str) -> None:
    """Make the tables in the empty database of a house. All migrations take 20 seconds of processor time: the first
    house applies them, and the others get a copy."""
    from tests import template

    kept = Path(os.environ["ONECLAW_HOME"]) / f"migrated-{template.fingerprint()}.dump"
    with open(kept.with_suffix(".lock"), "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not kept.exists():
            found.manage("migrate", "--no-input", "-v0")
            draft = kept.with_suffix(".draft")
            dump = ["--format=custom", "--no-owner", "--no-privileges", f"--file={draft}"]
            subprocess.run([embedding.programs() / "pg_dump", *dump, f"--dbname={address}"], check=True)
            draft.rename(kept)
            return
    restore = ["--single-transaction", "--exit-on-error", "--no-owner", "--no-privileges", f"--dbname={address}"]
    subprocess.run([embedding.programs() / "pg_restore", *restore, kept], check=True)


def start_postgres(found: House, port: int) -> Running:
    """A PostgreSQL that listens on TCP, with a database and a person named oneclaw who needs no password."""
    folder = found.folder / "postgres"
    folder.mkdir()
    server = guardian.Guardian(guardian.ServerLayout(folder), embedding.programs())
    server.prepare()
    listening = ["-c", "listen_addresses=127.0.0.1", "-p", str(port), "-k", str(server.layout.sockets)]
    command = [server.binaries / "postgres", "-D", server.layout.data, *listening]
    log = found.folder / "postgres.log"
    running = Running(command, dict(guardian.environment(found.environment)), log, **server.layout.as_owner())
    found.running["postgres"] = running
    # It listens before it lets anybody in.
    until(lambda: _lets_in(found.environment["DATABASE_URL"]), 60, "PostgreSQL lets somebody in")
    return running


def _lets_in(address: str) -> bool:
    try:
        psycopg.connect(address, connect_timeout=5).close()
    except psycopg.OperationalError:
        return False
    return True


def start_redis(found: House, port: int) -> Running:
    program = shutil.which("redis-server")
    assert program, "redis-server is not installed: ./oneclaw.sh test installs it, or says so."
    folder = found.folder / "redis"
    folder.mkdir()
    quiet = ["--bind", "127.0.0.1", "--save", "", "--appendonly", "no", "--dir", str(folder)]
    running = found.start("redis", [program, "--port", str(port), *quiet])
    until(lambda: can_connect(port), 30, "Redis listens")
    return running


def free_port() -> int:
    """Find a port below those that the kernel gives to outgoing connections: none of them takes it before its process
    listens, or while that is started again."""
    while True:
        with contextlib.suppress(OSError), socket.create_server(("127.0.0.1", random.choice(PORTS))) as free:
            return free.getsockname()[1]


def can_connect(port: int) -> bool:
    try:
        socket.create_connection(("127.0.0.1", port), timeout=1).close()
    except OSError:
        return False
    return True


def until(happened: Callable[[], object], seconds: float = 20, what: str = "it happened") -> None:
    deadline = time.monotonic() + seconds
    while not happened():
        assert time.monotonic() < deadline, f"Waited {seconds:g} seconds in vain until {what}."
        time.sleep(0.02)


# -- Process ids ---------------------------------------------------------------------------------


def everything(home: Path, supervisor: int) -> set[int]:
    """The processes of an embedded OneClaw: the supervisor's, the guardian's, PostgreSQL's."""
    return {process for first in (supervisor, guardian_of(home)) for process in family(first)}


def family(process: int) -> list[int]:
    """A process and all that descend from it."""
    try:
        children = Path(f"/proc/{process}/task/{process}/children").read_text().split()
    except OSError:
        return []
    return [process, *(one for child in children for one in family(int(child)))]


def guardian_of(home: Path) -> int:
    """The living guardian's process id; 0 when there is none."""
    kept = home / guardian.GUARDIAN
    if not kept.exists() or not embedding.EmbeddedPostgres(home).is_guarded():
        return 0
    return int(kept.read_text() or 0)


def server_of(home: Path) -> int:
    """The process id that the embedded PostgreSQL wrote down; 0 when it has stopped."""
    return guardian.recorded_pid(guardian.ServerLayout(home).data / "postmaster.pid")


def lives(process: int) -> bool:
    try:
        return Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()[0] not in "ZX"
    except OSError:
        return False


def name_of(process: int) -> str:
    """What `ps -o comm` shows; "" when it has ended."""
    try:
        return Path(f"/proc/{process}/comm").read_text().rstrip("\n")
    except OSError:
        return ""


def living(processes: Iterable[int]) -> set[int]:
    return {process for process in processes if lives(process)}
