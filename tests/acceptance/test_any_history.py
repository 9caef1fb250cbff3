"""Conversations of random acts with models that sign their thinking: no request is refused, and no message is lost.

The acts are chosen by a seed, so that a failure can be repeated: each of them is an ordinary use of the product.
"""

import asyncio
import datetime as dt
import json
import logging
import random
import re
import uuid

import pytest
from django.db.models import F

from chat import extensions
from chat.attachments import store
from chat.compaction import changes, make, planning
from chat.context import file_shares
from chat.context.rounds import rounds_in_view, rounds_of_last_request
from chat.conversations import branches, forking, transcript
from chat.conversations.model_choice import Choice
from chat.extensions import Extension, Tool, ToolResult
from chat.live.publisher import TurnPublisher
from chat.models import Message, MessageMeta, Turn, default_agent
from chat.transfer import export
from chat.transfer.importing import create, own
from chat.turns import start
from chat.turns.checkpoints import checkpoints
from chat.turns.running import running_turns
from memory.documents.write import Append, Author, Source, apply
from memory.forgetting import forget
from memory.policy import switches
from oneclaw import invariants
from oneclaw.models import Space
from oneclaw.threads import in_database
from tests import conversations, files
from tests.scripted import answer, bad_request, text, thinking, tool_use
from tests.strict_api.api import StrictApi
from tests.summaries import replying
from tests.talk import MODEL, Talk

pytestmark = pytest.mark.django_db(transaction=True)

# A model that checks what stands before its thinking, one whose thinking can be turned off, one that checks nothing,
# and one that does not think.
MODELS = [MODEL, "claude-haiku-5-5", "claude-sonnet-5", "claude-opus-4-8"]
ACTS_COUNT = 14
SLOW = [" word"] * 400


def numbers_in(texts):
    """Return the numbers of the messages that end with words()."""
    return [found[1] for found in (re.search(r"Words(\d+)$", each) for each in texts) if found]


class Wanderer(Talk):
    """A person who does one thing after another, chosen by `random`."""

    def __init__(self, user, scripted, chance, models):
        super().__init__(user, scripted)
        self.random, self.models, self.told, self.lines, self.done = chance, models, 0, [], []
        self.at_call = None

    @property
    def sent(self):
        """The body of the newest request of a conversation; those of titles and summaries have plain text."""
        bodies = (request.body for request in reversed(self.scripted.messages))
        return next(body for body in bodies if isinstance(body["messages"][0]["content"], list))

    def words(self):
        self.told += 1
        return f"Words{self.told}"

    def tool(self):
        """Return a tool that does what the act wants to happen while it runs."""

        def call(call):
            act, self.at_call = self.at_call, None
            if act:
                act()
            return ToolResult("Echoed. " * self.random.choice([1, 1, 600, 2_000]), "Echoed.")

        return Tool("echo", "Returns its words.", {"type": "object"}, call)

    def calls(self):
        count = self.random.choice([1, 1, 3])
        return answer(*(tool_use("echo", {}, id=f"toolu_{uuid.uuid4().hex}") for _ in range(count)))

    async def do(self, name):
        self.done.append(name)
        await getattr(self, name)()
        await in_database(forget.finish_all)

    async def begin(self):
        await self.said(self.words())

    async def said(self, words, status="complete", **how):
        """Send words, and look at the request; `status` is how the turn ends."""
        await start.send(self.user, self.session_id, uuid.uuid4(), words, listen=TurnPublisher, **how)
        return await self.ended(status)

    async def ended(self, status="complete"):
        last = await super().ended(status)
        await self.look()
        return last

    async def look(self):
        """Check that the last request of the chat holds each shown message of the person once, and in order, after
        those that a summary replaces."""

        def sent_word_for_word():
            through = rounds_of_last_request(self.session).through_seq
            return list(self.messages().filter(role="user", seq__gt=through).values_list("text", flat=True))

        shown = await in_database(sent_word_for_word)
        if shown[-1].startswith("/"):
            return
        texts = [
            block["text"]
            for said in self.sent["messages"]
            for block in said["content"]
            if said["role"] == "user" and block["type"] == "text"
        ]
        assert numbers_in(texts) == numbers_in(shown)

    async def growing(self, ready):
        """Return the running turn, once its answer is as far as `ready` says."""
        async with asyncio.timeout(10):
            while True:
                for running in running_turns:
                    if ready(running.answer.content):
                        return running
                await asyncio.sleep(0.005)

    # -- The acts --------------------------------------------------------------------------------

    async def say(self):
        await self.said(self.words())

    async def think_in_between(self):
        blank = self.random.choice(["\n\n", "Well."])
        self.scripted.script(answer(thinking("First."), text(blank), thinking("Second."), "Words."))
        await self.said(self.words())

    async def call_tools(self):
        self.scripted.script(*(self.calls() for _ in range(self.random.choice([1, 2, 3]))))
        await self.said(self.words())

    async def say_much(self):
        await self.said(f"{'Much. ' * 500}{self.words()}")

    async def compact(self):
        def made():
            try:
                asked = planning.ask(self.session)
            except planning.NothingToCompactError:
                return
            if self.random.random() < 0.8:
                make.run(asked.pk, is_urgent=True)

        await in_database(made)
        await self.say()

    async def undo_summary(self):
        def undone():
            newest = changes.newest_used(self.session)
            if newest:
                changes.undo(self.user, self.session_id, newest.number)

        await in_database(undone)
        await self.say()

    async def correct_summary(self):
        def corrected():
            newest = rounds_in_view(self.session).compact
            if newest:
                changes.edit(self.user, self.session_id, newest.number, "They spoke of nothing.")

        await in_database(corrected)
        await self.say()

    async def pause(self):
        self.scripted.api.clock.move(4_000)
        passed = dt.timedelta(seconds=4_000)

        def earlier():
            self.messages().update(created_at=F("created_at") - passed, finished_at=F("finished_at") - passed)

        await in_database(earlier)
        await self.say()

    async def stop(self):
        kind = self.random.choice(["thinking", "signed", "text", "second", "call"])
        blocks = {
            "thinking": [thinking("Long thoughts. " * 200, pace=0.01)],
            "signed": [thinking("Short."), text(SLOW, pace=0.01)],
            "text": [text(["Half", *SLOW], pace=0.01)],
            "second": [thinking("First."), "Words.", thinking("Second."), text(SLOW, pace=0.01)],
            "call": [tool_use("echo", {}), text(SLOW, pace=0.01)],
        }[kind]
        ready = {
            "thinking": lambda content: bool(content),
            "signed": lambda content: bool(content),
            "text": lambda content: any(block["type"] == "text" for block in content),
            "second": lambda content: len(content) >= 3,
            "call": lambda content: any(block["type"] == "tool_use" for block in content),
        }[kind]
        self.done[-1] += f" {kind}"
        self.scripted.script(answer(*blocks))
        await start.send(self.user, self.session_id, uuid.uuid4(), self.words(), listen=TurnPublisher)
        (await self.growing(ready)).end("stopped")
        await self.ended("stopped")
        if self.random.random() < 0.5:
            await self.go_on()

    async def stop_during_tools(self):
        def stopped():
            for running in running_turns:
                running.end("stopped")

        self.at_call = stopped
        self.scripted.script(self.calls())
        await self.said(self.words(), "stopped")
        if self.random.random() < 0.5:
            await self.go_on()

    async def go_on(self):
        self.done[-1] += " go_on"
        await self.repeat(Turn.Kind.CONTINUE)

    async def retry(self):
        if self.random.random() < 0.5:
            self.scripted.script(self.calls())
        await self.repeat(Turn.Kind.RETRY)

    async def be_refused(self):
        await self.fail_once(lambda: self.said(self.words()))
        if self.random.random() < 0.5:
            await self.fail_once(lambda: self.repeat(Turn.Kind.RETRY))
        self.scripted.script(self.calls())
        await self.repeat(Turn.Kind.RETRY)

    async def fail_once(self, act):
        # As it is, without thinking, and as plain text.
        self.scripted.script(bad_request(), bad_request(), bad_request())
        with pytest.raises(AssertionError, match="bad_request"):
            await act()

    async def rephrase(self):
        asked = await in_database(lambda: list(self.messages().filter(role="user")))
        await self.edit(self.random.choice(asked), self.words())

    async def show(self):
        every = await in_database(lambda: list(Message.objects.filter(session=self.session_id)))
        await in_database(branches.show, self.user, self.random.choice(every).pk)
        await self.say()

    async def fork(self):
        shown = await in_database(lambda: list(self.messages().filter(role__in=("user", "assistant"))))
        made = await in_database(forking.fork, self.user, self.random.choice(shown).pk)
        self.session_id = made.pk
        await self.say()

    async def send_files(self):
        image, note = files.image((20, 20)), ("Text. " * 300).encode()
        kind = self.random.choice([("a.png", image), ("a.txt", note)])
        kept = await in_database(store.store_file, self.user, *kind)
        await self.said(self.words(), files=[kept.pk])

    async def flip_a_switch(self):
        await in_database(self.flip)
        await self.say()

    def flip(self):
        name = self.random.choice(list(switches.Switch))
        switches.choose(self.user, name, name not in switches.on_for(self.user))

    async def flip_during_tools(self):
        self.at_call = self.random.choice([self.flip, self.change_agent])
        await self.call_tools()

    def change_agent(self):
        agent = default_agent()
        agent.tools_off = [] if agent.tools_off else ["memory_get"]
        agent.save()

    async def change_tools(self):
        await in_database(self.change_agent)
        await self.say()

    def remember(self):
        self.lines.append(f"- The secret is number{self.words()}x.")
        apply(Space.objects.own_of(self.user), "MEMORY.md", Append(self.lines[-1]), Author(Source.PAGE, self.user))

    def forget_a_line(self):
        if self.lines:
            forget.forget(Space.objects.own_of(self.user), [self.lines.pop()], self.user)

    async def know_and_forget(self):
        await in_database(self.remember)
        self.session_id = uuid.uuid4()
        await self.say()
        await self.say()
        how = self.random.choice(["between", "tools", "stream"])
        self.done[-1] += f" {how}"
        if how == "tools":
            self.at_call = self.forget_a_line
            await self.call_tools()
        elif how == "stream":
            self.scripted.script(answer(text(["Half", *SLOW[:30]], pace=0.01)))
            await start.send(self.user, self.session_id, uuid.uuid4(), self.words(), listen=TurnPublisher)
            await self.growing(bool)
            await in_database(self.forget_a_line)
            await self.ended()
        await in_database(self.forget_a_line)
        await self.say()
        assert "The secret is" not in str(self.sent)

    async def command(self):
        await self.said(f"/remember {self.words()}")

    async def another_model(self):
        level = self.random.choice(["", "low", "max"])
        await self.said(self.words(), choice=Choice(model=self.random.choice(self.models), effort=level))

    async def two_tabs(self):
        words = self.words()
        first, second = uuid.uuid4(), self.random.choice([uuid.uuid4(), None])
        sending = (
            start.send(self.user, self.session_id, each, words, listen=TurnPublisher)
            for each in (first, second or first)
        )
        sent = await asyncio.gather(*sending, return_exceptions=True)
        failed = [each for each in sent if isinstance(each, Exception)]
        assert [type(each) for each in failed] == ([transcript.SessionBusyError] if second else [])
        await self.ended()

    async def be_temporary(self):
        self.session_id = uuid.uuid4()
        await self.said(self.words(), mode="temporary")

    async def die(self):
        """The process dies while it answers, or after tools ran and before their results are stored."""
        self.scripted.script(self.calls(), answer(text(SLOW, pace=0.01)))
        await start.send(self.user, self.session_id, uuid.uuid4(), self.words(), listen=TurnPublisher)
        running = await self.growing(lambda content: any(block["type"] == "text" for block in content))
        await checkpoints.save()
        running.end("lost")
        await self.swept()

    async def die_after_tools(self):
        finish = transcript.finish_tools

        def lost(*arguments):
            raise transcript.LeaseLostError

        transcript.finish_tools = lost
        try:
            self.scripted.script(self.calls())
            await start.send(self.user, self.session_id, uuid.uuid4(), self.words(), listen=TurnPublisher)
            await self.swept()
        finally:
            transcript.finish_tools = finish

    async def swept(self):
        async with asyncio.timeout(10):
            while running_turns:
                await asyncio.sleep(0.005)
        await in_database(lambda: conversations.abandon(Turn.objects.filter(session=self.session_id).latest("pk")))
        assert await in_database(transcript.sweep) == 1
        await self.repeat(self.random.choice([Turn.Kind.CONTINUE, Turn.Kind.RETRY]))

    async def take_along(self):
        def taken():
            value = json.loads("".join(export.as_json(self.session)))
            value |= {"id": str(uuid.uuid4()), "origin": ""}
            return create.create_session(self.user, own.conversation(value))

        self.session_id = (await in_database(taken)).pk
        await self.say()

    async def upgrade(self):
        """The conversation is from before heads were kept."""

        def before():
            session = self.session
            session.heads.update(tools=None)
            session.thinking_after_seq = session.last_seq
            session.save(update_fields=["thinking_after_seq"])

        await in_database(before)
        await self.say()

    async def be_cut(self):
        self.scripted.script(answer(thinking("Long."), "Half of", stop_reason="max_tokens"))
        await self.said(self.words())
        await self.go_on()


ACTS = [
    "say",
    "say_much",
    "say_much",
    "compact",
    "compact",
    "undo_summary",
    "correct_summary",
    "pause",
    "think_in_between",
    "call_tools",
    "stop",
    "stop",
    "stop_during_tools",
    "retry",
    "be_refused",
    "rephrase",
    "show",
    "fork",
    "send_files",
    "flip_a_switch",
    "flip_during_tools",
    "change_tools",
    "know_and_forget",
    "command",
    "another_model",
    "two_tabs",
    "be_temporary",
    "die",
    "die_after_tools",
    "take_along",
    "upgrade",
    "be_cut",
]


async def wander(ada, scripted, settings, seed, models):
    settings.MODEL, settings.MODELS = models[0], {name: name for name in models}
    settings.CONTEXT = 12_000 if seed % 2 else 200_000
    scripted.default = replying("Hello.")
    person = Wanderer(ada, scripted, random.Random(seed), models)
    extension = extensions.register(Extension("echo", tools=[person.tool()]))
    try:
        await person.begin()
        for _ in range(ACTS_COUNT):
            await person.do(person.random.choice(ACTS))
        found = await in_database(lambda: list(invariants.check()))
        assert found == []
        metas = await in_database(lambda: list(Message.objects.values_list("meta", flat=True)))
        assert {key for meta in metas for key in meta} <= MessageMeta.__annotations__.keys()
    except BaseException:
        print("\n".join(person.done))
        raise
    finally:
        extensions.unregister(extension)


@pytest.fixture
def quiet(caplog, monkeypatch):
    monkeypatch.setattr(file_shares, "REQUEST_MAX_FILES", 3)
    yield
    logged = [record.getMessage() for record in caplog.get_records("call") if record.levelno >= logging.ERROR]
    assert logged == []


@pytest.mark.parametrize("seed", range(5))
async def test_any_history_on_a_strict_server(ada, scripted, settings, quiet, seed):
    await wander(ada, scripted, settings, seed, MODELS)


@pytest.mark.parametrize("seed", range(2))
async def test_any_history_on_a_server_of_the_plain_messages_api(ada, scripted, settings, quiet, seed):
    scripted.api = StrictApi(plain=True)
    await wander(ada, scripted, settings, seed, ["some-model", "another-model"])
