"""What a process has read of a call is stored by whoever ends its turn, once, also when the process was only slow."""

import asyncio
import datetime as dt
import uuid

import pytest
from asgiref.sync import async_to_sync
from django.db import OperationalError
from django.utils import timezone

from chat import tasks
from chat.conversations import retention, transcript
from chat.conversations.payers import payer_of_answers
from chat.live.frames import SendFrame, frame_of
from chat.live.handle import handle
from chat.models import ChatSession, Message, Turn
from chat.schedules import ask
from chat.turns.checkpoints import Lease, checkpoints, renew
from chat.turns.rounds import Rounds
from chat.turns.running import running_turns
from oneclaw.models import Budget, Space, Spend, User
from oneclaw.spend import calls
from oneclaw.spend.budgets import states_of
from oneclaw.spend.calls import Payer, Spending
from oneclaw.spend.unstored import unstored as json_of
from oneclaw.threads import in_database
from tests import scripted as model
from tests.conversations import TOOL_USE, abandon, send

pytestmark = pytest.mark.django_db(transaction=True)

USAGE = {"input_tokens": 10, "output_tokens": 1, "cache_read_input_tokens": 100, "cache_creation_input_tokens": 7}
COLUMNS = ("input_tokens", "output_tokens", "cached_tokens", "written_tokens")


@pytest.fixture(autouse=True)
def by_hand(settings):
    """Checkpoints are those of the test."""
    settings.CHECKPOINT_SECONDS = 60


def read(accepted, usage=USAGE, name="claude-test"):
    """What the process of this turn has read, and saved by a checkpoint."""
    spending = Spending(Payer(Spend.Purpose.ANSWER, accepted.message.session.owner_id, accepted.message.session_id))
    spending.note(uuid.uuid4(), name, usage)
    assert renew([Lease.of(accepted.turn, spending)]) == {accepted.turn.pk: False}
    return spending


def tokens():
    return [tuple(row) for row in Spend.objects.order_by("at", "pk").values_list(*COLUMNS)]


def told(scripted):
    """What the server has said in all."""
    names = ("input_tokens", "output_tokens", "cache_read_input_tokens", "cache_creation_input_tokens")
    return [sum(request.usage.get(name) or 0 for request in scripted.messages) for name in names]


async def growing(ada, scripted, *replies):
    """A turn of this process whose answer has begun."""
    scripted.script(*replies)
    await handle(ada, frame_of(SendFrame, client_id=uuid.uuid4(), session=uuid.uuid4(), text="And?"))
    (running,) = running_turns
    async with asyncio.timeout(20):
        while not running.answer.text:
            await asyncio.sleep(0.01)
    return running


async def test_a_checkpoint_saves_what_was_read_and_the_sweep_stores_it(ada, scripted):
    running = await growing(ada, scripted, model.stalled(model.answer("Well. And more."), after="Well."))
    await checkpoints.save()
    await in_database(abandon, running.turn)
    assert await in_database(transcript.sweep) == 1
    row = await in_database(Spend.objects.get)
    assert [getattr(row, column) for column in COLUMNS] == told(scripted)
    assert row.tokens > 0
    assert (row.user_id, row.session_id, row.purpose) == (ada.pk, running.turn.session_id, "answer")
    assert row.is_whole is False
    # The process was only slow.
    await checkpoints.save()
    await asyncio.wait([running.task], timeout=20)
    assert await in_database(Spend.objects.get) == row
    assert await in_database(Turn.objects.filter(unstored_calls__isnull=False).count) == 0


async def test_a_slow_process_adds_only_what_it_has_read_since(ada, scripted):
    running = await growing(ada, scripted, model.answer(model.text(["Well.", " And", " more", " words."], pace=0.3)))
    await checkpoints.save()
    await in_database(abandon, running.turn)
    await in_database(transcript.sweep)
    # Nobody tells it before its answer has ended.
    await asyncio.wait([running.task], timeout=20)
    rows = await in_database(tokens)
    assert len(rows) == 2
    assert [sum(column) for column in zip(*rows, strict=True)] == told(scripted)


async def test_a_finished_round_is_stored_once(ada, scripted):
    calls = model.answer("Well.", model.tool_use("memory_search", {"query": "tea"}))
    running = await growing(ada, scripted, calls, model.stalled(model.answer("Tea. And more."), after="Tea."))
    while "Tea." not in running.answer.text:
        await asyncio.sleep(0.01)
    await checkpoints.save()
    await in_database(abandon, running.turn)
    await in_database(transcript.sweep)
    rows = await in_database(tokens)
    assert len(rows) == 2
    assert [sum(column) for column in zip(*rows, strict=True)] == told(scripted)
    await checkpoints.save()
    await asyncio.wait([running.task], timeout=20)


def test_a_late_checkpoint_of_a_stored_call_doubles_nothing(ada):
    accepted = send(ada)
    spending = Spending(Payer(Spend.Purpose.ANSWER, ada.pk))
    call = uuid.uuid4()
    spending.note(call, "m", USAGE)
    late = Lease.of(accepted.turn, spending)
    spending.add("m", {**USAGE, "output_tokens": 50}, call_id=call)
    transcript.finish_round(accepted.turn, accepted.answer, [TOOL_USE], spending.rows)
    renew([late])
    abandon(accepted.turn)
    transcript.sweep()
    assert tokens() == [(10, 50, 100, 7)]


def test_the_end_of_a_turn_leaves_nothing_to_store(ada):
    accepted = send(ada)
    spending = read(accepted)
    transcript.finish_turn(accepted.turn, accepted.answer, [], "stopped", spending.rows)
    assert renew([Lease.of(accepted.turn, spending)]) == {}
    assert not Turn.objects.filter(unstored_calls__isnull=False).exists()
    tasks.sweep()
    assert tokens() == [(10, 1, 100, 7)]


def test_the_next_message_stores_what_a_dead_process_had_read_at_the_price_and_the_time_of_then(ada, settings):
    settings.PRICES = {"claude": (2.0, 10.0, 0.2, 2.5)}
    accepted = send(ada)
    spending = read(accepted)
    settings.PRICES = {}
    last_seen = timezone.now() - dt.timedelta(hours=3)
    Turn.objects.update(lease_until=last_seen)
    send(ada, session_id=accepted.message.session_id)
    row = Spend.objects.get()
    assert (row.pk, row.price, row.cost) == (spending.rows[0].pk, spending.rows[0].price, spending.rows[0].cost)
    assert row.cost > 0
    assert row.at == last_seen


def test_it_counts_in_budgets(ada):
    Budget.objects.create(user=ada, period="month", max_tokens=118)
    accepted = send(ada)
    read(accepted)
    abandon(accepted.turn)
    transcript.sweep()
    assert [state.is_used_up for state in states_of(ada)] == [True]


def test_what_an_earlier_release_ends_without_it_is_stored_by_the_next_sweep(ada):
    accepted = send(ada)
    read(accepted)
    Turn.objects.update(status="interrupted", finished_at=timezone.now())
    Message.objects.filter(status="running").update(status="interrupted", finished_at=timezone.now())
    tasks.sweep()
    tasks.sweep()
    assert tokens() == [(10, 1, 100, 7)]
    assert not Turn.objects.filter(unstored_calls__isnull=False).exists()


def test_calls_as_a_later_release_may_write_them_keep_no_turn_from_being_ended(ada, caplog):
    accepted = send(ada)
    good = json_of(read(accepted).rows)[0]
    rubbish = [{}, "call", {**good, "id": "x"}, {**good, "tokens": [1]}, {**good, "price": ["much"] * 4}]
    Turn.objects.update(unstored_calls=[*rubbish, {**good, "speed": "fast"}])
    abandon(accepted.turn)
    assert transcript.sweep() == 1
    assert tokens() == [(10, 1, 100, 7)]
    assert caplog.text.count("another release has written it") == len(rubbish)


def test_a_rest_is_stored_although_the_database_was_away_in_between(ada, monkeypatch):
    accepted = send(ada)
    spending = read(accepted)
    abandon(accepted.turn)
    transcript.sweep()
    spending.add("claude-test", {**USAGE, "output_tokens": 50}, call_id=spending.rows[0].pk)
    rest_of = calls._rest_of

    def away(*given):
        raise OperationalError

    monkeypatch.setattr(calls, "_rest_of", away)
    with pytest.raises(OperationalError):
        spending.store_rest()
    monkeypatch.setattr(calls, "_rest_of", rest_of)
    for _ in range(2):
        spending.store_rest()
    assert sorted(tokens()) == [(0, 49, 0, 0), (10, 1, 100, 7)]


def test_what_was_read_for_an_erased_conversation_has_been_paid(ada):
    accepted = send(ada)
    read(accepted)
    assert retention.purge(ChatSession.objects.all(), accepted.message.session_id)
    assert tokens() == [(10, 1, 100, 7)]


def test_a_person_who_has_gone_is_in_no_row(ada, stranger):
    accepted = send(ada)
    spending = Spending(Payer(Spend.Purpose.ANSWER, stranger.pk))
    spending.note(uuid.uuid4(), "m", USAGE)
    renew([Lease.of(accepted.turn, spending)])
    stranger.delete()
    abandon(accepted.turn)
    assert transcript.sweep() == 1
    # And a call that ends after they have gone.
    spending.store()
    spending.add("m", USAGE)
    assert set(Spend.objects.values_list("user_id", flat=True)) == {None}


@pytest.mark.parametrize("end", ["finish_turn", "finish_round", "interrupt_own_turn"])
def test_an_answer_is_stored_although_the_person_who_asked_has_gone(ada, stranger, end):
    accepted = send(ada)
    spending = Spending(Payer(Spend.Purpose.ANSWER, stranger.pk, space_id=Space.objects.own_of(stranger).pk))
    spending.add("m", USAGE)
    stranger.delete()
    ends = {
        "finish_turn": lambda: transcript.finish_turn(accepted.turn, accepted.answer, [], "complete", spending.rows),
        "finish_round": lambda: transcript.finish_round(accepted.turn, accepted.answer, [TOOL_USE], spending.rows),
        "interrupt_own_turn": lambda: transcript.interrupt_own_turn(accepted.turn, spending.rows),
    }
    ends[end]()
    assert Message.objects.get(pk=accepted.answer.pk).status != "running"
    row = Spend.objects.get()
    assert (row.user_id, row.space_id, row.tokens) == (None, None, 118)


def test_a_worker_stores_what_it_has_read_for_a_person_who_has_gone(stranger):
    spending = Spending(Payer(Spend.Purpose.TITLE, stranger.pk))
    spending.add("m", USAGE)
    User.objects.filter(pk=stranger.pk).delete()
    spending.store()
    assert (Spend.objects.get().user_id, tokens()) == (None, [(10, 1, 100, 7)])


class Uncounted(ask._BeatConduct):
    """The conduct of a scheduled turn without a beat that counts its tokens."""

    async def answered(self, finished):
        pass


def spending_of(accepted):
    return Spending(payer_of_answers(accepted.turn))


def test_a_scheduled_turn_keeps_its_lease_and_saves_its_call_while_the_model_is_slow(ada, scripted, settings):
    settings.CHECKPOINT_SECONDS = 0.2
    scripted.script(model.answer(model.text(["Well.", " And", " more", " words."], pace=0.3)))
    accepted = send(ada)
    abandon(accepted.turn)
    rounds = Rounds(accepted.turn, accepted.answer, Uncounted(None, accepted.turn, frozenset()), spending_of(accepted))
    async_to_sync(ask._run)(rounds)
    rounds.spending.store_rest()
    turn, row = Turn.objects.get(), Spend.objects.get()
    assert turn.lease_until > timezone.now()
    assert [call["id"] for call in turn.unstored_calls] == [str(row.pk)]
    assert [getattr(row, column) for column in COLUMNS] == told(scripted)
    abandon(turn)
    transcript.sweep()
    assert Spend.objects.get() == row
