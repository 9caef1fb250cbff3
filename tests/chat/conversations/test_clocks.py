"""What a process with a wrong clock leases, marks as due and sweeps goes by the database's clock."""

import datetime as dt
import uuid

import pytest
from django.utils import timezone

from chat.attachments import store
from chat.conversations import lifecycle, presence, retention, temporary, titles, transcript
from chat.models import ChatSession, Presence, SharedLink, Turn
from chat.signals import user_left
from chat.turns import checkpoints
from tests.conversations import abandon, send, settle
from tests.scripted import bad_request


def seconds_until(moment):
    return (moment - timezone.now()).total_seconds()


def test_it_ends_no_living_answer_of_another_process(ada, wrong_clock):
    accepted = send(ada)
    with wrong_clock():
        assert transcript.sweep() == 0
        with pytest.raises(transcript.SessionBusyError):
            send(ada, session_id=accepted.message.session_id)


def test_it_ends_the_answers_that_were_abandoned(ada, wrong_clock):
    first, second = send(ada), send(ada)
    abandon(first.turn)
    abandon(second.turn)
    with wrong_clock():
        send(ada, session_id=first.message.session_id)
        assert transcript.sweep() == 1


@pytest.mark.parametrize("renewed", [None, "by a checkpoint", "by a finished round"])
def test_its_own_leases_end_when_they_should(ada, wrong_clock, renewed, settings):
    with wrong_clock():
        accepted = send(ada)
        if renewed == "by a checkpoint":
            checkpoints.renew([checkpoints.Lease(accepted.turn.pk, accepted.turn.holder)])
        elif renewed:
            transcript.finish_round(accepted.turn, accepted.answer, [])
    assert (
        settings.LEASES.answer_seconds - 5
        < seconds_until(Turn.objects.get().lease_until)
        <= settings.LEASES.answer_seconds
    )


def test_it_lets_leave_only_those_who_left(ada, stranger, wrong_clock):
    left = []
    user_left.connect(lambda user, **_: left.append(user), weak=False, dispatch_uid="clocks")
    try:
        presence.arrive(ada)
        with wrong_clock():
            presence.arrive(stranger)
            presence.renew([stranger.pk])
            presence.sweep()
            assert left == []
        presence.sweep()
        assert left == []
        Presence.objects.filter(user=ada).update(seen_at=timezone.now() - dt.timedelta(hours=1))
        with wrong_clock():
            presence.sweep()
        assert left == [ada]
    finally:
        user_left.disconnect(dispatch_uid="clocks")


def test_the_presence_that_it_records_is_that_of_now(ada, wrong_clock):
    with wrong_clock():
        presence.arrive(ada)
        presence.enter(ada, send(ada).message.session)
    assert abs(seconds_until(Presence.objects.get().seen_at)) < 5


def test_titles_are_due_when_they_should_be(ada, wrong_clock, scripted):
    with wrong_clock():
        accepted = send(ada, "Which tea?")
        settle(accepted)
        titles.enqueue_naming(session=ChatSession.objects.get())
    assert titles.due_ids() == [accepted.message.session_id]
    scripted.script(bad_request())
    with wrong_clock():
        titles.name_session(accepted.message.session_id)
    assert 50 < seconds_until(ChatSession.objects.get().title_due_at) <= 60


def test_it_erases_no_conversation_early(ada, wrong_clock, settings):
    settings.TEMPORARY_HOURS, settings.DELETED_DAYS = 1, 1 / 24
    settle(transcript.accept(ada, uuid.uuid4(), uuid.uuid4(), "Hi", mode="temporary"))
    deleted = send(ada)
    settle(deleted)
    lifecycle.delete(deleted.message.session)
    with wrong_clock():
        assert (temporary.sweep(), retention.sweep()) == (0, 0)


def test_what_it_wrote_and_deleted_is_of_now(ada, wrong_clock):
    with wrong_clock():
        accepted = send(ada)
        settle(accepted)
        lifecycle.delete(accepted.message.session)
    session = ChatSession.objects.get()
    for moment in (session.active_at, session.deleted_at, Turn.objects.get().finished_at):
        assert abs(seconds_until(moment)) < 5


def test_shared_links_work_until_they_expire(ada, wrong_clock):
    session = send(ada).message.session
    for hours in (1, -1):
        expires_at = timezone.now() + dt.timedelta(hours=hours)
        SharedLink.objects.create(session=session, token_hash=str(hours), expires_at=expires_at)
    with wrong_clock():
        assert [link.token_hash for link in SharedLink.objects.live()] == ["1"]


def test_a_file_that_was_just_attached_is_kept(ada, wrong_clock, monkeypatch):
    monkeypatch.setattr(store, "UNSENT_AGE", dt.timedelta(hours=1))
    store.store_file(ada, "a.txt", b"Words.")
    with wrong_clock():
        assert store.sweep() == 0
