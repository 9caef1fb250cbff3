"""Whatever tabs do and whatever breaks, in any order: the page, the rows and a plain list agree.

The list is the model: what was said, and how each attempt at an answer ended.
"""

import asyncio
import datetime as dt
import itertools
import json
import re
import uuid
from typing import Any

import pytest
from channels.testing import WebsocketCommunicator
from django.utils import timezone
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, consumes, invariant, multiple, rule
from hypothesis.stateful import run_state_machine_as_test as run

from chat.conversations import transcript
from chat.conversations.message_pages import page_messages
from chat.conversations.shared import stopping
from chat.live.consumer import ChatConsumer
from chat.models import Message, Turn
from chat.turns.running import running_turns
from oneclaw import invariants, llm
from oneclaw.threads import in_database
from tests import scripted as model

PATIENCE = 5.0


class Tab:
    """A browser's page: its socket, and the articles that it shows, as static/js has them."""

    def __init__(self, user, session):
        self.user, self.session = user, session
        self.shown: dict[str, tuple[int, str]] = {}
        self.socket = None
        # What comes before the answer to `open` belongs to the session before.
        self.is_ready = True

    @property
    def last_seq(self):
        last = 0
        for seq, html in sorted(self.shown.values()):
            if status_of(html) == "running":
                break
            last = seq
        return last

    async def connect(self):
        self.socket = WebsocketCommunicator(ChatConsumer.as_asgi(), "/ws/")
        self.socket.scope["user"] = self.user
        assert (await self.socket.connect())[0]
        await self.open()

    async def open(self):
        await self.say("open", session=str(self.session), last_seq=self.last_seq)
        await self.hear("ready", reset=False)

    async def leave(self, *, rudely=False):
        if rudely:
            self.socket.stop(exceptions=False)
        await self.socket.disconnect()

    async def say(self, kind, **fields):
        await self.socket.send_to(text_data=json.dumps({"type": kind, **fields}))

    async def hear(self, *kinds, **fields):
        """The next frame of one of these kinds with these fields; the page shows what comes before it."""
        async with asyncio.timeout(PATIENCE):
            while True:
                frame = json.loads(await self.socket.receive_from(timeout=PATIENCE))
                await self.show(frame)
                if frame["type"] in kinds and fields.items() <= frame.items():
                    return frame

    async def hear_all(self):
        while not await self.socket.receive_nothing(timeout=0.001, interval=0.001):
            await self.show(json.loads(await self.socket.receive_from()))

    async def show(self, frame):
        self.is_ready = self.is_ready or frame["type"] == "ready"
        if frame["type"] == "message" and self.is_ready:
            shown = self.shown.get(frame["id"])
            stale = status_of(frame["html"]) == "running" and shown and status_of(shown[1]) != "running"
            if frame["html"] and not stale:
                self.shown[frame["id"]] = frame["seq"], frame["html"]
        elif frame["type"] == "ready" and frame["reset"]:
            self.shown = await in_database(rows, self.session)
            await self.say("open", session=str(self.session), last_seq=self.last_seq)


def rows(session):
    """What a reload would show: {id: (seq, HTML)}."""
    page = page_messages(Message.objects.filter(session=session).shown())
    articles = re.findall(r"<article .*?</article>", page, re.DOTALL)
    return {field("id", html).removeprefix("message-"): (int(field("data-seq", html)), html) for html in articles}


def field(name, html):
    return re.search(rf'\b{name}="([^"]*)"', html)[1]


def status_of(html):
    return field("data-status", html)


def words_for(body):
    """The last question is answered slowly enough to be interrupted, if it asks for that; any other one at once."""
    asked = str(body["messages"])
    if asked.rfind("slow") > asked.rfind("quick"):
        return model.answer(model.text(["Slowly"] + [" more"] * 100, pace=0.2))
    return model.answer(model.text("At once."))


class Protocol(RuleBasedStateMachine):
    """Two conversations of one person, up to three tabs."""

    tabs, said = Bundle("tabs"), Bundle("said")
    ada: Any
    # One process, which outlives what hypothesis tries in it.
    loop: asyncio.Runner

    def __init__(self):
        super().__init__()
        self.sessions = [uuid.uuid4(), uuid.uuid4()]
        # session → [{"client_id", "text", "message", "endings": [how each attempt ended; "running" at first]}]
        self.model = {session: [] for session in self.sessions}
        self.open_tabs = []
        self.numbers = itertools.count(1)

    def do(self, awaitable):
        return self.loop.run(awaitable)

    # -- What people do ----------------------------------------------------------------------------

    @rule(target=tabs, session=st.integers(0, 1))
    def open_a_tab(self, session):
        if len(self.open_tabs) == 3:
            return multiple()
        tab = Tab(self.ada, self.sessions[session])
        self.do(tab.connect())
        self.open_tabs.append(tab)
        return tab

    @rule(tab=consumes(tabs), rudely=st.booleans())
    def close_a_tab(self, tab, rudely):
        self.open_tabs.remove(tab)
        self.do(tab.leave(rudely=rudely))

    @rule(tab=tabs)
    def switch(self, tab):
        tab.session = next(session for session in self.sessions if session != tab.session)
        tab.shown, tab.is_ready = {}, False
        self.do(tab.open())

    @rule(target=said, tab=tabs, how=st.sampled_from(["quick", "slow"]))
    def send(self, tab, how):
        message = self.written(tab, how)
        frame = self.do(self.sent(tab, message))
        return self.taken(tab, message, frame)

    @rule(tab=tabs, message=said, times=st.integers(1, 5))
    def send_again(self, tab, message, times):
        for _ in range(times):
            frame = self.do(self.sent(tab, message))
            assert (frame["type"], frame["duplicate"], frame["message"]) == ("ack", True, message["message"])

    @rule(tab=tabs, message=said)
    def send_other_words_under_the_same_id(self, tab, message):
        frame = self.do(self.sent(tab, message | {"text": "other words"}))
        assert (frame["type"], frame["code"]) == ("error", "conflict")

    @rule(tab=tabs)
    def stop(self, tab):
        running = self.last(tab.session, "running")
        self.do(tab.say("stop", message=None))
        if running:
            self.do(self.settled(tab.session))
            running["endings"][-1] = "stopped"

    @rule(tab=tabs, kind=st.sampled_from(["retry", "continue"]))
    def try_again(self, tab, kind):
        last = self.model[tab.session][-1] if self.model[tab.session] else None
        if last is None:
            return
        answer = self.do(in_database(lambda: Message.objects.filter(turn__prompt=last["message"]).shown().last()))
        self.do(tab.say(kind, message=str(answer.pk)))
        if last["endings"][-1] == "running":
            assert self.do(tab.hear("error"))["code"] == "busy"
            return
        self.do(self.begun(last, len(last["endings"]) + 1))
        last["endings"].append("running")
        self.wait_if_quick(tab.session, last)

    # -- What breaks -------------------------------------------------------------------------------

    @rule(tab=tabs, rudely=st.booleans())
    def reconnect(self, tab, rudely):
        """What was on its way to the page is lost."""
        self.do(tab.leave(rudely=rudely))
        self.do(tab.connect())

    @rule(target=said, tab=tabs, moments=st.integers(0, 30), resends=st.integers(1, 5))
    def lose_the_connection_while_sending(self, tab, moments, resends):
        """Perhaps the message has arrived, perhaps not; nobody can tell until it is sent again."""
        message = self.written(tab, "slow")

        async def lose():
            await tab.say("send", **frame_of(message))
            for _ in range(moments):
                await asyncio.sleep(0)
            await tab.leave(rudely=True)
            await tab.connect()
            for _ in range(resends):
                frame = await self.sent(tab, message)
            return frame

        return self.taken(tab, message, self.do(lose()), duplicate=None)

    @rule(session=st.integers(0, 1))
    def crash(self, session):
        """The process of the running answer dies: nobody tidies up until the lease has run out."""
        running = self.last(self.sessions[session], "running")
        if running:
            self.do(self.die(self.sessions[session]))
            running["endings"][-1] = "interrupted"

    @rule(session=st.integers(0, 1))
    def lose_the_lease(self, session):
        """The process was away for so long that somebody else has ended its turn; then it comes back."""
        running = self.last(self.sessions[session], "running")
        if running:
            self.do(self.expire(self.sessions[session]))
            self.do(self.settled(self.sessions[session]))
            running["endings"][-1] = "interrupted"

    # -- What always holds -------------------------------------------------------------------------

    @invariant()
    def rows_are_the_list(self):
        for session in self.sessions:
            self.do(in_database(self.compare, session))

    @invariant()
    def pages_are_the_rows(self):
        for tab in self.open_tabs:
            self.do(self.converge(tab))

    def compare(self, session):
        stored = Message.objects.filter(session=session, role="user").order_by("seq")
        assert [(str(message.client_id), message.text) for message in stored] == [
            (said["client_id"], said["text"]) for said in self.model[session]
        ]
        for message, said in zip(stored, self.model[session], strict=True):
            assert str(message.pk) == said["message"]
            assert list(message.attempts.order_by("attempt").values_list("status", flat=True)) == said["endings"]

    async def converge(self, tab):
        """The tab comes to show what a reload would, within the time that it has; nothing may be shown twice."""
        until = asyncio.get_running_loop().time() + PATIENCE
        while True:
            await tab.hear_all()
            stored = await in_database(rows, tab.session)
            if without_growth(tab.shown) == without_growth(stored):
                return
            assert asyncio.get_running_loop().time() < until, f"shown {tab.shown}, stored {stored}"
            await asyncio.sleep(0.02)

    def teardown(self):
        for tab in self.open_tabs:
            self.do(tab.leave())
        for session in self.sessions:
            if self.last(session, "running"):
                self.do(in_database(stopping.request_stop, self.ada, session, None))
                self.do(self.settled(session))
        assert list(invariants.check()) == []

    # -- How it is done ----------------------------------------------------------------------------

    def written(self, tab, how):
        text = f"{how} {next(self.numbers)}"
        return {"client_id": str(uuid.uuid4()), "session": tab.session, "text": text, "endings": ["running"]}

    async def sent(self, tab, message):
        await tab.say("send", **frame_of(message))
        return await tab.hear("ack", "error", client_id=message["client_id"])

    def taken(self, tab, message, frame, duplicate=False):
        """The model after the server's answer to a new message."""
        session = message["session"]
        if self.last(session, "running"):
            assert (frame["type"], frame["code"]) == ("error", "busy")
            return multiple()
        assert frame["type"] == "ack"
        assert duplicate is None or frame["duplicate"] == duplicate
        message["message"] = frame["message"]
        self.model[session].append(message)
        self.wait_if_quick(session, message)
        return message

    def wait_if_quick(self, session, message):
        if message["text"].startswith("quick"):
            self.do(self.settled(session))
            message["endings"][-1] = "complete"

    def last(self, session, ending):
        """The newest message, if its newest attempt ended so."""
        messages = self.model[session]
        return messages[-1] if messages and messages[-1]["endings"][-1] == ending else None

    async def settled(self, session):
        """No turn of the session runs, neither by its row nor in this process."""
        async with asyncio.timeout(PATIENCE):
            while any(running.turn.session_id == session for running in running_turns) or await in_database(
                Turn.objects.running().filter(session=session).exists
            ):
                await asyncio.sleep(0.01)

    async def begun(self, message, attempt):
        async with asyncio.timeout(PATIENCE):
            while not await in_database(Turn.objects.filter(prompt=message["message"], attempt=attempt).exists):
                await asyncio.sleep(0.01)

    async def die(self, session):
        for running in [running for running in running_turns if running.turn.session_id == session]:
            running.task.cancel()
            await asyncio.wait([running.task])
        await self.expire(session)

    async def expire(self, session):
        past = timezone.now() - dt.timedelta(seconds=1)
        while await in_database(Turn.objects.running().filter(session=session).exists):
            # A process that is still there may renew it in between.
            await in_database(Turn.objects.running().filter(session=session).update, lease_until=past)
            await in_database(transcript.sweep)


def frame_of(message):
    return {"client_id": message["client_id"], "session": str(message["session"]), "text": message["text"]}


def without_growth(articles):
    """A running answer is as of some moment: which one does not matter."""
    return {pk: (seq, "running" if status_of(html) == "running" else html) for pk, (seq, html) in articles.items()}


@pytest.mark.django_db(transaction=True)
def test_the_page_the_rows_and_a_plain_list_agree(ada, scripted, settings):
    settings.CHECKPOINT_SECONDS = 0.1
    scripted.default = words_for
    with asyncio.Runner() as loop:
        loop.run(llm.warm_up())  # as a process does at its start
        run(type("ProtocolOfAda", (Protocol,), {"ada": ada, "loop": loop}), settings=BOUNDS)


BOUNDS = settings(
    max_examples=6,
    phases=[Phase.generate],
    stateful_step_count=20,
    deadline=None,
    database=None,
    suppress_health_check=list(HealthCheck),
)
