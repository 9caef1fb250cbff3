"""Nothing that a test began uses the database after the test has ended."""

import asyncio
import logging
import time
import uuid
from concurrent.futures import ThreadPoolExecutor

import pytest

from chat.live.frames import SendFrame, frame_of
from chat.live.handle import handle
from chat.models import Turn
from oneclaw.threads import in_database
from tests import leftovers
from tests import scripted as model


@pytest.mark.django_db(transaction=True)
async def test_a_turn_that_still_runs_is_ended_and_saved(ada, scripted):
    scripted.script(model.answer(model.text(["One", " two"], pace=60)))

    async def leave_it_running():
        await handle(ada, frame_of(SendFrame, client_id=uuid.uuid4(), session=uuid.uuid4(), text="Hello"))
        while not scripted.messages:
            await asyncio.sleep(0.01)

    await leftovers.with_turns_ended(leave_it_running())
    turn = await in_database(Turn.objects.get)
    assert turn.status == "interrupted"


def test_a_call_in_a_thread_is_waited_for():
    pool = ThreadPoolExecutor(1)
    called = pool.submit(time.sleep, 0.2)
    leftovers.await_threads()
    assert called.done()


def test_a_call_that_does_not_end_fails_the_test():
    pool = ThreadPoolExecutor(1)
    called = pool.submit(time.sleep, 0.5)
    with pytest.raises(AssertionError, match="left calls running"):
        leftovers.await_threads(seconds=0)
    called.result()


def test_a_database_used_too_late_fails_the_test(db, django_db_blocker):
    with django_db_blocker.block():
        try:
            Turn.objects.first()
        except RuntimeError:
            logging.getLogger("oneclaw").exception("It could not be saved.")
    with pytest.raises(AssertionError, match=r"used the database.*could not be saved"):
        leftovers.await_threads()
    leftovers.await_threads()
