"""What waited before all jobs were of one kind waits after it, with its claim and its attempts; and back."""

import datetime as dt
import uuid
from types import SimpleNamespace

import pytest
from django.contrib.auth.models import Permission
from django.db import connection, transaction
from django.db.migrations.executor import MigrationExecutor
from django.utils import timezone

from chat.models import ChatSession, ImportJob, default_agent
from memory.models import DocumentJob, Flush
from oneclaw import invariants
from oneclaw.models import Space, User

pytestmark = pytest.mark.soak

TOKEN = uuid.uuid4()
TRIED = {"attempts": 3, "error": "no model"}


def migrate(*, back):
    """Go to the migrations before the jobs' own, or to the newest; returns the models as they are there."""
    executor = MigrationExecutor(connection)
    graph = executor.loader.graph
    own = [node for node in graph.nodes if node[0] in ("chat", "memory") and node[1].endswith("_jobs")]
    before = [parent.key for node in own for parent in graph.node_map[node].parents if parent.key[0] == node[0]]
    assert len(own) == len(before) == 2
    targets = before if back else graph.leaf_nodes()
    with connection.cursor() as cursor:
        # Rows of this transaction may not wait for their checks when their table changes.
        cursor.execute("SET CONSTRAINTS ALL IMMEDIATE")
    executor.migrate(targets)
    return executor.loader.project_state(targets).apps if back else None


@pytest.fixture(scope="module")
def upgraded(django_db_setup, django_db_blocker):
    """Rows in every state, as they were before; the database is migrated, and its transaction rolled back."""
    now = timezone.now()
    later = now + dt.timedelta(hours=1)
    claim = {"token": TOKEN, "lease_until": later, "attempts": 2}
    ended = {"attempts": 1, "finished_at": now}
    with django_db_blocker.unblock(), transaction.atomic():
        people = [User.objects.create_user(f"{name}@example.org") for name in ("ada", "bob", "eve")]
        owner = {"owner_id": people[0].pk, "space_id": Space.objects.own_of(people[0]).pk, "due_at": later}
        sessions = [
            ChatSession.objects.create(key=str(n), owner=people[0], agent=default_agent(), last_seq=9) for n in range(4)
        ]
        old = migrate(back=True)

        def made(model, each, **common):
            return [model.objects.create(**common, **fields) for fields in each]

        of_sessions = [{"session_id": session.pk} for session in sessions]
        covered = {"after_seq": 0, "through_seq": 9, "day": now.date()}
        errands = [{}, TRIED, claim, ended]
        flushes = [TRIED, {"status": "running", **claim}, {"status": "done", **ended}, {"status": "nothing", **ended}]
        flushes = [flushes[0], *(fields | covered for fields in flushes[1:])]
        imports = [
            {"state": "waiting", "created_at": now},
            {"state": "running", "total": 5, "done": 2, "position": 99, **claim},
            # One that has done a slice of its work waited like this for the next.
            {"state": "running", "total": 5, "done": 4},
            {"state": "done", "finished_at": now},
            {"state": "failed", "error": "cut", "finished_at": now},
        ]
        of_people = [{"owner_id": person.pk} for person in (*people, people[0], people[0])]
        rows = SimpleNamespace(
            now=now,
            later=later,
            errands=made(
                old.get_model("memory", "Errand"),
                [s | e for s, e in zip(of_sessions, errands, strict=True)],
                kind="recent",
                through_seq=7,
                **owner,
            ),
            flushes=made(
                old.get_model("memory", "Flush"),
                [s | f for s, f in zip(of_sessions, flushes, strict=True)],
                reason="left",
                **owner,
            ),
            imports=made(old.get_model("chat", "ImportJob"), [o | i for o, i in zip(of_people, imports, strict=True)]),
            columns=list(old.get_model("memory", "Flush").objects.order_by("pk").values()),
            permission=old.get_model("auth", "Permission").objects.get(codename="view_errand").name,
        )
        migrate(back=False)
        yield rows
        transaction.set_rollback(True)


def test_errands_are_document_jobs(upgraded, db):
    columns = ("status", "attempts", "error", "token", "lease_until", "due_at", "through_seq", "finished_at")
    later = upgraded.later
    rows = [DocumentJob.objects.values_list(*columns).get(pk=errand.pk) for errand in upgraded.errands]
    assert rows == [
        ("queued", 0, "", None, None, later, 7, None),
        ("queued", 3, "no model", None, None, later, 7, None),
        ("running", 2, "", TOKEN, later, later, 7, None),
        ("done", 1, "", None, None, later, 7, upgraded.now),
    ]


def test_imports_go_on_where_they_were(upgraded, db):
    waiting, running, between, done, failed = (ImportJob.objects.get(pk=old.pk) for old in upgraded.imports)
    statuses = [job.status for job in (waiting, running, between, done, failed)]
    assert statuses == ["queued", "running", "queued", "done", "failed"]
    assert (running.token, running.lease_until, running.attempts) == (TOKEN, upgraded.later, 2)
    assert (running.done, running.position, between.done) == (2, 99, 4)
    assert (waiting.due_at, failed.error) == (upgraded.now, "cut")
    assert set(ImportJob.objects.due_ids()) == {waiting.pk, between.pk}


def test_flushes_keep_their_claims_and_attempts(upgraded, db):
    assert list(Flush.objects.order_by("pk").values(*upgraded.columns[0])) == upgraded.columns


def test_no_job_contradicts_itself(upgraded, db):
    assert list(invariants.broken_jobs()) == []


def test_who_might_look_at_errands_may_look_at_document_jobs(upgraded, db):
    assert upgraded.permission == "Can view errand"
    assert Permission.objects.get(codename="view_documentjob").name == "Can view document job"


def test_the_way_back(upgraded, db):
    old = migrate(back=True)
    errands = old.get_model("memory", "Errand").objects
    assert errands.filter(finished_at=None).count() == 3
    assert errands.get(pk=upgraded.errands[2].pk).lease_until == upgraded.later
    states = old.get_model("chat", "ImportJob").objects.values_list("state", flat=True)
    assert set(states) == {"waiting", "running", "done", "failed"}
