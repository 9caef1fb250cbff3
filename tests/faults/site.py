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
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from django.core.management import get_commands

from oneclaw.replies import Reply, answer
from oneclaw.scripted import ScriptedModel
from tests.stage import House, Talk, can_connect, lives, server_of, until

ADA = "ada@example.org"
# What makes waiting short: leases and silences of seconds, and the sweeps do the rest.
SHORT = {
    "ONECLAW_LEASE_SECONDS": "4",
    "ONECLAW_CHECKPOINT_SECONDS": "0.3",
    "ONECLAW_FLUSH_LEASE_SECONDS": "5",
    "ONECLAW_SILENCE_TIMEOUT": "2",
    "ONECLAW_EMBEDDINGS": "none",
}
# Many words that Markdown leaves as they are.
LONG = " ".join(f"word{number}" for number in range(600))
NOTES = answer("- Something was said.")
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
        self.notes = NOTES
        self.server = ScriptedModel(default=self._think)

    def forget(self) -> None:
        """Nothing that one test left over answers the next."""
        self.replies.clear()
        self.notes = NOTES

    def _think(self, body: dict[str, Any]) -> Reply:
        if "<transcript" in json.dumps(body["messages"]):
            return self.notes
        return self.replies.popleft() if self.replies else answer("Noted.")

    def asked_for_notes(self) -> int:
        """How often notes were asked for."""
        return sum("<transcript" in json.dumps(request.body["messages"]) for request in self.server.messages)


class Site:
    """What both set-ups have in common."""

    def __init__(self, house: House, upstream: Upstream) -> None:
        self.house, self.upstream = house, upstream
        house.wait_until_ready()
        self.cookie = house.sign_in(ADA)

    # -- The faults ------------------------------------------------------------------------------

    def process(self, role: str) -> int:
        """The process id of `web`, `worker` or `postgres`."""
        raise NotImplementedError

    def strike(self, role: str, number: int = signal.SIGKILL) -> None:
        """Send a signal, and see the process end."""
        process = self.process(role)
        os.kill(process, number)
        until(lambda: not lives(process), 20, f"the {role} has ended")

    def back(self, role: str) -> None:
        """See the process run again."""
        raise NotImplementedError

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

    # -- What is to be seen ----------------------------------------------------------------------

    def rows(self, query: str, *values: Any) -> list[tuple[Any, ...]]:
        with self.house.database() as connection:
            return connection.execute(query, values).fetchall()

    def until_saved(self, session: str, characters: int = 20) -> None:
        """Until a running answer of this length is in the database."""
        query = (
            "SELECT 1 FROM chat_message WHERE session_id = %s AND role = 'assistant' AND status = 'running' "
            "AND length(text) >= %s"
        )
        until(lambda: self.rows(query, session, characters), 20, "a growing answer was saved")

    def until_settled(self, session: str, seconds: float = 40) -> None:
        """Until nothing runs in this session."""
        query = "SELECT 1 FROM chat_turn WHERE session_id = %s AND status = 'running'"
        until(lambda: not self.rows(query, session), seconds, "no turn runs")

    def agreed(self, session: str) -> list[Shown]:
        """The conversation's messages, after the page and a fresh socket of every web were found to show the same as
        the database, and the database to be sound."""
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
        self.check()
        return stored

    def check(self) -> None:
        """`manage.py check_invariants` finds nothing; it prints what it finds and fails otherwise."""
        if "check_invariants" in get_commands():
            self.house.manage("check_invariants")

    def _stored(self, session: str) -> list[Shown]:
        places = self.rows("SELECT seq FROM chat_message WHERE session_id = %s ORDER BY seq", session)
        assert [seq for (seq,) in places] == list(range(1, len(places) + 1))
        query = (
            "SELECT id, seq, role, status, text FROM chat_message "
            "WHERE session_id = %s AND active AND role <> 'tool' ORDER BY seq"
        )
        return [Shown(*row) for row in self.rows(query, session)]


class Embedded(Site):
    """`oneclaw serve`: the supervisor starts again what ends."""

    set_up = "embedded"

    def __init__(self, house: House, upstream: Upstream) -> None:
        super().__init__(house, upstream)
        # The supervisor starts them in this order.
        self.processes = dict(zip(("web", "worker", "beat"), self._children(), strict=True))

    def process(self, role: str) -> int:
        return server_of(self.house.home) if role == "postgres" else self.processes[role]

    def back(self, role: str) -> None:
        if role != "postgres":
            others = {process for name, process in self.processes.items() if name != role}
            old = self.processes[role]

            def fresh() -> list[int]:
                return [child for child in self._children() if child not in others | {old} and lives(child)]

            until(fresh, 30, f"the {role} was started again")
            self.processes[role] = fresh()[0]
        until(self._ready, 60, "it is ready again")

    def _children(self) -> list[int]:
        supervisor = self.house["serve"].pid
        return sorted(
            int(child) for child in Path(f"/proc/{supervisor}/task/{supervisor}/children").read_text().split()
        )

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
