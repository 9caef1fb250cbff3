"""What opening a conversation by a socket costs, and what a page is answered."""

import uuid

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from chat.conversations import lifecycle, presence
from chat.live import replay
from chat.models import Message, Presence
from tests.conversations import send, settle

pytestmark = pytest.mark.django_db(transaction=True)


def conversation(user):
    accepted = send(user)
    settle(accepted)
    session = accepted.message.session
    session.refresh_from_db()
    return session


def statements(call, *args):
    with CaptureQueriesContext(connection) as queries:
        result = call(*args)
    return len(queries), result


def test_a_page_that_has_everything_is_answered_with_two_statements(ada):
    session = conversation(ada)
    presence.arrive(ada)
    count, page = statements(replay.open_page, ada, session.pk, session.last_seq)
    assert count == 2
    assert (page.newest_seq, page.reset, list(page.frames)) == (session.last_seq, False, [])
    assert page.complete_seq == session.last_seq


def test_a_second_arrival_on_the_same_day_is_one_statement(ada):
    presence.arrive(ada)
    Presence.objects.update(here=False)
    assert statements(presence.arrive, ada)[0] == 1
    assert Presence.objects.get().here


def test_only_what_the_page_lacks_is_sent(ada):
    session = conversation(ada)
    page = replay.open_page(ada, session.pk, 1)
    assert {frame["seq"] for frame in page.frames if frame["type"] == "message"} == {2}


def test_a_page_that_shows_a_hidden_message_reloads(ada):
    session = conversation(ada)
    Message.objects.filter(session=session, seq=session.last_seq).update(active=False)
    assert replay.open_page(ada, session.pk, session.last_seq).reset
    assert not replay.open_page(ada, session.pk, 1).reset


def test_a_page_ahead_of_the_rows_reloads(ada):
    session = conversation(ada)
    assert replay.open_page(ada, session.pk, session.last_seq + 1).reset


def test_the_conversation_of_another_person_is_not_found(ada, stranger):
    session = conversation(ada)
    conversation(stranger)
    for seq in (0, session.last_seq):
        with pytest.raises(lifecycle.SessionNotFoundError):
            replay.open_page(stranger, session.pk, seq)
    with pytest.raises(lifecycle.SessionNotFoundError):
        replay.open_page(ada, uuid.uuid4(), 3)
