"""A running house to break things in: its scripted upstream, its person, and whether all that it shows agrees.

session = site.ask("Hello", answer("Good morning."))
site.strike("web", signal.SIGKILL)
site.back("web")
assert site.agreed(session)[-1].status == "interrupted"
"""

import collections
import contextlib
import html
import json
import os
import re
import signal
import urllib.parse
import urllib.request
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.faults.commands import CommandFailedError, Commands
from tests.scripted import Reply, ScriptedModel, answer
from tests.stage import House, Talk, can_connect, lives, name_of, server_of, until
from tests.sub_sessions import SESSION_TOOLS

ADA = "ada@example.org"
# What makes waiting short: leases and silences of seconds, and the sweeps do the rest.
SHORT = {
    "ONECLAW_LEASE_SECONDS": "4",
    "ONECLAW_CHECKPOINT_SECONDS": "0.3",
    "ONECLAW_FLUSH_LEASE_SECONDS": "5",
    # Ten times that before the first word.
    "ONECLAW_SILENCE_TIMEOUT": "1",
    "ONECLAW_MESSAGE_LENGTH": "5000",
    "ONECLAW_EMBEDDINGS": "none",
}
# What quotes a conversation in the requests for a title, a file's name, a summary and a topic, which no person makes.
ASKED_BY_ITSELF = ("name_for", "title_for", "conversation", "earlier_summary", "messages", "entries", "new_line")
# Many words that Markdown leaves as they are.
LONG = " ".join(f"word{number}" for number in range(600))
ARTICLE = re.compile(
    r'<article id="message-(\d+)"[^>]* data-seq="(\d+)" data-role="(\w+)" data-status="(\w+)".*?</article>', re.DOTALL
)


@dataclass(frozen=True)
class Shown:
    """One message, as the database has it."""

    id: int
    seq: int
    role: str
    status: str
    text: str


class Upstream:
    """The model's server: a person's message gets the next reply, a transcript gets notes."""

    def __init__(self) -> None:
        self.replies: collections.deque[Reply] = collections.deque()
        self.notes: Callable[[str], Reply] = something
        self.server = ScriptedModel(default=self._think)

    def forget(self) -> None:
        """Nothing that one test left over answers the next."""
        self.replies.clear()
        self.notes = something

    def _think(self, body: dict[str, Any]) -> Reply:
        shown = json.dumps(body["messages"])
        if "<transcript" in shown:
            return self.notes(shown)
        if any(f"<{tag}" in shown for tag in ASKED_BY_ITSELF):
            # It takes no reply that a test has meant for a person.
            return answer("Noted.")
        return self.replies.popleft() if self.replies else answer("Noted.")

    def transcripts(self, word: str) -> int:
        """How often notes were asked for about a conversation with this word."""
        shown = [json.dumps(request.body["messages"]) for request in self.server.messages]
        return sum("<transcript" in text and word in text for text in shown)


class Site:
    """What both set-ups have in common."""

    def __init__(self, house: House, upstream: Upstream) -> None:
        self.house, self.upstream = house, upstream
        house.wait_until_ready()
        self.cookie = house.sign_in(ADA)
        self.commands = Commands(house)
        # How often each role was made to end.
        self.struck: collections.Counter[str] = collections.Counter()

    # -- The faults ------------------------------------------------------------------------------

    def process(self, role: str) -> int:
        """The process id of `web`, `worker` or `postgres`."""
        raise NotImplementedError

    def strike(self, role: str, number: int = signal.SIGKILL) -> None:
        """Send a signal, and see the process end."""
        process = self.process(role)
        os.kill(process, number)
        until(lambda: not lives(process), 20, f"the {role} has ended")
        self.struck[role] += 1

    def back(self, role: str) -> None:
        """See the process run again."""
        raise NotImplementedError

    @contextlib.contextmanager
    def frozen(self, role: str) -> Iterator[None]:
        """The process does nothing in the meantime, and does not know."""
        process = self.process(role)
        os.kill(process, signal.SIGSTOP)
        try:
            yield
        finally:
            os.kill(process, signal.SIGCONT)

    def sweep(self, app: str) -> None:
        """What beat asks for from time to time, now."""
        self.commands.run("shell", "-v0", "-c", f"from {app}.tasks import sweep; sweep.delay()")

    # -- The person ------------------------------------------------------------------------------

    @contextlib.contextmanager
    def talk(self, session: str | None = None, web: int = 0) -> Iterator["Talk"]:
        """A socket on which this session, or nothing yet, is open."""
        with self.house.socket(self.cookie, web=web) as talk:
            if session is not None:
                talk.say("open", session=session, last_seq=0)
                talk.hear("ready")
            yield talk

    def ask(self, text: str, *replies: Reply, session: str | None = None, web: int = 0) -> str:
        """Send a message, see its turn end, and return its session."""
        session = session or str(uuid.uuid4())
        self.upstream.replies.extend(replies)
        with self.talk(session, web) as talk:
            send(talk, session, text)
            talk.hear("done", final=True)
        return session

    def open_after_another(self, *sessions: str) -> None:
        """Look at these conversations in turn: each one that is left is to be flushed."""
        with self.talk() as talk:
            for session in sessions:
                talk.say("open", session=session, last_seq=0)
                talk.hear("ready", session=session)

    def post(self, path: str, **fields: str) -> int:
        """Send a form, as the page does; the status of what comes of it."""
        token = "a" * 32
        request = urllib.request.Request(
            self.house.url + path,
            data=urllib.parse.urlencode({"csrfmiddlewaretoken": token, **fields}).encode(),
            headers={"Cookie": f"{self.cookie}; csrftoken={token}"},
        )
        with urllib.request.urlopen(request, timeout=15) as response:
            return response.status

    # -- What is to be seen ----------------------------------------------------------------------

    def rows(self, query: str, *values: Any) -> list[tuple[Any, ...]]:
        with self.house.database() as connection:
            return connection.execute(query, values).fetchall()

    def turn_on_session_tools(self) -> None:
        """Offer the tools for other conversations to everybody."""
        query = "UPDATE oneclaw_user SET tools_on = %s::jsonb RETURNING id"
        self.rows(query, json.dumps(SESSION_TOOLS))

    def until_saved(self, session: str, characters: int = 20) -> None:
        """Until a running answer of this length is in the database."""
        query = (
            "SELECT 1 FROM chat_message WHERE session_id = %s AND role = 'assistant' AND status = 'running' "
            "AND length(text) >= %s"
        )
        until(lambda: self.rows(query, session, characters), 20, "a growing answer was saved")

    def until_waiting(self, count: int = 1) -> None:
        """Until so many connections wait for a lock."""
        query = "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'"
        until(lambda: self.rows(query)[0][0] >= count, 20, f"{count} wait for a lock")

    def memory(self, path: str) -> str:
        """The text of all documents of this path, which may be a pattern."""
        return "".join(
            text for (text,) in self.rows("SELECT content FROM memory_memorydocument WHERE path LIKE %s", path)
        )

    def until_settled(self, session: str, seconds: float = 40) -> None:
        """Until nothing runs in this session."""
        query = "SELECT 1 FROM chat_turn WHERE session_id = %s AND status = 'running'"
        until(lambda: not self.rows(query, session), seconds, "no turn runs")

    def agreed(self, session: str) -> list[Shown]:
        """The conversation's messages, after the page and a fresh socket of every web were found to show the same."""
        self.until_settled(session)
        stored = self._stored(session)
        for web in range(len(self.house.urls)):
            status, page = self.house.get(f"/c/{session}", self.cookie, web)
            assert status == 200
            with self.talk(web=web) as talk:
                talk.say("open", session=session, last_seq=0)
                talk.say("ping")
                talk.hear("pong")
                replayed = [frame for frame in talk.seen if frame["type"] == "message"]
            assert "".join(frame["html"] for frame in replayed) in page
            for articles in (ARTICLE.finditer(page), (ARTICLE.match(frame["html"]) for frame in replayed)):
                assert [seen_as(article) for article in articles] == [as_seen(message) for message in stored]
            for message, frame in zip(stored, replayed, strict=True):
                assert plain(html.escape(message.text)) in plain(frame["html"])
        return stored

    def check(self) -> None:
        """The whole database is sound: `manage.py check_invariants` ends with exit code 0."""
        try:
            self.commands.run("check_invariants")
        except CommandFailedError as error:
            pytest.fail(f"check_invariants found:\n{error}")

    def _stored(self, session: str) -> list[Shown]:
        places = self.rows("SELECT seq FROM chat_message WHERE session_id = %s ORDER BY seq", session)
        assert [seq for (seq,) in places] == list(range(1, len(places) + 1))
        query = (
            "SELECT id, seq, role, status, text FROM chat_message "
            "WHERE session_id = %s AND active AND role IN ('user', 'assistant') ORDER BY seq"
        )
        return [Shown(*row) for row in self.rows(query, session)]


class Embedded(Site):
    """`oneclaw serve`: the supervisor starts again what ends."""

    set_up = "embedded"

    def process(self, role: str) -> int:
        until(lambda: self._living(role), 30, f"the {role} runs")
        return self._living(role)[0]

    def back(self, role: str) -> None:
        until(lambda: self._living(role), 30, f"the {role} was started again")
        until(self._ready, 60, "it is ready again")

    def check(self) -> None:
        """And no process of the supervisor has ended by itself."""
        super().check()
        told = collections.Counter(re.findall(r"The (\w+) ended with", self.house["serve"].said()))
        struck, self.struck = self.struck, told.copy()
        del struck["postgres"]
        # What one test found is not told by those after it.
        assert told == struck, self.house["serve"].said()

    def _living(self, role: str) -> list[int]:
        """The server, or the children of the supervisor that are named so; those that live."""
        if role == "postgres":
            server = server_of(self.house.home)
            return [server] if server and lives(server) else []
        supervisor = self.house["serve"].pid
        children = map(int, Path(f"/proc/{supervisor}/task/{supervisor}/children").read_text().split())
        return [child for child in children if name_of(child) == f"oneclaw {role}" and lives(child)]

    def _ready(self) -> bool:
        try:
            return self.house.get("/readyz")[0] == 200
        except OSError:
            return False


class Team(Site):
    """Processes of their own, which the test starts again, as a host's service manager would."""

    set_up = "team"

    def process(self, role: str) -> int:
        return self.house[self._name(role)].pid

    def strike(self, role: str, number: int = signal.SIGKILL) -> None:
        self.house[self._name(role)].stop(number)

    def back(self, role: str) -> None:
        running = self.house[self._name(role)]
        running.start()
        if role == "postgres":
            port = int(self.house.environment["DATABASE_URL"].rpartition(":")[2].partition("/")[0])
            until(lambda: can_connect(port), 60, "PostgreSQL listens")
        self.house.wait_until_ready()

    def _name(self, role: str) -> str:
        return "web1" if role == "web" else role


def something(transcript: str) -> Reply:
    """Notes about whatever was said."""
    return answer("- Something was said.")


def send(talk: Talk, session: str, text: str, client_id: str | None = None) -> dict[str, Any]:
    """Send a message; its acknowledgement."""
    client_id = client_id or str(uuid.uuid4())
    talk.say("send", client_id=client_id, session=session, text=text)
    return talk.hear("ack", client_id=client_id)


def seen_as(article: re.Match[str] | None) -> tuple[str, ...]:
    assert article
    return article.groups()


def as_seen(message: Shown) -> tuple[str, ...]:
    return str(message.id), str(message.seq), message.role, message.status


def plain(markup: str) -> str:
    """The words of HTML."""
    return " ".join(re.sub(r"<[^>]*>", " ", markup).split())
