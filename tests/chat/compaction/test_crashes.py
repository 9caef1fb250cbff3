"""A process that dies at any step of a round leaves one of two views, and another one goes on where it was.

The steps are the statements of the database; before and after each request to the model there is one.
"""

import asyncio
import contextlib
import datetime as dt
import uuid

import pytest
from django.conf import settings
from django.utils import timezone

from chat.compaction import make, planning
from chat.compaction.summaries import PART_MAX_CHARS, parts_of
from chat.context.prompt import api_messages, rows_of
from chat.context.rounds import rounds_in_view
from chat.conversations import transcript
from chat.models import ChatSession, ContextRound, Message, Turn, default_agent
from chat.turns import start
from chat.turns.listener import TurnListener
from chat.turns.running import running_turns
from oneclaw import invariants, llm
from oneclaw.llm.server import server_hash
from oneclaw.models import ModelFacts
from oneclaw.threads import in_database
from tests.crashes import Crash, ProcessDiedError
from tests.scripted import answer, text
from tests.summaries import is_summary, summary
from tests.talk import MODEL, Talk

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.soak]

WORDS = "Tell me more about the ferries between the islands, and which of them leave in the evening. " * 40
PARTS_COUNT = 5
TURNS_COUNT = 6


@pytest.fixture
def stage(ada, scripted, settings):
    """A model whose fast sister reads a conversation in PARTS_COUNT parts, and whose own server makes no summaries."""
    settings.MODEL, settings.CONTEXT, settings.TITLES, settings.COMPACTION_BY = MODEL, 12_000, False, "model"
    ModelFacts.objects.create(server=server_hash(), model=settings.FAST_MODEL, window=2_500, seen_at=timezone.now())
    scripted.default = lambda body: answer(text(summary("They talked."))) if is_summary(body) else answer("Fine.")
    return scripted


def conversation(owner):
    """Return a temporary conversation, of which nothing is noted, that has filled its window."""
    session = ChatSession.objects.create(key=str(uuid.uuid4()), owner=owner, agent=default_agent(), mode="temporary")
    now = timezone.now()
    for number in range(TURNS_COUNT):
        content = [{"type": "text", "text": f"{number}. {WORDS}"}]
        usage = {"input_tokens": 1_600 * (number + 1), "output_tokens": 10}
        asked = Message(session=session, seq=2 * number + 1, role="user", content=content, text=content[0]["text"])
        said = Message(
            session=session, seq=2 * number + 2, role="assistant", content=[{"type": "text", "text": "Fine."}]
        )
        said.text, said.usage, said.model, said.finished_at = "Fine.", usage, MODEL, now
        asked.parent = session.messages.last()
        asked.save()
        said.parent = asked
        said.save()
    session.last_seq = 2 * TURNS_COUNT
    session.save()
    return session


def summaries_asked(scripted):
    return sum(is_summary(each.body) for each in scripted.messages)


def parts_read(lost):
    """Return how many parts of what a round summarises are finished."""
    if not lost.steps:
        return 0
    said = make.work_of(lost).said
    parts = parts_of(said, llm.prompt_chars(settings.FAST_MODEL, PART_MAX_CHARS))
    return [sum(map(len, parts[:count])) for count in range(len(parts))].index(lost.steps[0])


def expire_leases():
    """Let so much time pass that what a dead process held is free."""
    past = timezone.now() - dt.timedelta(seconds=1)
    Turn.objects.running().update(lease_until=past)
    ContextRound.objects.running().update(lease_until=past)
    ContextRound.objects.queued().update(due_at=past)


def work():
    """Do what the sweep and the workers do."""
    transcript.sweep()
    for pk in ContextRound.objects.due_ids():
        make.run(pk)


# -- In a worker ---------------------------------------------------------------------------------


def test_a_worker_that_dies_at_any_step_is_replaced_by_one_that_goes_on(ada, stage):
    session = conversation(ada)
    before = api_messages(session)
    with Crash()() as whole:
        make.run(planning.plan(session, "threshold").pk)
    assert summaries_asked(stage) == PARTS_COUNT
    (made,) = ContextRound.objects.all()
    assert (made.status, made.maker) == ("done", "model")
    for step in range(1, whole.count + 1):
        ContextRound.objects.all().delete()
        with Crash(step)():
            make.run(planning.plan(session, "threshold").pk)
        planning.plan(session, "threshold")
        (lost,) = ContextRound.objects.all()
        stored, asked = parts_read(lost), summaries_asked(stage)
        assert api_messages(session) == before
        expire_leases()
        work()
        (found,) = ContextRound.objects.all()
        assert (found.status, found.summary, found.text, found.steps) == ("done", made.summary, made.text, [])
        # A part that was stored is not asked for again, nor one of a round that was finished.
        assert summaries_asked(stage) - asked == (0 if lost.status == "done" else PARTS_COUNT - stored)
    assert whole.count >= 15


# -- In the turn that needs it -------------------------------------------------------------------


class Gone(TurnListener):
    """The page of nobody."""

    def __getattribute__(self, name):
        return lambda *arguments, **named: None


async def send_and_die(talk, words, crash):
    """Send a message and run its turn to its end, or to the death of its process."""
    with crash():
        with contextlib.suppress(ProcessDiedError):
            await start.send(talk.user, talk.session_id, uuid.uuid4(), words, listen=lambda running: Gone())
        async with asyncio.timeout(20):
            while running_turns:
                await asyncio.sleep(0.002)
        await crash.threads_ended()


async def crash_in_turn(ada, stage, step, ready):
    """Let a turn that needs a round die at its statement `step`; return the crash."""
    session = await in_database(conversation, ada)
    talk = Talk(ada, stage)
    talk.session_id = session.pk
    if ready:
        planned = await in_database(planning.plan, session, "threshold")
        await in_database(make.run, planned.pk)
    before = await in_database(api_messages, session)
    crash = Crash(step)
    await send_and_die(talk, "And now?", crash)
    await in_database(expire_leases)
    await in_database(work)
    await in_database(check_view, session, before)
    # The person asks again.
    last = await in_database(lambda: talk.messages().last())
    if last.seq == 2 * TURNS_COUNT:
        await talk.say("And now?")
    elif last.status != "complete":
        await talk.repeat(Turn.Kind.RETRY)
    await in_database(check_ended, talk, session)
    return crash


def check_view(session, before):
    """Check that the conversation is sent whole, or with the one summary in place of what it covers."""
    session.refresh_from_db()
    rounds = rounds_in_view(session)
    sent = api_messages(session)
    kept = [row.seq for row in rows_of(session, rounds.through_seq)]
    shown = list(session.messages.shown().finished().values_list("seq", flat=True))
    assert kept == [seq for seq in shown if seq > rounds.through_seq]
    if rounds.compact is None:
        assert sent[: len(before)] == before
    else:
        assert sent[0]["content"][0]["text"] == rounds.compact.text


def check_ended(talk, session):
    """Check that the answer came with a summary, once, and that nothing waits."""
    texts = list(session.messages.shown().filter(role="user").values_list("text", flat=True))
    assert texts == [*(f"{number}. {WORDS}" for number in range(TURNS_COUNT)), "And now?"]
    assert str(talk.sent["messages"]).count("And now?") == 1
    assert "They talked." in str(talk.sent["messages"])
    assert session.context_rounds.filter(status="done").exclude(used_at=None).count() == 1
    assert not session.context_rounds.open().exists()
    assert [problem for problem in invariants.check() if "round" in str(problem)] == []


async def steps_of_a_turn(ada, stage, ready):
    crash = await crash_in_turn(ada, stage, 100_000, ready)
    return crash.count


@pytest.mark.parametrize("ready", [False, True], ids=["makes room itself", "uses a round that is ready"])
async def test_a_turn_that_dies_at_any_step_leaves_a_legal_view_and_is_answered_later(ada, stage, ready):
    count = await steps_of_a_turn(ada, stage, ready)
    assert count >= 20
    asked = summaries_asked(stage)
    steps = range(1, count + 1, 1 if not ready else 2)
    for step in steps:
        await crash_in_turn(ada, stage, step, ready)
    # Each conversation has one summary; at most one part of each was asked for twice.
    assert summaries_asked(stage) - asked <= len(steps) * (PARTS_COUNT + 1)
