"""A person corrects or undoes a summary while a later one is being made of it, or is used at that moment."""

import datetime as dt
import threading
import uuid

import pytest
from django.db import connections, transaction
from django.utils import timezone

from chat.compaction import changes, make, planning, room
from chat.context.meter import meter_of
from chat.context.prompt import build_request
from chat.conversations import branches, transcript
from chat.models import ChatSession, ContextRound, Turn
from chat.turns import retry
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
    assert earlier is not None
    assert earlier.summary == "The harbour is in Bergen."


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
        claimed.renew()


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
    assert ready.used_at is not None
    assert ready.block is None
    assert "Bergen" in ready.text


def test_an_undone_summary_is_made_anew_only_when_it_is_needed(ada, settings):
    first = summarised(conversation(ada, turns=30))
    changes.undo(ada, first.session_id, first.number)
    session = ChatSession.objects.select_related("agent", "owner", "head").get(pk=first.session_id)
    used = meter_of(session).used_tokens
    # A summary is made early from about 48 % of the window on, and is needed from 75 % on.
    settings.CONTEXT = int(used / 0.6)
    planning.after_turn(session)
    assert session.context_rounds.count() == 1
    settings.CONTEXT = int(used / 0.8)
    planning.after_turn(session)
    assert session.context_rounds.count() == 2


def test_the_words_kept_with_a_signed_summary_come_with_another_version_of_the_message_too(ada, first):
    ready = summarised(grown(ada, first.session), used=False)
    block = {"type": "compaction", "content": summary(), "signature": "s"}
    ContextRound.objects.filter(pk=ready.pk).update(block=block, text="Ticket AB-123.")
    accepted = send(ada, "And now?", first.session_id)
    room.use_now(accepted.turn, ready.pk)
    build_request(accepted.turn)
    transcript.finish_turn(accepted.turn, accepted.answer, [{"type": "text", "text": "Yes."}], "complete")
    edited = branches.edit(ada, accepted.message.pk, uuid.uuid4(), "And then?")
    room.begin(edited.turn)
    assert "AB-123" in str(build_request(edited.turn).messages[-1])


def test_the_cache_is_warm_after_an_earlier_attempt_at_the_same_answer(ada):
    session = conversation(ada)
    session.messages.update(finished_at=timezone.now() - dt.timedelta(hours=2))
    accepted = send(ada, "And now?", session.pk)
    assert room.is_cache_cold(session, accepted.turn)
    answered = [{"type": "text", "text": "It"}]
    transcript.finish_turn(accepted.turn, accepted.answer, answered, "stopped")
    turn, _ = retry.repeat(ada, accepted.answer.pk, Turn.Kind.CONTINUE)
    assert not room.is_cache_cold(session, turn)


def test_an_imported_conversation_is_summarised_before_it_is_sent(ada, settings):
    session = conversation(ada, turns=30)
    session.messages.update(usage=None, model="")
    settings.CONTEXT = 20_000
    accepted = send(ada, "And now?", session.pk)
    assert room.begin(accepted.turn) is not None
