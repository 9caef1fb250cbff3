"""How far the notes go: of a day, and of each message of a conversation."""

import datetime as dt
import json
from io import StringIO

import pytest
from django.core.management import call_command
from django.urls import reverse
from django.utils import timezone

from chat.models import ChatSession, default_agent
from memory.models import Flush, MemoryDocument
from memory.notes import claims, coverage, flush
from tests.scripted import answer, error

DAY = dt.date(2026, 11, 21)


def do(session):
    flush.run(flush.request(session, "switched").pk)


def parts(session):
    return [(part.first, part.last, part.state) for part in coverage.of_session(session)]


def test_a_day_is_covered_up_to_its_last_noted_message_on_the_persons_clock(session, say, ada, scripted):
    say(session, "one", at="2026-11-21T13:32+00:00")
    assert coverage.of_day(ada, DAY) == coverage.DayCoverage(None, 1)
    do(session)
    until = coverage.of_day(ada, DAY).until
    assert f"{until:%H:%M}" == "14:32"
    assert coverage.of_day(ada, DAY).waiting == 0


def test_what_is_not_noted_in_another_conversation_holds_it_back(session, say, ada, scripted):
    other = ChatSession.objects.create(key="o", owner=ada, agent=default_agent())
    say(session, "one", at="2026-11-21T09:00+00:00")
    say(other, "two", at="2026-11-21T10:00+00:00")
    say(session, "three", at="2026-11-21T11:00+00:00")
    do(session)
    day = coverage.of_day(ada, DAY)
    assert (f"{day.until:%H:%M}", day.waiting) == ("10:00", 1)
    do(other)
    day = coverage.of_day(ada, DAY)
    assert (f"{day.until:%H:%M}", day.waiting) == ("12:00", 0)


def test_other_days_people_and_kinds_of_sessions_do_not_count(session, say, ada, stranger, scripted):
    theirs = ChatSession.objects.create(key="s", owner=stranger, agent=default_agent())
    temporary = ChatSession.objects.create(key="t", owner=ada, agent=default_agent(), mode="temporary")
    for one in (theirs, temporary):
        say(one, "x", at="2026-11-21T08:00+00:00")
    say(session, "late the day before", at="2026-11-20T22:59+00:00")
    assert coverage.of_day(ada, DAY) == coverage.DayCoverage(None, 0)


def test_the_page_of_a_daily_log_says_so(session, say, ada, scripted, client):
    say(session, "one", at="2026-11-21T13:32+00:00")
    do(session)
    say(session, "two", at="2026-11-21T13:40+00:00")
    client.force_login(ada)
    log = MemoryDocument.objects.get(path="memory/2026-11-21.md")
    html = client.get(reverse("memory_document", args=[log.pk])).content.decode()
    assert "Notes are complete up to 14:32." in html
    assert "1 message is not in the notes yet." in html


def test_other_documents_have_no_such_line(space, append, document_of):
    append(space, "tea")
    append(space, "x", path="memory/2026-99-99.md")
    assert coverage.of_document(document_of(space)) is None
    assert coverage.of_document(document_of(space, "memory/2026-99-99.md")) is None


def test_each_message_of_a_session_is_covered_skipped_queued_running_or_open_and_why(session, say, scripted):
    assert parts(session) == []
    scripted.script(answer("- one"), answer("NO_REPLY"))
    say(session, "one")
    assert parts(session) == [(1, 1, "open")]
    do(session)
    say(session, "two")
    do(session)
    say(session, "three")
    claim = claims.claim_flush(flush.request(session, "left").pk)
    say(session, "four")
    assert parts(session) == [(1, 1, "covered"), (2, 2, "skipped"), (3, 3, "running"), (4, 4, "open")]
    claims.put_back(claim, RuntimeError("no model"))
    assert parts(session)[2:] == [(3, 4, "queued")]
    assert "RuntimeError: no model" in coverage.of_session(session)[2].why


def test_what_was_noted_without_a_summary_says_so(session, say, scripted):
    scripted.default = lambda body: error(401, "authentication_error", "no")
    say(session, "one")
    queued = flush.request(session, "left")
    for _ in range(5):
        Flush.objects.update(due_at=timezone.now())
        flush.run(queued.pk)
    assert "without a summary: KeyRefused" in coverage.of_session(session)[0].why


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"mode": "chat"}, "this conversation reads memory only"),
        ({"mode": "temporary"}, "this conversation no memory at all"),
        ({"deleted_at": timezone.now()}, "the conversation was deleted before they were noted"),
    ],
)
def test_what_is_never_noted_is_skipped(session, say, change, why):
    say(session, "one")
    ChatSession.objects.update(**change)
    session.refresh_from_db()
    assert [(part.state, part.why) for part in coverage.of_session(session)] == [("skipped", why)]


def test_the_shell_tells_it(session, say):
    say(session, "one")
    flush.request(session, "left")
    out = StringIO()
    call_command("memory", "status", "--session", str(session.pk), "--json", stdout=out)
    assert json.loads(out.getvalue())["messages"] == [
        {"first": 1, "last": 1, "state": "queued", "why": "waits for a worker (left)"}
    ]
    out = StringIO()
    call_command("memory", "status", "--session", str(session.pk), stdout=out)
    assert out.getvalue() == "1–1: queued, waits for a worker (left)\n"


def test_the_admin_shows_lag_and_failures_over_the_flushes(session, say, admin_client_of):
    say(session, "one")
    claims.put_back(claims.claim_flush(flush.request(session, "left").pk), RuntimeError("no model"))
    html = admin_client_of.get(reverse("admin:memory_flush_changelist")).content.decode()
    assert "1 queued, 0 running, 1 failing" in html
    assert "RuntimeError: no model" in html
    assert admin_client_of.get(reverse("admin:memory_documentjob_changelist")).status_code == 200


@pytest.fixture
def admin_client_of(client, admin_person):
    client.force_login(admin_person)
    return client
