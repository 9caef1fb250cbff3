"""A session's messages become notes in the log of their day, exactly once."""

import datetime as dt
import threading
import time
import uuid
from concurrent.futures import ThreadPoolExecutor

import pytest
from django.db import DatabaseError, connection, transaction
from django.utils import timezone

from chat.conversations import transcript
from chat.models import ChatSession, default_agent
from chat.signals import turn_finished
from chat.turns import retry
from memory.models import Flush, MemoryDocument, MemoryRevision
from memory.notes import claims, coverage, flush
from memory.tasks import flush_session, flush_soon
from oneclaw.jobs import ClaimLostError
from oneclaw.models import Space
from tests.conversations import abandon, send, settle
from tests.scripted import answer, error, overloaded, text

BEFORE = dt.datetime(2020, 1, 1, tzinfo=dt.UTC)


def do(session, reason="switched"):
    """One trigger and everything that follows from it."""
    queued = flush.request(session, reason)
    while queued:
        queued = flush.run(queued.pk)


def in_a_thread(function, *arguments):
    """Call the function, and return the connection of this thread."""
    try:
        return function(*arguments)
    finally:
        connection.close()


def come_due():
    Flush.objects.filter(status="queued").update(due_at=timezone.now())


def log(space, day="2026-11-21"):
    document = MemoryDocument.objects.filter(space=space, path=f"memory/{day}.md").first()
    return document.content if document else None


def test_notes_stand_in_the_log_of_the_day_under_time_and_title(session, say, space, scripted):
    scripted.script(answer("- Moved to Bern."))
    say(session, "I moved to Bern.")
    last = say(session, "Noted.", at="2026-11-21T14:40+00:00", role="assistant")
    do(session)
    # Ada's clock is one hour ahead of UTC.
    assert log(space) == "# Saturday, 21 November 2026\n\n## 15:40 Tea\n\n- Moved to Bern.\n"
    done = Flush.objects.get()
    assert (done.status, done.after_seq, done.through_seq) == ("done", 0, 2)
    assert (done.day, done.reason, done.summarised) == (dt.date(2026, 11, 21), "switched", True)
    assert (done.revision.source, done.revision.author, done.revision.message) == ("flush", session.owner, last)


def test_a_second_flush_covers_only_what_is_new_and_stands_below_the_first(session, say, space, scripted):
    scripted.script(answer("- one"), answer("- two"))
    say(session, "first")
    do(session)
    say(session, "second", at="2026-11-21T16:00+00:00")
    do(session)
    assert log(space).endswith("## 15:32 Tea\n\n- one\n\n## 17:00 Tea\n\n- two\n")
    assert "first" not in scripted.messages[1].body["messages"][0]["content"]
    assert list(Flush.objects.order_by("pk").values_list("after_seq", "through_seq")) == [(0, 1), (1, 2)]


def test_with_nothing_new_nothing_is_queued_asked_or_written(session, say, space, scripted):
    assert flush.request(session, "switched") is None
    say(session, "first")
    do(session)
    before = log(space)
    do(session)
    assert flush.request(session, "day_changed") is None
    assert log(space) == before
    assert len(scripted.messages) == 1
    assert Flush.objects.count() == 1


def test_no_reply_covers_the_range_and_writes_nothing(session, say, space, scripted):
    scripted.script(answer("NO_REPLY"))
    say(session, "Hi!")
    do(session)
    assert log(space) is None
    assert Flush.objects.get().status == "nothing"
    assert claims.covered_through(session) == 1
    assert flush.request(session, "switched") is None


def test_many_triggers_before_a_worker_comes_are_one_flush(session, say):
    say(session, "first")
    first = flush.request(session, "switched")
    say(session, "second")
    assert flush.request(session, "left") == first
    assert claims.claim_flush(first.pk).through_seq == 2


def test_a_range_is_cut_at_the_persons_midnight(session, say, space, scripted):
    scripted.script(answer("- late"), answer("- early"))
    say(session, "It is 23:50 in Zurich.", at="2026-11-21T22:50+00:00")
    say(session, "It is 0:10 in Zurich.", at="2026-11-21T23:10+00:00")
    do(session)
    assert log(space, "2026-11-21").endswith("## 23:50 Tea\n\n- late\n")
    assert log(space, "2026-11-22") == "# Sunday, 22 November 2026\n\n## 00:10 Tea\n\n- early\n"
    assert list(Flush.objects.order_by("pk").values_list("after_seq", "through_seq")) == [(0, 1), (1, 2)]


@pytest.mark.parametrize(
    ("moments", "days"),
    [
        # The night in which the clock goes forward at 2:00, and the one in which it goes back at 3:00.
        (["2026-03-28T22:59+00:00", "2026-03-28T23:01+00:00", "2026-03-29T01:30+00:00"], ["2026-03-28", "2026-03-29"]),
        (["2026-10-24T21:59+00:00", "2026-10-25T00:30+00:00", "2026-10-25T01:30+00:00"], ["2026-10-24", "2026-10-25"]),
    ],
)
def test_when_the_clock_changes_nothing_is_lost_or_doubled(session, say, space, scripted, moments, days):
    for number, moment in enumerate(moments):
        say(session, f"message {number}", at=moment)
    do(session)
    asked = "".join(request.body["messages"][0]["content"] for request in scripted.messages)
    assert [asked.count(f"message {number}") for number in range(3)] == [1, 1, 1]
    assert [str(day) for day in Flush.objects.order_by("pk").values_list("day", flat=True)] == days


def test_a_changed_timezone_loses_and_doubles_nothing(session, say, ada, scripted):
    say(session, "one", at="2026-11-21T22:50+00:00")
    do(session)
    ada.timezone = "Pacific/Auckland"
    ada.save()
    say(session, "two", at="2026-11-21T22:55+00:00")
    do(session)
    assert list(Flush.objects.order_by("pk").values_list("after_seq", "through_seq")) == [(0, 1), (1, 2)]
    assert [day.day for day in Flush.objects.order_by("pk").values_list("day", flat=True)] == [21, 22]


def test_a_range_too_long_for_the_model_becomes_several(session, say, space, scripted):
    for number in range(3):
        say(session, f"{number}" + "x" * 50_000)
    do(session)
    assert len(scripted.messages) == 2
    assert list(Flush.objects.order_by("pk").values_list("after_seq", "through_seq")) == [(0, 2), (2, 3)]
    assert claims.covered_through(session) == 3


@pytest.mark.parametrize("how", ["complete", "interrupted"])
def test_an_answer_that_is_still_being_written_is_noted_with_its_question(
    ada, scripted, monkeypatch, django_capture_on_commit_callbacks, how
):
    accepted = send(ada, "Which tea?")
    session = accepted.message.session
    flush_soon(session, "left")
    queued = Flush.objects.get()
    assert (Flush.objects.due_ids(), flush.run(queued.pk), scripted.messages) == ([], None, [])
    assert coverage.of_session(session)[0].why == "waits for the answer that is being written (left)"
    if how == "complete":
        settle(accepted, "Camomile.")
        told = []
        monkeypatch.setattr(flush_session, "apply_async", lambda arguments, **options: told.append(*arguments))
        with django_capture_on_commit_callbacks(execute=True):
            turn_finished.send(ChatSession, user=ada, session=session, turn=accepted.turn)
        assert told == [queued.pk]
    else:
        abandon(accepted.turn)
        transcript.sweep()
    assert Flush.objects.due_ids() == [queued.pk]
    flush.run(queued.pk)
    assert Flush.objects.get().through_seq == 2
    asked = scripted.messages[0].body["messages"][0]["content"]
    assert "Which tea?" in asked
    assert ("Camomile." in asked) == (how == "complete")


def test_an_answer_that_is_written_again_when_its_conversation_is_left_is_noted(ada, scripted):
    accepted = send(ada, "Which tea?")
    settle(accepted, "Camomile.")
    session = accepted.message.session
    do(session)
    retry.repeat(ada, accepted.answer.pk, "retry")
    assert flush.request(session, "left") is not None


@pytest.mark.django_db(transaction=True)
def test_a_flush_that_waits_for_the_model_keeps_its_claim(session, say, space, scripted, monkeypatch):
    monkeypatch.setattr(Flush, "LEASE_SECONDS", 1)
    free = threading.Event()

    def words():
        assert free.wait(20)
        yield "- Moved to Bern."

    scripted.script(answer(text(words())))
    say(session, "I moved to Bern.")
    queued = flush.request(session, "switched")
    with ThreadPoolExecutor(1) as pool:
        done = pool.submit(in_a_thread, flush.run, queued.pk)
        try:
            scripted.wait_for(1)
            lease = Flush.objects.get().lease_until
            deadline = time.monotonic() + 10
            while Flush.objects.get().lease_until < lease + dt.timedelta(seconds=2):
                assert time.monotonic() < deadline, "The lease is not renewed."
                assert claims.claim_flush(queued.pk) is None
                time.sleep(0.05)
        finally:
            free.set()
        done.result()
    assert (Flush.objects.get().status, Flush.objects.get().attempts) == ("done", 1)


@pytest.mark.django_db(transaction=True)
def test_heartbeats_end_with_the_claim_and_with_the_work(session, say, monkeypatch):
    monkeypatch.setattr(Flush, "LEASE_SECONDS", 0.1)
    say(session, "first")
    claim = claims.claim_flush(flush.request(session, "switched").pk)
    with claim.flush.renewals():
        Flush.objects.update(token=uuid.uuid4(), lease_until=BEFORE)
        time.sleep(0.2)
        assert Flush.objects.get().lease_until == BEFORE
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("renewals")]


def test_tools_and_hidden_branches_are_not_shown_to_the_model(session, say, scripted):
    say(session, "Where do I live?")
    use = {"type": "tool_use", "id": "t", "name": "memory_search", "input": {"query": "secret query"}}
    say(session, "", role="assistant", content=[use])
    result = {"type": "tool_result", "tool_use_id": "t", "content": "recalled line"}
    say(session, "recalled line", role="tool", content=[result])
    say(session, "edited away", active=False)
    do(session)
    asked = scripted.messages[0].body["messages"][0]["content"]
    assert "Where do I live?" in asked
    for hidden in ("secret query", "recalled line", "edited away"):
        assert hidden not in asked
    assert claims.covered_through(session) == 4


def test_a_range_without_words_of_the_person_is_covered_without_the_model(session, say, scripted):
    say(session, "result", role="tool")
    do(session)
    assert scripted.messages == []
    assert (Flush.objects.get().status, claims.covered_through(session)) == ("nothing", 1)


@pytest.mark.parametrize("mode", ["chat", "temporary"])
def test_a_session_that_writes_no_memory_is_not_flushed(session, say, mode):
    say(session, "first")
    session.mode = mode
    session.save()
    assert flush.request(session, "switched") is None


def test_a_deleted_conversation_is_not_remembered(session, say, scripted):
    say(session, "first")
    queued = flush.request(session, "switched")
    session.deleted_at = timezone.now()
    session.save()
    assert flush.run(queued.pk) is None
    assert not Flush.objects.exists()
    assert scripted.messages == []
    assert flush.request(session, "switched") is None


def test_a_conversation_deleted_while_the_model_thinks_is_not_remembered(session, say, space):
    say(session, "first")
    claim = claims.claim_flush(flush.request(session, "switched").pk)
    ChatSession.objects.update(deleted_at=timezone.now())
    with pytest.raises(ClaimLostError):
        flush.finish(claim, "- notes")
    assert log(space) is None
    Flush.objects.update(lease_until=timezone.now() - dt.timedelta(seconds=1))
    assert flush.run(claim.flush.pk) is None
    assert not Flush.objects.exists()


def test_a_claimed_flush_is_nobody_elses(session, say):
    say(session, "first")
    queued = flush.request(session, "switched")
    assert claims.claim_flush(queued.pk)
    assert claims.claim_flush(queued.pk) is None
    assert Flush.objects.due_ids() == []


def test_a_flush_asked_for_during_another_one_waits_for_it(session, say, space, scripted):
    scripted.script(answer("- two"))
    say(session, "first")
    claim = claims.claim_flush(flush.request(session, "switched").pk)
    say(session, "second")
    waiting = flush.request(session, "left")
    assert claims.claim_flush(waiting.pk) is None
    flush.finish(claim, "- one")
    assert flush.run(waiting.pk) is None
    assert list(Flush.objects.order_by("pk").values_list("after_seq", "through_seq")) == [(0, 1), (1, 2)]
    assert log(space).endswith("- one\n\n## 15:32 Tea\n\n- two\n")


def test_a_worker_that_died_is_replaced_and_cannot_write_any_more(session, say, space, settings):
    say(session, "first")
    dead = claims.claim_flush(flush.request(session, "switched").pk)
    Flush.objects.update(lease_until=timezone.now() - dt.timedelta(seconds=1))
    assert Flush.objects.due_ids() == [dead.flush.pk]
    second = claims.claim_flush(dead.flush.pk)
    assert (second.after_seq, second.through_seq, second.flush.attempts) == (0, 1, 2)
    with pytest.raises(ClaimLostError):
        flush.finish(dead, "- from the dead")
    flush.finish(second, "- alive")
    with pytest.raises(ClaimLostError):
        flush.finish(second, "- again")
    assert log(space).count("- ") == 1


def test_a_failure_is_written_down_and_the_flush_is_due_later(session, say, space, scripted, caplog):
    scripted.script(overloaded(), overloaded(), overloaded())
    say(session, "first")
    queued = flush.request(session, "switched")
    assert flush.run(queued.pk) is None
    queued.refresh_from_db()
    assert (queued.status, queued.attempts, queued.after_seq, queued.token) == ("queued", 1, None, None)
    assert queued.error.startswith("Overloaded")
    assert 10 < (queued.due_at - timezone.now()).total_seconds() < 20
    assert f"Flush {queued.pk} failed in attempt 1: OverloadedError" in caplog.text
    assert Flush.objects.due_ids() == []
    assert flush.run(queued.pk) is None
    come_due()
    say(session, "second")
    scripted.script(answer("- both"))
    assert Flush.objects.due_ids() == [queued.pk]
    flush.run(queued.pk)
    queued.refresh_from_db()
    assert (queued.status, queued.through_seq, queued.error) == ("done", 2, "")
    assert log(space).endswith("- both\n")


def test_a_failed_flush_takes_over_what_was_asked_for_meanwhile(session, say):
    say(session, "first")
    claim = claims.claim_flush(flush.request(session, "switched").pk)
    say(session, "second")
    flush.request(session, "left")
    claims.put_back(claim, RuntimeError("no"))
    assert list(Flush.objects.values_list("pk", "status")) == [(claim.flush.pk, "queued")]


def test_after_five_failures_an_extract_stands_in_for_the_notes(session, say, space, scripted):
    scripted.default = lambda body: error(401, "authentication_error", "no")
    say(session, "I moved to Bern.")
    queued = flush.request(session, "switched")
    for _ in range(5):
        come_due()
        flush.run(queued.pk)
    queued.refresh_from_db()
    assert (queued.status, queued.attempts, queued.summarised) == ("done", 5, False)
    assert queued.error.startswith("KeyRefused")
    assert "*Not summarised: the model could not be reached." in log(space)
    assert "- 15:32 I moved to Bern." in log(space)


def test_notes_that_cannot_be_read_back_do_not_move_the_watermark(session, say, space):
    say(session, "first")
    claim = claims.claim_flush(flush.request(session, "switched").pk)
    with connection.cursor() as cursor:
        cursor.execute("""
            CREATE FUNCTION swallow() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN NEW.content := ''''; RETURN NEW; END';
            CREATE TRIGGER swallow BEFORE UPDATE ON memory_memorydocument FOR EACH ROW EXECUTE FUNCTION swallow();
        """)
    with pytest.raises(flush.NotWrittenError):
        flush.finish(claim, "- notes")
    assert not MemoryRevision.objects.exists()
    assert (Flush.objects.get().status, claims.covered_through(session)) == ("running", 0)


def test_the_notes_of_one_person_do_not_reach_another(session, say, stranger, strangers_space, scripted):
    other = ChatSession.objects.create(key="s", owner=stranger, agent=default_agent())
    say(session, "Ada's")
    say(other, "the stranger's")
    do(session)
    do(other)
    assert "Ada's" not in scripted.messages[1].body["messages"][0]["content"]
    for document in MemoryDocument.objects.visible_to(stranger):
        assert document.space == strangers_space


def test_the_database_refuses_notes_of_one_person_in_the_space_of_another(session, ada, stranger, strangers_space):
    theirs = ChatSession.objects.create(key="s", owner=stranger, agent=default_agent())

    @transaction.atomic
    def cross(**fields):
        Flush.objects.create(owner=ada, reason="x", **fields)
        connection.check_constraints()

    with pytest.raises(DatabaseError, match="does not belong into space"):
        cross(session=session, space=strangers_space)
    with pytest.raises(DatabaseError, match="flush_of_owners_session"):
        cross(session=theirs, space=Space.objects.own_of(ada))


@pytest.mark.django_db(transaction=True)
def test_two_workers_at_once_write_once_and_hold_no_row_while_the_model_thinks(session, say, space, scripted):
    free = []

    def look():
        try:
            with transaction.atomic(), connection.cursor() as cursor:
                # The other workers hold a row for a moment, to see that there is nothing for them to do.
                cursor.execute("SET LOCAL lock_timeout = '2s'")
                free.append(list(Flush.objects.select_for_update()))
                free.append(list(ChatSession.objects.select_for_update()))
        finally:
            connection.close()

    def thinking(body):
        # From a thread of its own: the rows are free while the model thinks.
        looking = threading.Thread(target=look)
        looking.start()
        looking.join()
        return answer("- once")

    scripted.default = thinking
    say(session, "first")
    start = threading.Barrier(8)

    def work():
        try:
            start.wait()
            do(session, "switched")
        finally:
            connection.close()

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(free) == 2
    assert log(space).count("- once") == 1
    assert [row.status for row in Flush.objects.all()] == ["done"]


def test_a_flush_that_does_not_exist_is_nothing_to_do(db):
    assert flush.run(12345) is None
