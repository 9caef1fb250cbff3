"""A person corrects or undoes a summary while a later one is being made of it, or is used at that moment."""

import threading
import uuid

import pytest
from django.db import connections, transaction
from django.utils import timezone

from chat.compaction import changes, make, planning, room
from chat.context.prompt import build_request
from chat.conversations import transcript
from chat.models import ChatSession, ContextRound, Turn
from tests.conversations import FINISHED, send
from tests.summaries import LONG, conversation, make_rounds, replying, summarised, summary

pytestmark = pytest.mark.django_db(transaction=True)


def grown(user, session):
    """Add two turns to the conversation."""
    for number in range(2):
        accepted = send(user, f"More {number}. {LONG}", session.pk)
        build_request(accepted.turn)
        usage = {"input_tokens": 9_000, "output_tokens": 300}
        ended = FINISHED | {"usage": usage, "model": "claude-sonnet-5-5"}
        transcript.finish_turn(accepted.turn, accepted.answer, [{"type": "text", "text": LONG}], "complete", **ended)
    return ChatSession.objects.select_related("agent", "owner", "head").get(pk=session.pk)


@pytest.fixture
def first(ada):
    return summarised(conversation(ada))


@pytest.fixture
def later(ada, first, scripted):
    """A summary that was made of the first one, and is not used yet."""
    scripted.default = replying()
    asked = planning.ask(grown(ada, first.session))
    make.extract_now(asked.pk)
    asked.refresh_from_db()
    assert asked.state == ContextRound.State.READY
    return asked


def test_a_correction_is_in_the_summary_that_was_ready(ada, first, later):
    changes.edit(ada, first.session_id, first.number, "The harbour is in Bergen.")
    make_rounds(first.session_id)
    newest = ContextRound.objects.filter(session=first.session_id).latest("number")
    make.extract_now(newest.pk)
    newest.refresh_from_db()
    assert newest.state == ContextRound.State.READY
    assert newest.reason == ContextRound.Reason.COMMAND
    later.refresh_from_db()
    assert later.state == ContextRound.State.SUPERSEDED
    earlier = make.earlier_round(newest)
    assert earlier is not None and earlier.summary == "The harbour is in Bergen."


def test_undoing_a_summary_undoes_the_one_that_was_made_of_it(ada, first, later):
    changes.undo(ada, first.session_id, first.number)
    later.refresh_from_db()
    assert later.state == ContextRound.State.UNDONE


def test_undoing_a_summary_stops_the_one_that_is_being_made_of_it(ada, first):
    asked = planning.ask(grown(ada, first.session))
    claimed = ContextRound.objects.claim(asked.pk)
    changes.undo(ada, first.session_id, first.number)
    asked.refresh_from_db()
    assert asked.state == ContextRound.State.STOPPED
    with pytest.raises(make.ClaimLostError):
        claimed.heartbeat()


def test_a_summary_that_is_stopped_while_an_extract_is_written_fails_no_turn(ada, first, monkeypatch):
    asked = planning.ask(grown(ada, first.session))

    def stopped_now(work):
        changes.undo(ada, first.session_id, asked.number)
        return True

    monkeypatch.setattr(make, "is_prepared", stopped_now)
    make.extract_now(asked.pk)
    asked.refresh_from_db()
    assert asked.state == ContextRound.State.STOPPED


def test_a_correction_at_the_moment_of_use_stays(ada, first):
    """The turn waits for the lock of the conversation that the correction holds, so neither blocks the other."""
    ready = summarised(grown(ada, first.session), used=False)
    ContextRound.objects.filter(pk=ready.pk).update(
        block={"type": "compaction", "content": summary(), "signature": "s"}
    )
    accepted = send(ada, "And now?", first.session_id)
    Turn.objects.filter(pk=accepted.turn.pk).update(kind=Turn.Kind.RETRY)
    turn = Turn.objects.select_related("prompt", "session").get(pk=accepted.turn.pk)

    def use():
        try:
            room.use_now(turn, ready.pk)
        finally:
            connections.close_all()

    using = threading.Thread(target=use)
    with transaction.atomic():
        changes.edit(ada, first.session_id, ready.number, "The harbour is in Bergen.")
        using.start()
        using.join(0.5)
    using.join(10)
    ready.refresh_from_db()
    assert ready.used_at is not None and ready.block is None
    assert "Bergen" in ready.text
