"""How many turns ask the model at once, and who is next."""

import asyncio
import contextlib
import threading
import uuid

import pytest

from chat.live.frames import RetryFrame, SendFrame, StopFrame, frame_of
from chat.live.handle import handle
from chat.live.outbox import Outbox
from chat.live.rooms import room_of
from chat.models import ChatSession, Message, Turn
from chat.signals import turn_finished
from chat.turns import running as turns
from chat.turns import slots
from chat.turns.slots import TooManyTurnsError, TurnSlots
from oneclaw.threads import in_database
from tests import scripted as model

# -- Who is next ---------------------------------------------------------------------------------


class Line:
    """Turns that take slots; `running` has those that have one, in the order in which they got it."""

    def __init__(self):
        self.slots, self.running, self.tasks = TurnSlots(), [], {}

    async def begin(self, *names):
        """Each name is that of a person and a number, such as 1a."""
        for name in names:
            self.tasks[name] = asyncio.create_task(self._take(name))
            await asyncio.sleep(0)

    async def _take(self, name):
        await self.slots.take(int(name[0]))
        self.running.append(name)

    async def end(self, name):
        self.running.remove(name)
        self.slots.release(int(name[0]))
        await asyncio.sleep(0)

    async def stop(self, name):
        self.tasks[name].cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await self.tasks[name]


@pytest.fixture
def line(settings):
    settings.PERSON_TURNS, settings.UPSTREAM_STREAMS = 2, 3
    return Line()


async def test_one_person_has_so_many_and_the_next_gets_what_becomes_free(line):
    await line.begin("1a", "1b", "1c")
    assert line.running == ["1a", "1b"]
    await line.end("1a")
    assert line.running == ["1b", "1c"]


async def test_of_many_who_wait_each_person_is_served_in_turn(line):
    await line.begin("1a", "1b", "2a", "1c", "1d", "2b", "2c", "3a")
    assert line.running == ["1a", "1b", "2a"]
    await line.end("1a")
    # Nobody waits for all that the first person began before.
    assert line.running == ["1b", "2a", "3a"]
    await line.end("1b")
    await line.end("2a")
    assert line.running == ["3a", "1c", "2b"]
    for name in ("3a", "1c", "2b"):
        await line.end(name)
    assert sorted(line.running) == ["1d", "2c"]


async def test_who_stops_while_they_wait_leaves_the_line(line):
    await line.begin("1a", "1b", "1c", "1d")
    await line.stop("1c")
    await line.end("1a")
    assert line.running == ["1b", "1d"]
    await line.end("1b")
    await line.end("1d")
    assert line.slots.is_free(1)


async def test_a_slot_that_is_given_to_a_turn_that_stops_at_that_moment_is_not_lost(line):
    await line.begin("1a", "1b", "1c", "1d")
    line.slots.release(1)
    await line.stop("1c")
    await asyncio.sleep(0)
    assert line.running == ["1a", "1b", "1d"]


# -- Turns ---------------------------------------------------------------------------------------


@pytest.fixture
def held(scripted, settings):
    """One slot for each person; the answers of the model go on until held.set()."""
    settings.PERSON_TURNS = 1
    free = threading.Event()

    def words():
        # Also an answer that begins when all may go on says something: one without words is asked for again.
        yield "More. "
        while not free.is_set():
            yield "More. "

    scripted.default = lambda body: model.answer(model.text(words(), pace=0.05))
    yield free
    free.set()


async def begun(user, session=None, client_id=None):
    frame = frame_of(SendFrame, client_id=client_id or uuid.uuid4(), session=session or uuid.uuid4(), text="Hello")
    return (await handle(user, frame)).message


async def until(happened):
    async with asyncio.timeout(10):
        while not await happened():
            await asyncio.sleep(0.02)


async def asked(scripted, count):
    async def enough():
        return len(scripted.messages) == count

    await until(enough)


async def statuses():
    return await in_database(lambda: list(Turn.objects.order_by("pk").values_list("status", flat=True)))


class Heard(Outbox):
    """An outbox that keeps what a room says."""

    def __init__(self, user, session):
        super().__init__(user.pk)
        self.said = []
        self.room = room_of(user.pk, session)
        self.room.outboxes.add(self)

    def put(self, text, key=None):
        self.said.append(text)

    def put_together(self, texts):
        self.said += [text for text, _ in texts]

    def waits(self):
        return [text for text in self.said if isinstance(text, str) and '"waiting"' in text]


@pytest.mark.django_db(transaction=True)
async def test_a_turn_that_waits_says_so_and_begins_when_another_one_has_ended(ada, stranger, scripted, held):
    session = uuid.uuid4()
    heard = Heard(ada, session)
    await begun(ada)
    await asked(scripted, 1)
    await begun(ada, session)
    await begun(stranger)
    # The stranger does not wait for Ada's.
    await asked(scripted, 2)

    async def says():
        return len(heard.waits()) == 1

    await until(says)
    assert "Yours begins as soon as" in heard.waits()[0]
    assert any(frame.get("kind") == "waiting" for frame in heard.room.with_growing([]))
    held.set()

    async def all_done():
        return await statuses() == ["complete"] * 3

    await until(all_done)
    assert '"html":""' in heard.waits()[1]
    heard.room.leave(heard)


@pytest.mark.django_db(transaction=True)
async def test_what_is_forgotten_while_a_turn_waits_is_not_sent(ada, scripted, held):
    await begun(ada)
    await asked(scripted, 1)
    waiting = await begun(ada)
    kept = {"text": "[forgotten]", "content": [{"type": "text", "text": "[forgotten]"}]}
    await in_database(lambda: Message.objects.filter(pk=waiting.pk).update(**kept))
    held.set()
    await asked(scripted, 2)
    assert "[forgotten]" in str(scripted.messages[1].body["messages"])
    assert "Hello" not in str(scripted.messages[1].body["messages"])


@pytest.mark.django_db(transaction=True)
async def test_the_next_turn_does_not_wait_for_the_receivers_of_an_end(ada, scripted, settings):
    settings.PERSON_TURNS = 1
    seen, free = threading.Event(), threading.Event()

    def slow(**_):
        seen.set()
        free.wait(20)

    turn_finished.connect(slow, dispatch_uid="slow")
    try:
        await begun(ada)
        await until(lambda: in_database(seen.is_set))
        assert await statuses() == ["complete"]
        await begun(ada)

        async def both_ended():
            return await statuses() == ["complete"] * 2

        await until(both_ended)
        assert not free.is_set()
    finally:
        free.set()
        turn_finished.disconnect(dispatch_uid="slow")


@pytest.mark.django_db(transaction=True)
async def test_stop_ends_a_turn_that_waits_at_once(ada, scripted, held):
    await begun(ada)
    await asked(scripted, 1)
    waiting = await begun(ada)
    await handle(ada, frame_of(StopFrame, message=str(waiting.pk)))

    async def stopped():
        return await statuses() == ["running", "stopped"]

    await until(stopped)
    assert len(scripted.messages) == 1


@pytest.mark.django_db(transaction=True)
async def test_the_time_of_a_turn_begins_with_its_slot(ada, scripted, held, settings):
    first = await begun(ada)
    await asked(scripted, 1)
    settings.TURN_TIMEOUT = 0.5
    await begun(ada)
    await asyncio.sleep(0.7)
    settings.TURN_TIMEOUT = 20
    assert await statuses() == ["running", "running"]
    await handle(ada, frame_of(StopFrame, message=str(first.pk)))
    await asked(scripted, 2)


@pytest.mark.django_db(transaction=True)
async def test_turns_that_wait_end_with_the_process_and_keep_their_lease_until_then(ada, scripted, held, settings):
    settings.CHECKPOINT_SECONDS = 0.1
    await begun(ada)
    await begun(ada)
    await asked(scripted, 1)
    lease = await in_database(lambda: Turn.objects.order_by("pk").last().lease_until)

    async def renewed():
        return await in_database(lambda: Turn.objects.order_by("pk").last().lease_until) > lease

    await until(renewed)
    await turns.shutdown()
    assert await statuses() == ["interrupted", "interrupted"]


@pytest.mark.django_db(transaction=True)
async def test_only_so_many_may_wait_and_what_is_stored_is_said_again(ada, scripted, held, monkeypatch):
    monkeypatch.setattr(slots, "WAITING_FACTOR", 1)
    await begun(ada)
    await asked(scripted, 1)
    client_id = uuid.uuid4()
    waiting = await begun(ada, client_id=client_id)
    await until(lambda: in_database(lambda: bool(slots.turn_slots._waiting)))
    with pytest.raises(TooManyTurnsError):
        await begun(ada)
    assert await begun(ada, waiting.session_id, client_id) == waiting
    answer = await in_database(Message.objects.filter(role="assistant").first)
    with pytest.raises(TooManyTurnsError):
        await handle(ada, frame_of(RetryFrame, type="retry", message=str(answer.pk)))
    assert await in_database(ChatSession.objects.count) == 2
