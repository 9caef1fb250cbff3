"""Each promise about jobs, broken behind the product's back, is seen for every kind of job."""

import pytest
from django.apps import apps
from django.db import connection
from django.utils import timezone

from chat.models import Beat, ContextRound, ImportJob, Schedule
from memory.models import Comparison, DocumentJob, FileVersion, Flush, LibraryFile, MemoryRevision
from oneclaw import invariants
from oneclaw.jobs import Job
from oneclaw.models import AccountImport, Offboarding

QUEUED = "status = 'queued', token = NULL, lease_until = NULL, finished_at = NULL, due_at = now()"
RUNNING = (
    "status = 'running', token = gen_random_uuid(), lease_until = now(), finished_at = NULL, attempts = 1,"
    " due_at = now() - interval '1 year'"
)
DONE = "status = 'done', token = NULL, lease_until = NULL, finished_at = now()"
FAILED = DONE.replace("done", "failed") + ", error = 'cut'"


@pytest.fixture(
    params=[Flush, DocumentJob, Comparison, ImportJob, ContextRound, Beat, FileVersion, AccountImport, Offboarding]
)
def job(request, world):
    """A job of each kind."""
    if request.param is Flush:
        return world.flush
    if request.param is ImportJob:
        return ImportJob.objects.create(owner=world.ada, name="conversations.json")
    if request.param is FileVersion:
        file = LibraryFile.objects.create(space=world.space, name="plan.md")
        return FileVersion.objects.create(owner=world.ada, file=file, number=1, size=0, sha256="")
    if request.param is Beat:
        schedule = Schedule.objects.create(owner=world.ada)
        return Beat.objects.create(owner=world.ada, schedule=schedule, planned_at=timezone.now())
    if request.param is ContextRound:
        through = world.session.messages.get(seq=1)
        kind, reason = ContextRound.Kind.COMPACT, ContextRound.Reason.COMMAND
        return ContextRound.objects.create(
            owner=world.ada, session=world.session, number=1, kind=kind, reason=reason, through=through
        )
    if request.param is AccountImport:
        return AccountImport.objects.create(owner=world.ada)
    if request.param is Offboarding:
        return Offboarding.objects.create(owner=world.ada, person=world.ada.pk)
    if request.param is Comparison:
        return Comparison.objects.create(owner=world.ada, revision=MemoryRevision.objects.earliest("pk"))
    kind = DocumentJob.Kind.LAST_MESSAGES
    return DocumentJob.objects.create(
        owner=world.ada, session=world.session, space=world.space, kind=kind, through_seq=1
    )


@pytest.fixture
def seen(job):
    """seen(change): what the check of the jobs says after this change of one."""

    def seen(change):
        with connection.cursor() as cursor:
            cursor.execute(f"UPDATE {job._meta.db_table} SET {change} WHERE id = %s", [job.pk])
        return list(invariants.broken_jobs())

    return seen


def test_the_check_of_everything_says_it_too(world, broken):
    lines = broken("UPDATE memory_flush SET finished_at = NULL WHERE id = %s", world.flush.pk)
    assert lines == [
        "a job is what its status says, and is done in time: "
        f"flush {world.flush.pk} is done but its end is not that of such a job"
    ]


def test_every_kind_of_job_is_tested():
    assert {model for model in apps.get_models() if issubclass(model, Job)} == {
        Flush,
        DocumentJob,
        Comparison,
        ImportJob,
        AccountImport,
        Offboarding,
        ContextRound,
        Beat,
        FileVersion,
    }


@pytest.mark.parametrize("change", [QUEUED, RUNNING, DONE, FAILED, DONE.replace("done", "nothing")])
def test_a_job_that_is_what_it_says(seen, change):
    assert seen(change) == []


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (RUNNING.replace("gen_random_uuid()", "NULL"), "is running but its claim is not that of such a job"),
        (RUNNING.replace("lease_until = now()", "lease_until = NULL"), "its claim is not that of such a job"),
        (QUEUED.replace("token = NULL", "token = gen_random_uuid()"), "is queued but its claim is not that"),
        (DONE.replace("lease_until = NULL", "lease_until = now()"), "is done but its claim is not that"),
        (QUEUED.replace("finished_at = NULL", "finished_at = now()"), "is queued but its end is not that"),
        (RUNNING.replace("finished_at = NULL", "finished_at = now()"), "is running but its end is not that"),
        (DONE.replace("finished_at = now()", "finished_at = NULL"), "is done but its end is not that"),
        (RUNNING.replace("attempts = 1", "attempts = 0"), "is running but was never claimed"),
        (FAILED.replace("'cut'", "''"), "is failed but does not say why"),
        (RUNNING.replace("= now(),", "= now() - interval '5 minutes',"), "is running but its lease ended 300 s ago"),
        (QUEUED.replace("= now()", "= now() - interval '2 days'"), "is queued but no worker claims it since 20"),
        (QUEUED + ", attempts = 201", "is queued but was tried 201 times"),
    ],
)
def test_a_job_that_is_not(seen, job, change, sentence):
    (line,) = seen(change)
    assert sentence in line
    assert line.startswith(f"{job._meta.verbose_name} {job.pk} is ")


@pytest.mark.parametrize(
    "change",
    [
        RUNNING.replace("= now(),", "= now() - interval '3 minutes',"),
        QUEUED.replace("= now()", "= now() - interval '23 hours'"),
        QUEUED + ", attempts = 200",
    ],
)
def test_a_job_that_waits_a_little(seen, change):
    assert seen(change) == []
