"""The diary: a day with its notes, what was remembered on it, its conversations, and the days next to it."""

import datetime as dt
import re
from unittest import mock

import pytest
from django.urls import reverse
from django.utils import timezone

from chat.models import ChatSession, default_agent
from memory.documents import write
from memory.documents.write import Append, Author, Source
from oneclaw.models import Space, SpaceMember


@pytest.fixture
def page(client, ada):
    """page(query): what Ada reads in her diary, without the spaces of the markup."""
    client.force_login(ada)

    def page(query=""):
        response = client.get(f"/memory/diary{query}")
        assert response.status_code == 200
        return re.sub(r"\s+", " ", response.content.decode())

    return page


@pytest.fixture
def on(space):
    """on("2026-11-03", operation, path="MEMORY.md"): write at noon of that day."""

    def on(day, operation, path="MEMORY.md", into=space):
        with mock.patch.object(timezone, "now", return_value=dt.datetime.fromisoformat(f"{day}T12:00+00:00")):
            return write.apply(into, path, operation, Author(Source.TOOL, into.owner))

    return on


def active(session, at):
    session.active_at = dt.datetime.fromisoformat(at)
    session.save()


def test_a_day_has_its_notes_what_was_remembered_and_its_conversations(page, on, say, session, document_of, space):
    on(
        "2026-11-03",
        Append("# Tuesday, 3 November 2026\n\n## 14:32 Tea\n\n- Tried *Darjeeling*\n"),
        "memory/2026-11-03.md",
    )
    on("2026-11-03", Append("- Likes tea\n"))
    on("2026-11-04", Append("- Likes coffee\n"))
    say(session, "Before", at="2026-11-02T09:00+00:00")
    message = say(session, "Which tea?", at="2026-11-03T09:05+00:00")
    active(session, "2026-11-04T09:00+00:00")
    text = page("?day=2026-11-03")
    assert "Tuesday, 3 November 2026</h1>" in text
    # The heading of the log is that of the page.
    assert text.partition("</h1>")[2].count("Tuesday, 3 November 2026") == 0
    assert "Tried <em>Darjeeling</em>" in text
    assert "Likes tea" in text
    assert "Likes coffee" not in text
    link = f'<a href="/c/{session.pk}#message-{message.pk}@2" dir="auto">Tea</a>'
    assert re.search(rf"10:05</time>\s*{re.escape(link)}", text)
    assert f'href="{reverse("memory_document", args=[document_of(space, "memory/2026-11-03.md").pk])}"' in text
    assert "Tea</a>" not in page("?day=2026-11-04").partition('id="conversations"')[2]


def test_the_days_next_to_it_are_those_with_something(page, on, say, session, ada):
    on("2026-11-01", Append("- noted\n"), "memory/2026-11-01.md")
    on("2026-11-09", Append("- Likes tea\n"))
    say(session, "Hello", at="2026-11-05T09:00+00:00")
    active(session, "2026-11-05T09:00+00:00")
    assert neighbours(page("?day=2026-11-01")) == ("", "2026-11-05")
    assert neighbours(page("?day=2026-11-05")) == ("2026-11-01", "2026-11-09")
    old = say(session, "Old", at="2026-10-05T09:00+00:00")
    active(session, "2026-10-05T09:00+00:00")
    assert f"#message-{old.pk}@" in page("?day=2026-10-05")
    assert neighbours(page("?day=2026-11-01")) == ("2026-10-05", "2026-11-09")
    active(session, "2026-11-05T09:00+00:00")
    assert neighbours(page("?day=2026-11-07")) == ("2026-11-05", "2026-11-09")
    assert neighbours(page("?day=2026-11-09")) == ("2026-11-05", str(ada.day()))
    assert neighbours(page(f"?day={ada.day()}")) == ("2026-11-09", "")


def neighbours(text):
    return tuple(
        (re.findall(rf'rel="{rel}" href="/memory/diary\?day=([0-9-]+)"', text) or [""])[0] for rel in ("prev", "next")
    )


def test_without_a_day_the_newest_with_something_is_shown(page, on):
    assert "There are no notes of this day." in page()
    on("2026-10-01", Append("- early\n"), "memory/2026-10-01.md")
    on("2026-10-01", Append("- late\n"), "memory/2026-10-09.md")
    assert "9 October 2026</h1>" in page()


@pytest.mark.parametrize("day", ["x", "2026-02-30", "1000-01-01", "9999-12-31"])
def test_a_broken_day_is_shown_as_another(page, on, day):
    on("2026-11-03", Append("- Likes tea\n"))
    page(f"?day={day}")


def test_the_days_are_those_of_the_person(page, on, say, session, ada):
    ada.timezone = "Pacific/Auckland"
    ada.save()
    on("2026-11-03", Append("- Noon in Greenwich, midnight and more in Auckland\n"))
    on("2026-10-03", Append("- early\n"), "memory/2026-10-03.md")
    say(session, "Late", at="2026-11-03T12:00+00:00")
    active(session, "2026-11-03T12:00+00:00")
    text = page("?day=2026-11-04")
    assert "midnight and more" in text
    assert "01:00</time>" in text
    assert "midnight and more" not in page("?day=2026-11-03")


def test_deleted_and_temporary_conversations_and_those_of_others_are_not_in_it(page, say, stranger, ada):
    for number, fields in enumerate(
        ({"deleted_at": timezone.now()}, {"mode": "temporary"}, {"owner": stranger}, {"kind": "beat"})
    ):
        made = {"owner": ada, "agent": default_agent(), "title": f"Hidden {number}", "key": f"key {number}"} | fields
        say(ChatSession.objects.create(**made), "Hello", at="2026-11-03T09:00+00:00")
    assert "Hidden" not in page("?day=2026-11-03")


def test_the_diary_of_a_space_has_its_notes_and_what_is_shared_with_it(page, on, say, stranger, ada, session):
    team = Space.objects.create(owner=stranger, kind=Space.Kind.TEAM, name="Kitchen")
    SpaceMember.objects.create(space=team, user=ada, role=SpaceMember.Role.READER)
    on("2026-11-03", Append("- The oven is new\n"), "memory/2026-11-03.md", into=team)
    own = say(session, "Own", at="2026-11-03T09:00+00:00")
    shared = ChatSession.objects.create(
        owner=stranger, agent=default_agent(), title="Menu", key="menu", space=team, shared_at=timezone.now()
    )
    ChatSession.objects.create(owner=stranger, agent=default_agent(), title="Secret", key="secret", space=team)
    say(shared, "What do we cook?", at="2026-11-03T10:00+00:00")
    text = page(f"?space={team.pk}&day=2026-11-03")
    assert "The oven is new" in text
    assert "Menu</a>" in text
    assert "Secret" not in text
    assert f"message-{own.pk}@" not in text
    assert "The oven is new" not in page("?day=2026-11-03")


def test_it_takes_as_many_statements_however_much_there_is(page, on, client, django_assert_max_num_queries):
    on("2026-11-03", Append("- Likes tea\n" * 50))
    for number in range(1, 20):
        on("2026-11-03", Append("- noted\n"), f"memory/2026-10-{number:02}.md")
    page("?day=2026-10-03")
    with django_assert_max_num_queries(18):
        client.get("/memory/diary?day=2026-10-03")
