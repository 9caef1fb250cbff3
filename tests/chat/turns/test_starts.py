"""What follows the end of a turn gives way to turns that start."""

import asyncio
import contextlib

import pytest

from chat.turns import starts as module
from chat.turns.starts import Starts
from tests import scripted as model
from tests.talk import Talk


async def waits(starts):
    """A task that gives way, which has begun to."""
    task = asyncio.create_task(starts.give_way())
    await asyncio.sleep(0)
    return task


async def test_without_a_start_nothing_waits():
    await asyncio.wait_for(Starts().give_way(), 0.05)


async def test_work_goes_on_after_the_last_start():
    starts = Starts()
    first, second = starts.begin(), starts.begin()
    task = await waits(starts)
    first.end()
    first.end()
    await asyncio.sleep(0)
    assert not task.done()
    second.end()
    await asyncio.wait_for(task, 0.5)


async def test_a_start_that_fails_ends():
    starts = Starts()
    with contextlib.suppress(ZeroDivisionError), starts.starting():
        task = await waits(starts)
        raise ZeroDivisionError
    await asyncio.wait_for(task, 0.5)


async def test_it_waits_no_longer_than_its_limit(monkeypatch):
    monkeypatch.setattr(module, "GIVE_WAY_MAX_SECONDS", 0.05)
    starts = Starts()
    start = starts.begin()
    await asyncio.wait_for(starts.give_way(), 1)
    start.end()
    await asyncio.wait_for(starts.give_way(), 0.05)


@pytest.mark.django_db(transaction=True)
async def test_a_turn_is_no_start_any_more_when_it_has_ended(ada, scripted):
    talk = Talk(ada, scripted)
    for reply in (model.answer("Hi."), model.bad_request("no")):
        scripted.script(reply)
        await talk.say("Hello")
        assert not module.starts.count


@pytest.mark.django_db(transaction=True)
async def test_the_receivers_of_a_turn_run_behind_the_start_of_another(ada, scripted, monkeypatch):
    ended = asyncio.Event()
    loop = asyncio.get_running_loop()
    monkeypatch.setattr("chat.turns.hooks.send_turn_finished", lambda turn: loop.call_soon_threadsafe(ended.set))
    monkeypatch.setattr(module, "GIVE_WAY_MAX_SECONDS", 30)
    scripted.script(model.answer("Hi."))
    other = module.starts.begin()
    talking = asyncio.create_task(Talk(ada, scripted).say("Hello"))
    await asyncio.sleep(1)
    assert not ended.is_set()
    other.end()
    await asyncio.wait_for(ended.wait(), 30)
    await talking
