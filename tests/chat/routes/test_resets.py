"""Daily and idle resets: at their limits, by what people write, never while an answer runs, and once."""

import datetime as dt

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from chat.conversations import lifecycle, transcript
from chat.conversations.keys import Sender
from chat.models import ChatSession, ResetChoice, SessionRoute
from chat.routes import deliver, resets
from memory.models import DocumentJob, Flush
from oneclaw.models import Space
from tests.chat.routes.cast import incoming, route_of, written
from tests.conversations import send, settle


@pytest.fixture
def idle(settings):
    settings.RESET, settings.RESET_MINUTES = "idle", 240


@pytest.mark.parametrize(("seconds", "is_reset"), [(-1, False), (0, True), (1, True)])
@pytest.mark.parametrize("by", ["message", "sweep"])
def test_a_pause_ends_the_conversation_at_its_limit(ada, clock, idle, seconds, is_reset, by):
    session = written(ada)
    clock.advance(minutes=240, seconds=seconds)
    if by == "sweep":
        assert resets.sweep() == is_reset
    after = written(ada, "Again")
    session.refresh_from_db()
    assert (after != session, session.ended_at is not None) == (is_reset, is_reset)


@pytest.mark.parametrize(("clock_says", "is_reset"), [("03:59:59", False), ("04:00:00", True), ("04:00:01", True)])
def test_a_new_day_begins_at_the_hour_of_the_persons_clock(ada, clock, settings, clock_says, is_reset):
    settings.RESET = "daily"
    clock.now = dt.datetime(2027, 1, 12, 1, 0, tzinfo=ada.zone)
    session = written(ada)
    clock.now = dt.datetime.combine(clock.now.date(), dt.time.fromisoformat(clock_says), ada.zone)
    assert (written(ada, "Again") != session) == is_reset


def test_by_default_nothing_is_reset(ada, clock):
    session = written(ada)
    clock.advance(days=400)
    assert resets.sweep() == 0
    assert written(ada, "Again") == session


def test_the_reason_is_told_and_the_route_goes_on_in_a_new_conversation(
    ada, clock, idle, ended, django_capture_on_commit_callbacks
):
    session = written(ada)
    clock.advance(hours=5)
    with django_capture_on_commit_callbacks(execute=True):
        assert resets.sweep() == 1
    assert ended == [(session.pk, "idle")]
    route = route_of(ada)
    assert (route.session.last_seq, route.started_at, route.check_at) == (0, None, None)
    clock.advance(days=30)
    assert resets.sweep() == 0
    assert ChatSession.objects.count() == 2


def test_the_last_messages_are_kept_as_for_new(ada, clock, idle, django_capture_on_commit_callbacks):
    session = written(ada)
    clock.advance(hours=5)
    with django_capture_on_commit_callbacks(execute=True):
        resets.sweep()
    assert session.flushes.count() == 1
    assert session.document_jobs.filter(kind="last_messages").count() == 1


def test_a_conversation_is_not_reset_while_an_answer_runs(ada, clock, idle):
    accepted = deliver.accept(ada, incoming())
    clock.advance(hours=5)
    accepted.turn.lease_until = clock.now + dt.timedelta(hours=1)
    accepted.turn.save()
    assert resets.sweep() == 0
    with pytest.raises(transcript.SessionBusyError):
        deliver.accept(ada, incoming("Again"))
    settle(accepted)
    clock.advance(seconds=14)
    assert resets.sweep() == 0
    clock.advance(seconds=1)
    assert resets.sweep() == 1


def test_what_is_written_on_the_page_moves_the_pause(ada, clock, idle):
    session = written(ada)
    clock.advance(minutes=239)
    settle(send(ada, "On the page", session.pk))
    clock.advance(minutes=239)
    assert resets.sweep() == 0
    clock.advance(minutes=1)
    assert resets.sweep() == 1


@pytest.mark.parametrize(
    ("person", "route", "is_reset"), [("none", "", False), ("none", "idle", True), ("", "none", False)]
)
def test_a_route_overrides_its_person_and_a_person_the_server(ada, clock, idle, person, route, is_reset):
    session = written(ada)
    ResetChoice.objects.create(owner=ada, reset=person)
    SessionRoute.objects.update(reset=route)
    clock.advance(hours=4)
    assert (written(ada, "Again") != session) == is_reset


def test_hour_and_minutes_may_be_chosen_alone(ada, settings):
    settings.RESET = "both"
    choice = ResetChoice(owner=ada, reset_hour=0)
    rule = resets.rule_of(SessionRoute(reset_minutes=1), choice)
    assert (rule.daily, rule.idle, rule.hour, rule.minutes) == (True, True, 0, 1)


def test_the_sweep_looks_at_least_once_an_hour(ada, clock, settings):
    settings.RESET = "daily"
    written(ada)
    resets.sweep()
    assert route_of(ada).check_at == clock.now + dt.timedelta(hours=1)
    settings.RESET = "none"
    clock.advance(hours=1)
    resets.sweep()
    assert route_of(ada).check_at == clock.now + dt.timedelta(days=1)


@pytest.mark.django_db(transaction=True)
def test_a_sweep_of_many_sends_tasks_for_the_first_ones_alone(ada, clock, idle, settings, monkeypatch):
    settings.DM_SCOPE = "per-peer"
    monkeypatch.setattr(resets, "HINTED_RESETS", 1)
    monkeypatch.setattr(resets, "BATCH_ROUTES", 2)
    for number in range(5):
        written(ada, sender=Sender("telegram", str(number)))
    clock.advance(hours=4)
    sent = []
    monkeypatch.setattr("oneclaw.tasks.send", lambda task, *arguments, **_: sent.append(str(task)))
    assert resets.sweep() == 5
    assert sorted(sent).count("memory.tasks.flush_session") <= 1 <= len(sent) <= 4
    assert Flush.objects.queued().count() == 5


def test_a_route_whose_conversation_was_erased_gets_another_one(ada, clock, idle):
    session = written(ada)
    ChatSession.objects.filter(pk=session.pk).update(deleted_at=clock.now)
    lifecycle.follow(session)
    assert written(ada, "Again") != session


def test_many_resets_take_as_many_statements_as_few(ada, stranger, clock, idle, settings, monkeypatch):
    settings.DM_SCOPE = "per-peer"
    monkeypatch.setattr(resets, "HINTED_RESETS", 0)
    counts = []
    for person in ada, stranger:
        Space.objects.own_of(person)
    for number in (2, 12):
        for peer in range(number):
            written(ada if peer % 2 else stranger, sender=Sender("telegram", f"{number}-{peer}"))
        clock.advance(hours=4)
        with CaptureQueriesContext(connection) as asked:
            assert resets.sweep() == number
        counts.append(len(asked))
    assert counts[0] == counts[1] <= 45
    assert Flush.objects.queued().count() == 14 == DocumentJob.objects.filter(kind="last_messages").count()


def test_a_request_for_notes_that_fails_leaves_the_reset(ada, clock, idle, monkeypatch):
    written(ada)
    clock.advance(hours=4)

    def fail(*_):
        with connection.cursor() as cursor:
            cursor.execute("SELECT 1 / 0")

    monkeypatch.setattr("memory.tasks.conversations.request_all", fail)
    assert resets.sweep() == 1
    assert route_of(ada).session.last_seq == 0
    # All or nothing: the sweep of memory finds the conversation.
    assert not Flush.objects.exists()


@pytest.mark.parametrize(
    ("field", "value", "is_valid"),
    [
        *[("reset_hour", value, value in range(24)) for value in (-1, 0, 22, 23, 24)],
        *[("reset_minutes", value, 1 <= value <= 43_200) for value in (0, 1, 2, 43_199, 43_200, 43_201)],
    ],
)
def test_a_reset_is_at_an_hour_of_the_day_or_after_at_most_thirty_days(ada, client, field, value, is_valid):
    client.force_login(ada)
    answer = client.post("/settings/channels", {"reset": "both", field: value})
    assert (answer.status_code == 302) == is_valid
    assert ResetChoice.objects.filter(owner=ada, **{field: max(value, 0)}).exists() == is_valid
