"""When something happens to a conversation, a flush of it is queued, and a worker is told."""

import datetime as dt
import subprocess
import sys
import uuid
from pathlib import Path

import pytest
from django.utils import timezone

from chat.conversations import lifecycle, presence
from chat.models import ChatSession, Presence, default_agent
from memory import tasks
from memory.models import Flush, MemoryDocument
from memory.notes import flush


def test_every_module_with_a_receiver_is_loaded_together_with_django():
    root = Path(__file__).parents[2]
    files = [file.relative_to(root) for app in ("oneclaw", "chat", "memory") for file in (root / app).rglob("*.py")]
    wanted = {".".join(file.with_suffix("").parts) for file in files if "\n@receiver(" in (root / file).read_text()}
    program = "import django, sys; django.setup(); print(*sys.modules)"
    said = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, cwd=root)
    assert "memory.receivers" in wanted
    assert wanted <= set(said.stdout.split())


@pytest.fixture
def told(monkeypatch):
    """What the workers were told, in place of a broker."""
    told = []
    # The sweep's own look for texts without a vector is told each time.
    monkeypatch.setattr(tasks.embed_pending, "apply_async", lambda args, **options: None)
    for task in (tasks.flush_session, tasks.run_document_job, tasks.index_document, tasks.mirror_document):
        name = task.name.rpartition(".")[2]
        monkeypatch.setattr(task, "apply_async", lambda args, name=name, **options: told.append((name, *args)))
    return told


@pytest.fixture
def other(ada, say):
    return ChatSession.objects.create(key="other", owner=ada, agent=default_agent())


@pytest.fixture
def open_session(ada, django_capture_on_commit_callbacks):
    def open_session(session_id):
        with django_capture_on_commit_callbacks(execute=True):
            return lifecycle.open_session(ada, session_id)

    return open_session


def test_switching_to_another_existing_session_flushes_the_one_left(session, other, say, told, open_session):
    say(session, "first")
    open_session(session.pk)
    assert told == []
    open_session(other.pk)
    queued = Flush.objects.get()
    assert (queued.session, queued.reason, queued.status) == (session, "switched", "queued")
    assert told == [("flush_session", queued.pk)]


def test_a_new_chat_and_the_same_session_are_no_switch(session, say, told, open_session):
    say(session, "first")
    open_session(session.pk)
    open_session(session.pk)
    open_session(uuid.uuid4())
    assert told == []
    assert not Flush.objects.exists()


def test_a_new_day_flushes_the_current_session(session, say, ada, told, django_capture_on_commit_callbacks):
    say(session, "first")
    Presence.objects.create(user=ada, session=session, day=ada.day() - dt.timedelta(days=1))
    with django_capture_on_commit_callbacks(execute=True):
        presence.arrive(ada)
    assert Flush.objects.get().reason == "day_changed"
    assert told == [("flush_session", Flush.objects.get().pk)]


def test_a_new_day_without_a_current_session_is_fine(ada, told):
    Presence.objects.create(user=ada, day=ada.day() - dt.timedelta(days=1))
    presence.arrive(ada)
    assert not Flush.objects.exists()
    assert Presence.objects.get().day == ada.day()


def test_ending_a_session_flushes_it(session, say, told, django_capture_on_commit_callbacks):
    say(session, "first")
    with django_capture_on_commit_callbacks(execute=True):
        lifecycle.end(session, "end")
    assert Flush.objects.get().reason == "ended"


@pytest.mark.parametrize("reason", ["new", "reset", "archive"])
def test_every_way_to_end_a_session_flushes_it(session, say, told, reason, django_capture_on_commit_callbacks):
    say(session, "first")
    with django_capture_on_commit_callbacks(execute=True):
        lifecycle.end(session, reason)
    assert Flush.objects.get().reason == "ended"


def test_leaving_flushes_the_session_that_was_open(session, say, ada, told, django_capture_on_commit_callbacks):
    say(session, "first")
    Presence.objects.create(user=ada, session=session, here=True, seen_at=timezone.now() - dt.timedelta(seconds=61))
    with django_capture_on_commit_callbacks(execute=True):
        presence.sweep()
    assert (Flush.objects.get().session, Flush.objects.get().reason) == (session, "left")


def test_a_conversation_that_nobody_closes_is_flushed_once_it_is_idle(session, say, told, settings):
    say(session, "first")
    session.active_at = timezone.now() - dt.timedelta(minutes=settings.IDLE_MINUTES - 1)
    session.save()
    tasks.sweep()
    assert not Flush.objects.exists()
    session.active_at -= dt.timedelta(minutes=2)
    session.save()
    tasks.sweep()
    tasks.sweep()
    assert (Flush.objects.get().session, Flush.objects.get().reason) == (session, "idle")


def test_an_idle_conversation_that_is_noted_is_left_alone(session, say, scripted):
    say(session, "first")
    session.active_at = timezone.now() - dt.timedelta(days=1)
    session.save()
    assert flush.idle() == [session]
    flush.run(flush.request(session, "idle").pk)
    assert flush.idle() == []
    say(session, "second")
    assert flush.idle() == [session]


@pytest.mark.parametrize("change", [{"mode": "chat"}, {"mode": "temporary"}, {"deleted_at": timezone.now()}])
def test_what_is_not_to_be_remembered_is_never_idle(session, say, change):
    say(session, "first")
    ChatSession.objects.update(active_at=timezone.now() - dt.timedelta(days=1), **change)
    assert flush.idle() == []


def test_a_broker_that_is_down_is_logged_and_the_sweep_finds_the_flush(
    session, other, say, open_session, monkeypatch, caplog, told
):
    def down(args, **options):
        raise ConnectionError("no broker")

    with monkeypatch.context() as broken:
        broken.setattr(tasks.flush_session, "apply_async", down)
        say(session, "first")
        open_session(session.pk)
        open_session(other.pk)
    assert "no broker" in caplog.text
    tasks.sweep()
    assert told == [("flush_session", Flush.objects.get().pk)]


def test_the_sweep_finds_what_is_due_and_nothing_else(session, say, told, space, append):
    revision = append(space, "tea")
    tasks.sweep()
    assert told == [("index_document", revision.document_id), ("mirror_document", revision.document_id)]
    told.clear()
    MemoryDocument.objects.update(indexed_version=1, mirrored_version=1)
    say(session, "first")
    tasks.flush_soon(session, "switched")
    Flush.objects.update(due_at=timezone.now() + dt.timedelta(minutes=1))
    tasks.sweep()
    assert told == []
    Flush.objects.update(status="running", lease_until=timezone.now() - dt.timedelta(seconds=1))
    tasks.sweep()
    assert told == [("flush_session", Flush.objects.get().pk)]


def test_a_task_delivered_twice_writes_once(session, say, space, scripted, told):
    say(session, "one", at="2026-11-20T12:00+00:00")
    say(session, "two")
    tasks.flush_soon(session, "switched")
    queued = Flush.objects.get()
    tasks.flush_session(queued.pk)
    tasks.flush_session(queued.pk)
    assert len(scripted.messages) == 1
    # The range was cut at midnight: the worker is told of the rest.
    assert [name for name, _ in told] == ["flush_session"]
    tasks.flush_session(told[0][1])
    assert len(scripted.messages) == 2
    assert space.documents.count() == 2


def test_index_and_mirror_tasks_do_their_work_once(space, append, told):
    revision = append(space, "tea")
    for _ in range(2):
        tasks.index_document(revision.document_id)
        tasks.mirror_document(revision.document_id)
    document = MemoryDocument.objects.get()
    assert (document.indexed_version, document.mirrored_version) == (1, 1)
