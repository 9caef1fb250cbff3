"""What bounds a turn: rounds of tools, time, size, and Stop however it arrives."""

import asyncio
import threading
import time
import uuid

import pytest
from asgiref.sync import sync_to_async
from django.db import connection

from chat import extensions
from chat.context import notices
from chat.extensions import Extension, Tool, ToolResult
from chat.live.frames import SendFrame, frame_of
from chat.live.handle import handle
from chat.models import Message, Turn
from chat.rendering import messages
from chat.rendering.shown import ShownMessage
from chat.turns import running as turns
from oneclaw import invariants
from oneclaw.llm import events
from oneclaw.llm.transport import sse
from oneclaw.reasons import Reason
from oneclaw.threads import in_database
from tests import scripted as model

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def noted():
    """What the tool `note` was called with."""
    calls = []

    def note(call):
        calls.append(call.input)
        return ToolResult("Noted.", "Noted.")

    extension = extensions.register(Extension("notes", tools=[Tool("note", "Notes.", {"type": "object"}, note)]))
    yield calls
    extensions.unregister(extension)


def slowly():
    return model.answer(model.text(["One."] + [" more"] * 100, pace=0.1))


async def begun(ada):
    """A turn that this process runs."""
    await handle(ada, frame_of(SendFrame, client_id=uuid.uuid4(), session=uuid.uuid4(), text="Hello"))
    (running,) = turns.running_turns
    return running


async def ended(running, seconds=5):
    """The turn and its last answer, once this process has ended it; that the database is sound."""
    async with asyncio.timeout(seconds):
        while running in turns.running_turns:
            await asyncio.sleep(0.01)

    def stored():
        assert list(invariants.check()) == []
        turn = Turn.objects.get(pk=running.turn.pk)
        return turn, turn.messages.select_related("turn").order_by("seq").last()

    return await in_database(stored)


def last_said(turn):
    return turn.messages.select_related("turn").filter(role="assistant").order_by("seq").last()


def offers(answer):
    """(the sentence is shown, Continue is offered)"""
    html = messages.messages_html([ShownMessage(answer)], {})
    return str(answer.turn.error) in html, 'data-action="continue"' in html


async def test_a_turn_has_at_most_eight_rounds_of_tools_and_then_must_answer(ada, scripted, noted):
    def eager(body):
        asked = [block.get("text") for block in body["messages"][-1]["content"]]
        return (
            model.answer("Enough.")
            if notices.ANSWER_NOW["text"] in asked
            else model.answer(model.tool_use("note", {"n": len(noted)}))
        )

    scripted.default = eager
    turn, answer = await ended(await begun(ada), 20)
    assert (turn.status, answer.text) == ("complete", "Enough.")
    assert (len(noted), len(scripted.messages)) == (8, 9)


async def test_two_calls_with_one_id_each_get_a_result(ada, scripted, noted):
    twice = [model.tool_use("note", {"n": number}, id="call_1") for number in (1, 2)]
    scripted.script(model.answer(*twice), model.answer("Both noted."))
    turn, answer = await ended(await begun(ada))
    assert (turn.status, answer.text) == ("complete", "Both noted.")
    assert noted == [{"n": 1}, {"n": 2}]
    blocks = [block for message in scripted.messages[-1].body["messages"] for block in message["content"]]
    ids = [block["id"] for block in blocks if block["type"] == "tool_use"]
    assert len(set(ids)) == 2
    assert [block["tool_use_id"] for block in blocks if block["type"] == "tool_result"] == ids


async def test_a_model_that_calls_tools_when_it_must_not_is_ended_and_they_are_not_run(ada, scripted, noted, settings):
    settings.TOOL_ROUNDS = 1
    scripted.default = lambda body: model.answer(model.tool_use("note", {}))
    turn, _ = await ended(await begun(ada))
    assert (turn.status, turn.error_code) == ("failed", "only_tools")
    assert len(noted) == 1
    # What was found is kept, and can be gone on from.
    assert [each.body.get("tool_choice") for each in scripted.messages] == [None, {"type": "none"}]
    assert offers(await in_database(last_said, turn)) == (True, True)


async def test_a_turn_that_takes_too_long_is_ended_with_what_came_and_says_so(ada, scripted, settings):
    settings.TURN_TIMEOUT = 1.5
    scripted.script(slowly())
    turn, answer = await ended(await begun(ada))
    assert (turn.status, turn.error_code) == ("failed", "took_too_long")
    assert turn.error == Reason("model.took_too_long")
    assert answer.text.startswith("One.")
    assert offers(answer) == (True, True)


@pytest.mark.parametrize("moment", [0.45, 0.55])
async def test_stop_at_the_moment_of_the_time_limit_ends_the_turn_at_once(ada, scripted, settings, moment):
    settings.TURN_TIMEOUT = 0.5
    scripted.script(slowly())
    running = await begun(ada)
    loop = asyncio.get_running_loop()
    loop.call_later(moment, running.end, "stopped")
    # Both become due while the loop is busy, and so come in one go.
    loop.call_later(0.35, time.sleep, 0.3)
    turn, answer = await ended(running)
    assert (turn.status, answer.status) == ("stopped", "stopped")


async def test_stop_whose_hint_is_lost_is_seen_by_the_next_checkpoint(ada, scripted, settings):
    settings.CHECKPOINT_SECONDS = 0.1
    scripted.script(slowly())
    running = await begun(ada)
    await in_database(Turn.objects.update, stop_requested=True)
    turn, _ = await ended(running, 2)
    assert turn.status == "stopped"


async def test_an_answer_that_grows_too_large_is_ended_with_what_came_and_says_so(ada, scripted, monkeypatch):
    # The signature of thinking counts as well.
    monkeypatch.setattr(events, "ANSWER_MAX_CHARS", 1000)
    scripted.script(model.answer("Many words. " * 100))
    turn, answer = await ended(await begun(ada))
    assert (turn.status, turn.error_code) == ("failed", "answer_too_large")
    assert 500 < len(answer.text) <= 1000
    assert offers(answer) == (True, True)


async def test_one_event_that_is_too_large_ends_the_answer_with_what_came_before(ada, scripted, monkeypatch):
    monkeypatch.setattr(sse, "EVENT_MAX_BYTES", 1000)
    scripted.script(model.answer(model.text(["Some words.", "x" * 2000])))
    turn, answer = await ended(await begun(ada))
    assert (turn.status, turn.error_code) == ("failed", "answer_too_large")
    assert answer.text == "Some words."


@pytest.mark.parametrize("block", [model.tool_use("note", {"words": "x" * 300}), model.thinking("Hm. " * 100)])
async def test_arguments_and_thinking_count_as_the_answer(ada, scripted, noted, monkeypatch, block):
    monkeypatch.setattr(events, "ANSWER_MAX_CHARS", 200)
    scripted.script(model.answer(block))
    turn, _ = await ended(await begun(ada))
    assert (turn.status, turn.error_code) == ("failed", "answer_too_large")
    assert not noted


async def test_answers_are_saved_and_leases_renewed_while_everybody_else_waits(ada, scripted, settings):
    settings.CHECKPOINT_SECONDS = 0.1
    scripted.script(slowly())
    free = threading.Event()

    def wait():
        with connection.cursor():
            assert free.wait(20)

    running = await begun(ada)
    await grown(running)
    waiting = [asyncio.create_task(in_database(wait)) for _ in range(settings.DATABASE_POOL + 2)]
    await asyncio.sleep(0.3)
    await grown(running, *await sync_to_async(stored)(running))
    assert not any(task.done() for task in waiting)
    free.set()
    await asyncio.gather(*waiting)
    running.end("stopped")
    await ended(running)


async def grown(running, until=None, words=""):
    """Wait until more than `words` are stored, and the turn is held for longer than `until`.

    A checkpoint writes the two one after the other, so each may be seen without the other.
    """
    async with asyncio.timeout(15):
        while True:
            later, now = await sync_to_async(stored)(running)
            if len(now) > len(words) and (until is None or later > until):
                return
            await asyncio.sleep(0.05)


def stored(running):
    """Until when the turn is held, and its words."""
    return Turn.objects.get(pk=running.turn.pk).lease_until, Message.objects.get(role="assistant").text
