"""A question that is composed once gives what composing it anew would."""

import uuid
from concurrent.futures import ThreadPoolExecutor

import pytest
from django.db import connection

from chat.library import sidebar
from chat.models import ChatSession, Folder
from chat.rendering.messages import END, NEWEST, newest
from chat.views import pages
from oneclaw.models import User
from oneclaw.standing import Standing
from tests.conversations import send, settle


@pytest.fixture
def talked(ada, stranger):
    """Conversations of two people: (owner, session)."""
    for person in (ada, stranger, ada):
        settle(send(person, "Tea"), "Well.")
    return [(session.owner, session) for session in ChatSession.objects.order_by("created_at")]


def values(rows):
    return [{**row.__dict__, "_state": None} for row in rows]


def test_each_is_asked_with_values_of_their_own(talked, django_assert_num_queries):
    for owner, session in talked:
        ordinary = list(newest(session.pk, END))
        with django_assert_num_queries(1):
            found = NEWEST.ask(session.pk, END)
        assert found
        assert values(found) == values(ordinary)
        assert [found.agent for found in pages.OWN_SESSION.ask(owner.pk, session.pk)] == [session.agent]
    assert NEWEST.ask(session.pk, 1) == []
    assert NEWEST.ask(uuid.uuid4(), END) == []


def test_the_list_is_that_of_its_person(talked, ada, stranger):
    Folder.objects.create(owner=stranger, name="Theirs")
    ask = sidebar.beginning(100).ask
    for person in (ada, stranger, ada):
        assert {row.pk for row in ask(person.pk)} == {session.pk for owner, session in talked if owner == person}
    assert [folder.name for folder in sidebar.FOLDERS.ask(stranger.pk)] == ["Theirs"]
    assert sidebar.FOLDERS.ask(ada.pk) == []


def test_as_many_values_as_kinds(ada):
    with pytest.raises(ValueError, match="zip"):
        NEWEST.ask(uuid.uuid4())


@pytest.mark.django_db(transaction=True)
def test_threads_ask_with_connections_of_their_own():
    people = [User.objects.create_user(f"p{n}@example.org") for n in range(8)]
    standing = Standing(lambda pk: User.objects.filter(pk=pk), int)

    def ask(user):
        try:
            return [standing.ask(user.pk) == [user] for _ in range(20)]
        finally:
            connection.close()

    with ThreadPoolExecutor(4) as threads:
        assert all(all(answers) for answers in threads.map(ask, people))
