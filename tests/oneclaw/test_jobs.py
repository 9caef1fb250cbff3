"""A job is done by one worker at a time, again after a failure, and by the database's clock. Told with imports."""

import datetime as dt
import threading
from types import SimpleNamespace

import pytest
from celery import current_app
from django.db import connection, transaction
from django.utils import timezone

from chat.models import ImportJob
from memory.models import DocumentJob, Flush
from oneclaw import jobs, tasks
from oneclaw.jobs import ClaimLostError, DueJob
from oneclaw.models import AccountImport


@pytest.fixture
def job(ada):
    return ImportJob.objects.create(owner=ada, name="conversations.json")


def row(job):
    return ImportJob.objects.get(pk=job.pk)


def seconds_until(moment):
    return (moment - timezone.now()).total_seconds()


def end_lease():
    ImportJob.objects.update(lease_until=timezone.now() - dt.timedelta(seconds=1))


def test_a_new_job_is_due_and_claimed_once(job):
    assert job.is_open
    assert ImportJob.objects.due_ids() == [job.pk]
    claimed = ImportJob.objects.claim(job.pk, done=3)
    assert (claimed.status, claimed.attempts, claimed.done) == ("running", 1, 3)
    assert 115 < seconds_until(claimed.lease_until) < 121
    assert ImportJob.objects.claim(job.pk) is None
    assert ImportJob.objects.due_ids() == []


def test_a_job_that_is_not_due_is_not_claimed(job):
    ImportJob.objects.update(due_at=timezone.now() + dt.timedelta(minutes=1))
    assert ImportJob.objects.claim(job.pk) is None
    assert (row(job).status, row(job).attempts) == ("queued", 0)


def test_whose_lease_has_ended_loses_the_job_once_another_worker_claims_it(job):
    slow = ImportJob.objects.claim(job.pk)
    end_lease()
    slow.renew(done=1)
    assert ImportJob.objects.claim(job.pk) is None
    end_lease()
    fast = ImportJob.objects.claim(job.pk)
    assert (fast.attempts, fast.done) == (2, 1)
    for write in (slow.renew, slow.finish, slow.release, lambda: slow.postpone("late")):
        with pytest.raises(ClaimLostError):
            write()
    assert (row(job).token, row(job).error) == (fast.token, "")
    fast.finish()
    for write in (fast.renew, fast.finish):
        with pytest.raises(ClaimLostError):
            write()


def test_who_has_no_claim_writes_nothing(job):
    for write in (job.renew, job.finish, job.release, lambda: job.postpone("no")):
        with pytest.raises(ClaimLostError):
            write()
    assert row(job).status == "queued"


def test_a_deleted_job_is_a_lost_claim(job):
    claimed = ImportJob.objects.claim(job.pk)
    ImportJob.objects.all().delete()
    with pytest.raises(ClaimLostError):
        claimed.finish()


def test_the_end_of_a_job(job):
    ImportJob.objects.claim(job.pk).finish(ImportJob.Status.FAILED, "cut", done=2)
    done = row(job)
    assert (done.status, done.error, done.done, done.token, done.lease_until) == ("failed", "cut", 2, None, None)
    assert -5 < seconds_until(done.finished_at) <= 1
    assert not done.is_open
    assert not ImportJob.objects.open().exists()
    assert not ImportJob.objects.finished().exists()


def test_after_each_failure_a_job_waits_longer(job):
    waits = []
    for _ in range(6):
        ImportJob.objects.update(due_at=timezone.now())
        ImportJob.objects.claim(job.pk).postpone("no model", total=None)
        waits.append(round(seconds_until(row(job).due_at), -1))
    assert waits == [20, 60, 300, 900, 900, 900] or waits == [10, 60, 300, 900, 900, 900]
    failed = row(job)
    assert (failed.status, failed.attempts, failed.error) == ("queued", 6, "no model")
    assert (failed.token, failed.lease_until) == (None, None)


def test_a_released_job_is_due_at_once_as_if_it_was_never_tried(job):
    ImportJob.objects.claim(job.pk).release()
    assert (row(job).status, row(job).attempts, row(job).token) == ("queued", 0, None)
    assert ImportJob.objects.due_ids() == [job.pk]


def test_what_is_rolled_back_leaves_the_claim(job):
    claimed = ImportJob.objects.claim(job.pk)
    with transaction.atomic():
        claimed.finish()
        transaction.set_rollback(True)
    assert row(job).status == "running"
    claimed.postpone("no")
    assert row(job).status == "queued"


@pytest.mark.parametrize("hours", [-5, 5])
def test_a_worker_whose_clock_is_wrong_steals_no_claim_and_sees_what_is_due(job, monkeypatch, hours):
    wrong = timezone.now() + dt.timedelta(hours=hours)
    monkeypatch.setattr("django.utils.timezone.now", lambda: wrong)
    assert ImportJob.objects.due_ids() == [job.pk]
    claimed = ImportJob.objects.claim(job.pk)
    assert ImportJob.objects.claim(job.pk) is None
    claimed.renew()
    claimed.postpone("no")
    monkeypatch.undo()
    assert 10 < seconds_until(row(job).due_at) < 20


class FullError(Exception):
    wait_seconds = 90.0


def attempted(job, error):
    """Let an attempt at the job fail with `error`, where ValueError is expected, and KeyError a fault."""
    claimed = ImportJob.objects.claim(job.pk)
    with claimed.attempt(ValueError, FullError, faults=(KeyError,)):
        raise error
    return row(job)


def test_an_attempt_that_fails_is_put_back_and_logged_with_its_traceback_when_it_is_a_fault(job, caplog):
    failed = attempted(job, ValueError("no"))
    assert (failed.status, failed.attempts, failed.error, failed.token) == ("queued", 1, "ValueError: no", None)
    assert 10 < seconds_until(failed.due_at) < 20
    ImportJob.objects.update(due_at=timezone.now())
    failed = attempted(job, KeyError("tea"))
    assert (failed.status, failed.attempts, failed.error) == ("queued", 2, "KeyError: 'tea'")
    assert 50 < seconds_until(failed.due_at) < 65
    assert [bool(record.exc_info) for record in caplog.records] == [False, True]
    assert f"ImportJob {job.pk} failed in attempt 2: KeyError" in caplog.text


def test_an_attempt_that_has_to_wait_does_not_count(job):
    waiting = attempted(job, FullError())
    assert (waiting.status, waiting.attempts) == ("queued", 0)
    assert 85 < seconds_until(waiting.due_at) < 95


def test_after_its_last_attempt_a_job_has_failed(job, monkeypatch):
    monkeypatch.setattr(ImportJob, "MAX_ATTEMPTS", 2)
    assert attempted(job, ValueError("no")).status == "queued"
    ImportJob.objects.update(due_at=timezone.now())
    failed = attempted(job, ValueError("no"))
    assert (failed.status, failed.error, failed.is_open) == ("failed", "ValueError: no", False)


def test_an_error_that_nobody_expected_rises_and_the_job_is_claimed_again_after_its_lease(job):
    with pytest.raises(TypeError):
        attempted(job, TypeError())
    assert row(job).status == "running"
    end_lease()
    assert ImportJob.objects.due_ids() == [job.pk]


@pytest.mark.parametrize("error", [None, ValueError("late")])
def test_an_attempt_that_has_lost_its_claim_writes_nothing(job, error):
    slow = ImportJob.objects.claim(job.pk)
    end_lease()
    fast = ImportJob.objects.claim(job.pk)
    with slow.attempt(ValueError):
        if error:
            raise error
        slow.finish()
    assert (row(job).token, row(job).status, row(job).error) == (fast.token, "running", "")


def test_the_leases_are_those_of_the_settings(settings):
    assert Flush.LEASE_SECONDS == DocumentJob.LEASE_SECONDS == settings.LEASES.flush_seconds
    assert jobs.BACKOFF_SECONDS[0] == 15


# Tasks of a previous release are in the queue during an upgrade.
TASKS = {
    "chat": {"make_round", "run_beat", "take_in", "offboard", "take_account_in"},
    "memory": {"flush_session", "run_document_job", "compare_saved_line", "read_library_file"},
}


def test_each_kind_of_job_has_its_task_by_the_name_of_earlier_releases():
    names = {f"{app}.tasks.{name}" for app, found in TASKS.items() for name in found}
    assert {kind.TASK for kind in jobs.kinds()} == names
    assert len(jobs.kinds()) == len(names)
    assert {name for name in names if name in current_app.tasks} == names


def test_a_sweep_sends_the_jobs_of_its_app_that_are_due(job, ada, stranger, monkeypatch):
    sent = []
    monkeypatch.setattr(tasks, "send", lambda task, *arguments: sent.append((task, *arguments)))
    of_account = AccountImport.objects.create(owner=ada)
    AccountImport.objects.create(owner=stranger, due_at=timezone.now() + dt.timedelta(minutes=1))
    tasks.sweep_jobs("memory")
    assert sent == []
    tasks.sweep_jobs("chat")
    assert sorted(sent) == [("chat.tasks.take_account_in", of_account.pk), ("chat.tasks.take_in", job.pk)]


def test_the_task_of_a_job_sends_the_one_that_is_due_after_it(job, monkeypatch):
    done, sent = [], []
    following = iter((None, DueJob(7, 2.5)))
    monkeypatch.setattr(tasks, "send", lambda *arguments, countdown: sent.append((*arguments, countdown)))
    kind = SimpleNamespace(TASK="tests.other", _meta=ImportJob._meta)
    do = tasks.job_task(kind, lambda pk: done.append(pk) or next(following))
    do(str(job.pk))
    assert (done, sent) == ([job.pk], [])
    do(str(job.pk))
    assert sent == [("tests.other", 7, 2.5)]


def test_of_a_person_only_the_own_jobs_are_visible(job, ada, stranger):
    assert list(ImportJob.objects.visible_to(ada)) == [job]
    assert not ImportJob.objects.visible_to(stranger).exists()


@pytest.mark.django_db(transaction=True)
def test_of_many_workers_at_once_one_has_the_job(job):
    start, claimed = threading.Barrier(6), []

    def work():
        try:
            start.wait()
            claimed.append(ImportJob.objects.claim(job.pk))
        finally:
            connection.close()

    threads = [threading.Thread(target=work) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(claimed) == 6
    assert len([each for each in claimed if each is not None]) == 1
    assert row(job).attempts == 1
