"""What was said elsewhere, long ago, is in the list and in the search, and is never learnt as if it were of today."""

import datetime as dt

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.utils import timezone

from chat.conversations import lifecycle
from chat.models import ChatSession
from chat.transfer.importing import jobs
from memory.models import DocumentJob, Flush, MemoryDocument
from memory.notes import coverage, document_jobs, flush, last_messages, recent
from oneclaw import invariants
from tests import scripted as model
from tests.conversations import send, settle
from tests.imports import CHATGPT, as_json


@pytest.fixture
def imported(ada):
    jobs.run(jobs.begin(ada, SimpleUploadedFile("c.json", as_json([CHATGPT]))).pk)
    return ChatSession.objects.get()


def test_nothing_of_it_is_ever_noted(ada, imported):
    assert flush.idle(timezone.now() + dt.timedelta(days=1)) == []
    assert flush.request(imported, "switched") is None
    assert Flush.objects.due_ids() == []
    (part,) = coverage.of_session(imported)
    assert (part.first, part.last, part.state) == (1, 4, "skipped")
    assert part.why.startswith("imported")
    assert list(invariants.check()) == []


def test_what_is_said_in_it_now_is_noted_alone(ada, imported, scripted):
    settle(send(ada, "I moved to Bern", imported.pk), "Good.")
    queued = flush.request(imported, "ended")
    scripted.script(model.answer("- Moved to Bern."))
    flush.run(queued.pk)
    asked = str(scripted.requests[-1])
    assert "I moved to Bern" in asked
    assert "cups of tea" not in asked
    log = MemoryDocument.objects.get(path=flush.log_path(ada.day()))
    assert "- Moved to Bern." in log.content
    assert [part.state for part in coverage.of_session(imported)] == ["skipped", "covered"]
    scripted.script(model.answer('{"title": "Bern", "summary": "Moved."}'))
    job = DocumentJob.objects.get(kind=DocumentJob.Kind.RECENT)
    recent.compose(job)
    assert "cups of tea" not in str(scripted.requests[-1])
    assert list(invariants.check()) == []


def test_its_last_messages_go_into_no_file(ada, imported, scripted, django_capture_on_commit_callbacks):
    with django_capture_on_commit_callbacks(execute=True):
        lifecycle.end(imported, "new")
    job = document_jobs.request(imported, DocumentJob.Kind.LAST_MESSAGES, imported.last_seq)
    assert last_messages.compose(job) is None
    assert Flush.objects.get().reason == "imported"


def test_one_that_cannot_be_kept_out_of_memory_does_not_come(ada, monkeypatch):
    def refuse(session, after_seq):
        raise RuntimeError

    monkeypatch.setattr("memory.receivers.cover_imported", refuse)
    job = jobs.begin(ada, SimpleUploadedFile("c.json", as_json([CHATGPT])))
    with pytest.raises(RuntimeError):
        jobs.run(job.pk)
    assert not ChatSession.objects.exists()
