"""The rows of the sidebar: filled into one row of each kind, for one person at a time."""

import re
import uuid

import pytest
from django.test.html import parse_html
from django.utils import timezone, translation

from chat.library import sidebar
from chat.library.session_rows import rows_html, shown_sessions
from chat.models import ChatSession, default_agent
from oneclaw.models import Space, SpaceMember, User


@pytest.fixture
def talk(ada):
    """talk(title, owner=ada, …): a conversation with a message that its owner has read."""

    def talk(title, owner=ada, **fields):
        fields = {"last_seq": 2, "read_seq": 2, **fields}
        return ChatSession.objects.create(
            key=str(uuid.uuid4()), owner=owner, agent=default_agent(), title=title, **fields
        )

    return talk


def shown(user, current=None):
    """The whole list of `user`, without the spaces of the markup."""
    part = shown_sessions(sidebar.listing(user), current)
    rows = [part.pinned, *(rows for _, rows in part.folders), *(rows for _, rows in part.groups)]
    return re.sub(r"\s+", " ", "".join(rows))


def test_texts_are_escaped_and_rows_are_whole(ada, talk):
    title = '<b>"Tea" & -slot-id- {{ row.id }}</b>'
    session = talk(title)
    found = shown(ada)
    escaped = "&lt;b&gt;&quot;Tea&quot; &amp; -slot-id- {{ row.id }}&lt;/b&gt;"
    assert f'href="/c/{session.pk}">{escaped}</a>' in found
    assert f'aria-label="More for “{escaped}”"' in found
    assert found.count(str(session.pk)) == 4
    parse_html(found)


def test_the_current_row_is_marked_and_never_unread(ada, talk):
    session, other = talk("Tea", read_seq=1), talk("Water", read_seq=0)
    found = shown(ada, session.pk)
    assert found.count('aria-current="page"') == 1
    assert f'href="/c/{session.pk}" aria-current="page">Tea</a>' in found
    assert found.count("session__unread") == 1
    assert shown(ada, other.pk).count("session__unread") == 1
    assert shown(ada).count("session__unread") == 2
    assert "aria-current" not in shown(ada)


def test_only_a_shared_one_names_its_space(ada, talk):
    space = Space.objects.create(owner=ada, kind="team", name="Kitchen")
    SpaceMember.objects.create(space=space, user=ada, role="owner")
    talk("Private", space=space)
    assert "Kitchen" not in shown(ada)
    talk("Shared", space=space, shared_at=timezone.now())
    assert shown(ada).count("Kitchen") == 1


def test_the_words_are_those_of_the_language(ada, talk):
    talk("", read_seq=0)
    assert "More for “New conversation”" in shown(ada)
    with translation.override("de"):
        assert "Neues Gespräch" in shown(ada)
        assert "More" not in shown(ada)


def test_the_built_statement_is_each_persons_own(ada, stranger, talk):
    space = Space.objects.create(owner=ada, kind="team", name="Kitchen")
    for person in (ada, stranger):
        SpaceMember.objects.create(space=space, user=person, role="editor")
    mine, theirs = talk("Mine"), talk("Theirs", owner=stranger)
    common = talk("Common", space=space, shared_at=timezone.now())
    for _ in range(2):
        assert {session.id for session in sidebar.newest(ada, 100)} == {mine.pk, common.pk}
        assert {session.id for session in sidebar.newest(stranger, 100)} == {theirs.pk, common.pk}
    SpaceMember.objects.filter(user=stranger).delete()
    assert {session.id for session in sidebar.newest(stranger, 100)} == {theirs.pk}


def test_no_account_has_the_id_of_the_built_statement(ada):
    assert not User.objects.filter(pk__lte=sidebar.ANYONE_ID).exists()
    assert sidebar.newest(User(pk=sidebar.ANYONE_ID), 100) == []


def test_no_conversations_are_no_rows():
    assert rows_html([], None) == ""
