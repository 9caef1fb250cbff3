"""Switching sessions and the change of day."""

import datetime as dt
import uuid

import pytest
from django.utils import timezone

from chat import signals
from chat.conversations import lifecycle, presence
from chat.models import Presence
from tests.conversations import send, settle


@pytest.fixture
def heard():
    """What the two signals said: (name, session, …)."""
    said = []

    def switched(**kwargs):
        said.append(("switched", kwargs["session"], kwargs["to"]))

    def changed(**kwargs):
        said.append(("day", kwargs["session"], kwargs["previous"], kwargs["today"]))

    signals.session_switched.connect(switched)
    signals.day_changed.connect(changed)
    yield said
    signals.session_switched.disconnect(switched)
    signals.day_changed.disconnect(changed)


def conversation(user):
    accepted = send(user)
    settle(accepted)
    return accepted.message.session


def test_opening_another_existing_session_is_a_switch(ada, heard):
    first, second = conversation(ada), conversation(ada)
    lifecycle.open_session(ada, first.pk)
    assert heard == [("switched", second, first)]


def test_opening_the_same_session_again_is_no_switch(ada, heard):
    session = conversation(ada)
    lifecycle.open_session(ada, session.pk)
    lifecycle.open_session(ada, session.pk)
    assert heard == []


def test_a_new_chat_is_no_switch(ada, heard):
    conversation(ada)
    assert lifecycle.open_session(ada, uuid.uuid4()) is None
    conversation(ada)
    assert heard == []


def test_the_session_of_another_person_cannot_be_opened(ada, stranger, heard):
    session = conversation(ada)
    with pytest.raises(lifecycle.SessionNotFoundError):
        lifecycle.open_session(stranger, session.pk)
    assert heard == []


def test_a_deleted_session_is_not_reported_as_left(ada, heard):
    first, second = conversation(ada), conversation(ada)
    lifecycle.delete(second)
    lifecycle.open_session(ada, first.pk)
    assert heard == []


def test_the_first_visit_only_stores_the_day(ada, heard):
    presence.arrive(ada)
    assert heard == []
    assert Presence.objects.get().day == ada.day()


def test_a_visit_on_another_local_day_is_told_once(ada, heard):
    session = conversation(ada)
    yesterday = ada.day() - dt.timedelta(days=1)
    Presence.objects.filter(user=ada).update(day=yesterday)
    presence.arrive(ada)
    presence.arrive(ada)
    assert heard == [("day", session, yesterday, ada.day())]


def test_a_change_of_day_without_a_session_is_fine(ada, heard):
    Presence.objects.create(user=ada, day=ada.day() - dt.timedelta(days=3))
    presence.arrive(ada)
    assert heard[0][1] is None


def test_the_day_is_stored_even_when_a_receiver_fails(ada):
    def fails(**kwargs):
        raise RuntimeError("no flush today")

    signals.day_changed.connect(fails)
    try:
        Presence.objects.create(user=ada, day=ada.day() - dt.timedelta(days=1))
        presence.arrive(ada)
    finally:
        signals.day_changed.disconnect(fails)
    assert Presence.objects.get().day == ada.day()


def test_the_day_is_the_persons_own_and_not_the_servers(ada, heard, monkeypatch):
    moment = dt.datetime(2026, 11, 20, 22, 30, tzinfo=dt.UTC)
    monkeypatch.setattr(timezone, "now", lambda: moment)
    presence.arrive(ada)
    monkeypatch.setattr(timezone, "now", lambda: moment + dt.timedelta(hours=1))
    presence.arrive(ada)
    assert [entry[2:] for entry in heard] == [(dt.date(2026, 11, 20), dt.date(2026, 11, 21))]


@pytest.fixture
def leavers():
    """The people of whom it was told that they left."""
    told = []

    def left(**kwargs):
        told.append((kwargs["user"], kwargs["session"]))

    signals.user_left.connect(left)
    yield told
    signals.user_left.disconnect(left)


def test_a_person_has_left_when_no_socket_was_open_for_a_minute(ada, leavers, settings):
    session = conversation(ada)
    presence.arrive(ada)
    assert presence.sweep() == 0
    Presence.objects.update(seen_at=timezone.now() - dt.timedelta(seconds=settings.LEAVE_SECONDS + 1))
    assert presence.sweep() == 1
    assert presence.sweep() == 0
    assert leavers == [(ada, session)]


def test_an_open_socket_anywhere_keeps_a_person_here(ada, leavers, settings):
    presence.arrive(ada)
    Presence.objects.update(seen_at=timezone.now() - dt.timedelta(seconds=settings.LEAVE_SECONDS + 1))
    presence.renew([ada.pk])
    assert presence.sweep() == 0


def ask(client, session, more=""):
    return client.get(f"/c/{session.pk}/messages?after=0{more}")


def test_a_page_that_only_polls_notices_a_new_day_and_keeps_its_person_here(client, ada, heard, leavers, settings):
    session = conversation(ada)
    client.force_login(ada)
    yesterday = ada.day() - dt.timedelta(days=1)
    long_ago = timezone.now() - dt.timedelta(seconds=settings.LEAVE_SECONDS + 1)
    Presence.objects.filter(user=ada).update(day=yesterday)
    ask(client, session)
    ask(client, session)
    assert heard == [("day", session, yesterday, ada.day())]
    Presence.objects.update(seen_at=long_ago)
    ask(client, session)
    assert presence.sweep() == 0
    Presence.objects.update(seen_at=long_ago)
    assert presence.sweep() == 1


def test_a_page_that_only_polls_costs_one_query_more(client, ada, django_assert_num_queries):
    presence.arrive_unless_recent(ada)
    with django_assert_num_queries(1):
        presence.arrive_unless_recent(ada)


def test_a_page_that_only_polls_switches_conversations(client, ada, heard):
    first, second = conversation(ada), conversation(ada)
    client.force_login(ada)
    ask(client, second)
    ask(client, first, "&open")
    assert heard == [("switched", second, first)]
