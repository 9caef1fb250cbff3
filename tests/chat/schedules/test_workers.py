"""Several workers, and workers that die: no time of a schedule is carried out twice."""

import datetime as dt
import pkgutil
import threading
from unittest import mock

import pytest
from django.db import connections

from chat.conversations import transcript
from chat.models import Beat, Message, Schedule
from chat.schedules import beat as beats
from chat.schedules import planning
from oneclaw import invariants
from tests.conversations import send
from tests.scripted import answer, tool_use

SAVE = answer(tool_use("save_memory", {"content": "Watch the kettle"}))


def telling(body):
    return answer(tool_use("heartbeat_respond", {"tell": True, "text": "Call Ada.", "note": "told"}))


class WorkerKilledError(BaseException):
    """The process of a worker has ended here."""


STEPS = [
    "chat.schedules.beat.context_of",
    "chat.schedules.ask._BeatConduct._count",
    "chat.conversations.transcript.finish_round",
    "chat.conversations.transcript.finish_tools",
    "chat.conversations.transcript.finish_turn",
    "chat.schedules.tell.conversation_of",
    "chat.schedules.tell.say",
]


@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
def test_a_beat_whose_worker_dies_at_any_step_tells_once(heartbeat, clock, scripted, step, after):
    scripted.default = telling
    real = pkgutil.resolve_name(step)

    def dies(*given, **named):
        if after:
            real(*given, **named)
        raise WorkerKilledError

    with mock.patch(step, dies), pytest.raises(WorkerKilledError):
        clock.work(minutes=15)
    # Its lease is still valid: nobody else has the beat.
    asked = len(scripted.messages)
    clock.work(seconds=5)
    assert len(scripted.messages) == asked
    clock.pass_by(minutes=1)
    transcript.sweep()
    beat = clock.work(minutes=0)
    assert (beat.outcome, Beat.objects.count()) == ("sent", 1)
    assert Message.objects.filter(text="Call Ada.", session__kind="").count() == 1
    if step.startswith("chat.schedules.tell"):
        assert len(scripted.messages) == 1
    assert list(invariants.check()) == []


def test_a_beat_that_may_have_written_is_not_carried_out_again(heartbeat, clock, scripted):
    Schedule.objects.update(tools=["save_memory"])
    scripted.default = lambda body: SAVE
    with mock.patch("chat.schedules.ask.call_tool", side_effect=WorkerKilledError), pytest.raises(WorkerKilledError):
        clock.work(minutes=15)
    clock.pass_by(minutes=1)
    transcript.sweep()
    beat = clock.work(minutes=0)
    assert (beat.outcome, beat.reason.code, len(scripted.messages)) == ("failed", "beat.interrupted", 1)
    assert list(invariants.check()) == []


def test_a_beat_that_kills_its_workers_is_given_up(heartbeat, clock, scripted):
    for _ in range(beats.MAX_CLAIMS):
        with (
            mock.patch("chat.turns.rounds.Rounds.ask_model", side_effect=WorkerKilledError),
            pytest.raises(WorkerKilledError),
        ):
            clock.work(seconds=900)
        transcript.sweep()
    clock.pass_by(minutes=1)
    transcript.sweep()
    assert clock.work(minutes=0).reason.code == "beat.interrupted"


def test_what_is_told_waits_while_an_answer_is_running_there(heartbeat, ada, clock, scripted):
    accepted = send(ada, "Hello")
    Schedule.objects.update(conversation=accepted.message.session_id)
    lease = dt.timedelta(days=1)
    scripted.default = telling
    with mock.patch("chat.schedules.beat.has_running_turn", return_value=False):
        accepted.turn.lease_until = clock.now + lease
        accepted.turn.save()
        beat = clock.work(minutes=15)
    assert (beat.status, beat.text) == ("queued", "Call Ada.")
    transcript.finish_turn(accepted.turn, accepted.answer, [{"type": "text", "text": "Hi"}], "complete")
    beat = clock.work(seconds=31)
    assert (beat.outcome, beat.message.session_id) == ("sent", accepted.message.session_id)
    assert [message.text for message in Message.objects.shown().filter(session=beat.message.session)] == [
        "Hello",
        "Hi",
        "Call Ada.",
    ]
    assert len(scripted.messages) == 1


@pytest.mark.django_db(transaction=True)
def test_three_workers_at_once_carry_out_each_time_once(transactional_db, heartbeat, clock, scripted):
    scripted.default = telling
    failures = []

    def work(barrier):
        try:
            barrier.wait(10)
            planning.sweep()
            for beat_id in Beat.objects.to_send():
                beats.run(beat_id)
        except Exception as error:  # noqa: BLE001
            failures.append(error)
        finally:
            connections.close_all()

    for _ in range(5):
        clock.pass_by(minutes=30)
        barrier = threading.Barrier(3)
        workers = [threading.Thread(target=work, args=[barrier]) for _ in range(3)]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join(60)
    assert failures == []
    assert Beat.objects.filter(outcome="sent").count() == 5 == len(scripted.messages)
    assert Message.objects.filter(text="Call Ada.", session__kind="").count() == 5
    assert Beat.objects.values("planned_at").distinct().count() == Beat.objects.count()
