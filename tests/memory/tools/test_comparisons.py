"""A saved line that could not be compared with older ones is compared later."""

import datetime as dt

import pytest
from django.utils import timezone

from chat.extensions import ToolCall
from chat.models import Message
from memory import tasks
from memory.documents import write
from memory.documents.write import Author, Replace, Source
from memory.models import Comparison, Decision, MemoryDocument, MemoryRevision
from memory.tools import comparisons
from memory.tools.save_memory import SAVE
from oneclaw.demo.scripted import answer, bad_request, server_fault, thinking


@pytest.fixture
def saved(session, scripted, django_capture_on_commit_callbacks):
    """saved(*replies): save two lines that contradict each other, while the model replies so."""
    message = Message.objects.create(session=session, seq=1, role="assistant")

    def save(content, id):
        with django_capture_on_commit_callbacks(execute=True):
            return SAVE.call(ToolCall(id, "save_memory", {"content": content}, session.owner, session, message.pk))

    def saved(*replies):
        save("Ada lives in Zurich.", "a")
        scripted.script(*replies)
        return save("Ada lives in Bern.", "b").content

    return saved


def later():
    """Let the time pass until it is due, and do what a sweep would enqueue."""
    Comparison.objects.filter(status="queued").update(due_at=timezone.now() - dt.timedelta(seconds=1))
    for comparison_id in Comparison.objects.due_ids():
        tasks.compare_saved_line(comparison_id)


CUT = answer("1", stop_reason="max_tokens")


@pytest.mark.parametrize("failing", [[bad_request()], [CUT, CUT], [answer(thinking("Hm."))]])
def test_what_the_model_could_not_say_while_saving_it_is_asked_later(saved, scripted, failing):
    assert saved(*failing) == {"saved": True, "path": "MEMORY.md"}
    job = Comparison.objects.get()
    assert (job.status, job.due_at > timezone.now(), job.revision) == (
        "queued",
        True,
        MemoryRevision.objects.latest("pk"),
    )
    assert Comparison.objects.due_ids() == []
    scripted.script(bad_request(), answer("1"))
    later()
    job.refresh_from_db()
    assert (job.status, job.attempts, Decision.objects.count()) == ("queued", 1, 0)
    later()
    job.refresh_from_db()
    decision = Decision.objects.get()
    assert (job.status, decision.kind, decision.revision_id) == ("done", "contradiction", job.revision_id)
    later()
    assert Decision.objects.count() == 1


def test_a_clear_word_of_the_model_needs_no_second_try(saved):
    saved(answer("NONE"))
    assert not Comparison.objects.exists()


def test_nothing_is_asked_about_a_line_that_is_gone(saved, scripted, ada, space):
    saved(bad_request())
    document = MemoryDocument.objects.get(path="MEMORY.md")
    write.apply(space, "MEMORY.md", Replace("- Ada lives in Zurich.\n", document.version), Author(Source.PAGE, ada))
    asked = len(scripted.messages)
    later()
    assert (Comparison.objects.get().status, len(scripted.messages)) == ("nothing", asked)


def test_after_many_failures_the_line_stays_as_it_is(saved, scripted):
    scripted.default = lambda body: bad_request()
    saved()
    for _ in range(comparisons.TRIES_MAX_COUNT + 2):
        later()
    job = Comparison.objects.get()
    assert (job.status, job.attempts) == ("failed", comparisons.TRIES_MAX_COUNT)
    assert "BadRequestError" in job.error


def test_the_model_is_asked_without_thinking_and_with_room(saved, scripted):
    saved(answer("NONE"))
    body = scripted.messages[0].body
    assert (body["thinking"], body["max_tokens"]) == ({"type": "disabled"}, 200)


def test_the_sweep_finds_it(saved, scripted, monkeypatch):
    sent = []
    monkeypatch.setattr(tasks, "send", lambda task, *arguments: sent.append((task, arguments)))
    saved(server_fault(), server_fault(), server_fault())
    Comparison.objects.update(due_at=timezone.now() - dt.timedelta(seconds=1))
    tasks.sweep()
    assert (tasks.compare_saved_line, (Comparison.objects.get().pk,)) in sent
