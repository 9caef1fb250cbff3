"""A summary waits until memory has what it is about to replace: notes of it, and an index to find it by."""

import datetime as dt
import json

import pytest
from django.utils import timezone

from chat import extensions
from chat.compaction import make
from chat.context.rounds import rounds_for_turn
from chat.conversations import lifecycle, titles
from chat.extensions import ToolCall
from chat.models import ChatSession, ContextRound, default_agent
from memory import tasks
from memory.access.load import access_of
from memory.index import conversations
from memory.invariants import find_summaries_without_notes
from memory.models import DocumentJob, Flush, MemoryDocument, TranscriptIndex
from memory.notes import claims, document_jobs, flush
from memory.notes.claims import MODEL_MAX_ATTEMPTS
from memory.policy import switches
from memory.policy.switches import Switch
from memory.tools.reading import SEARCH
from oneclaw.jobs import DueJob
from tests.scripted import answer, overloaded
from tests.summaries import is_summary, replying


@pytest.fixture
def told(monkeypatch):
    """What the workers were told, in place of a broker."""
    told = []
    for task in (tasks.flush_session, tasks.index_transcript, tasks.run_document_job):
        name = task.name.rpartition(".")[2]
        monkeypatch.setattr(
            task, "apply_async", lambda args, kwargs=None, name=name, **options: told.append((name, *args))
        )
    return told


@pytest.fixture
def prepare(told, django_capture_on_commit_callbacks):
    """prepare(session, through_seq): as the chat asks memory."""

    def prepare(session, through_seq):
        with django_capture_on_commit_callbacks(execute=True):
            return extensions.memory().prepare_compaction(session, through_seq)

    return prepare


def work():
    """What the workers do."""
    for flush_id in Flush.objects.due_ids():
        flush.run(flush_id)
    for index_id in TranscriptIndex.objects.filter(due_at__lte=timezone.now()).values_list("pk", flat=True):
        conversations.run(index_id)


def logs():
    return [found.content for found in MemoryDocument.objects.filter(path__startswith="memory/").order_by("path")]


@pytest.fixture
def talk(session, say):
    say(session, "I moved to Bern.")
    say(session, "I see.", role="assistant")
    return session


def test_notes_and_index_are_asked_of_the_workers_once_and_then_it_is_ready(talk, prepare, told, scripted):
    scripted.script(answer("- Moved to Bern."))
    assert [prepare(talk, 2) for _ in range(3)] == [False] * 3
    queued, index = Flush.objects.get(), TranscriptIndex.objects.get()
    assert queued.reason == "compaction"
    assert told == [("flush_session", queued.pk), ("index_transcript", index.pk)]
    due_at = index.due_at
    prepare(talk, 2)
    assert TranscriptIndex.objects.get().due_at == due_at
    work()
    assert prepare(talk, 2)
    (log,) = logs()
    assert log.count("- Moved to Bern.") == 1
    assert len(told) == 2
    assert (claims.covered_through(talk), TranscriptIndex.objects.get().through_seq) == (2, 2)


def test_nothing_worth_noting_is_ready_as_well(talk, prepare, scripted):
    scripted.script(answer("NO_REPLY"))
    prepare(talk, 2)
    work()
    assert Flush.objects.get().status == "nothing"
    assert prepare(talk, 2)


def test_a_flush_that_failed_is_waited_for_until_its_notes_are_there(talk, prepare, told, scripted):
    scripted.script(*[overloaded()] * 3 * MODEL_MAX_ATTEMPTS)
    for attempt in range(1, MODEL_MAX_ATTEMPTS + 1):
        assert not prepare(talk, 2)
        work()
        # Not due before its backoff, however often it is asked for.
        waiting = Flush.objects.get()
        assert (waiting.attempts, waiting.status) == (attempt, "queued" if attempt < MODEL_MAX_ATTEMPTS else "done")
        if waiting.is_open:
            assert not prepare(talk, 2)
            work()
            assert Flush.objects.get().attempts == attempt
            Flush.objects.update(due_at=timezone.now())
    assert prepare(talk, 2)
    assert not Flush.objects.get().summarised
    assert "I moved to Bern." in logs()[0]
    assert told.count(("flush_session", Flush.objects.get().pk)) == 1


def test_a_flush_that_was_already_asked_for_is_the_one_that_is_waited_for(talk, prepare, told, scripted):
    scripted.script(answer("- Moved to Bern."))
    queued = flush.request(talk, "left")
    assert not prepare(talk, 2)
    assert ("flush_session", queued.pk) not in told
    work()
    assert prepare(talk, 2)
    assert Flush.objects.get().reason == "left"


def test_messages_after_the_range_are_not_waited_for(talk, prepare, say, scripted):
    scripted.script(answer("- Moved to Bern."))
    prepare(talk, 2)
    work()
    say(talk, "And I have a cat.")
    assert prepare(talk, 2)
    assert not prepare(talk, 3)
    assert Flush.objects.queued().get().reason == "compaction"


def test_a_long_range_is_waited_for_to_its_end(talk, prepare, say, scripted):
    say(talk, "I have a cat.", at="2026-11-22T10:00+00:00")
    scripted.script(answer("- Moved to Bern."), answer("- Has a cat."))
    prepare(talk, 3)
    work()
    assert not prepare(talk, 3)
    work()
    assert prepare(talk, 3)
    assert [("Bern" in log, "cat" in log) for log in logs()] == [(True, False), (False, True)]


@pytest.mark.parametrize("mode", ["temporary", "chat"])
def test_a_conversation_that_writes_no_memory_is_ready_at_once(ada, say, prepare, told, mode):
    hidden = ChatSession.objects.create(key=mode, owner=ada, agent=default_agent(), mode=mode)
    say(hidden, "I moved to Bern.")
    assert prepare(hidden, 1)
    assert (told, Flush.objects.exists(), TranscriptIndex.objects.exists()) == ([], False, False)


def test_a_deleted_one_is_ready_at_once(talk, prepare, told):
    lifecycle.delete(ChatSession.objects.get())
    assert prepare(talk, 2)
    assert (told, Flush.objects.exists()) == ([], False)


def test_what_is_switched_off_is_not_waited_for(talk, ada, prepare, told):
    switches.choose(ada, Switch.SAVED, False)
    assert not prepare(talk, 2)
    assert [name for name, _ in told] == ["index_transcript"]
    switches.choose(ada, Switch.TRANSCRIPTS, False)
    assert prepare(talk, 2)
    assert not Flush.objects.exists()


def test_without_transcripts_the_notes_are_enough(talk, ada, prepare, told, scripted):
    scripted.script(answer("- Moved to Bern."))
    switches.choose(ada, Switch.TRANSCRIPTS, False)
    assert not prepare(talk, 2)
    assert [name for name, _ in told] == ["flush_session"]
    work()
    assert prepare(talk, 2)


def test_an_agent_with_its_own_memory_notes_there_and_has_no_transcript(talk, prepare, scripted):
    talk.agent.own_memory = True
    talk.agent.save()
    scripted.script(answer("- Moved to Bern."))
    assert not prepare(talk, 2)
    work()
    assert prepare(talk, 2)
    assert not TranscriptIndex.objects.exists()
    assert MemoryDocument.objects.get(path="memory/2026-11-21.md").space.kind == "agent"


def test_an_index_of_another_branch_or_without_a_forgotten_line_is_waited_for(talk, prepare, scripted):
    scripted.script(answer("NO_REPLY"))
    prepare(talk, 2)
    work()
    assert prepare(talk, 2)
    conversations.after_switch(talk)
    assert not prepare(talk, 2)
    work()
    assert prepare(talk, 2)
    conversations.rebuild([talk.pk])
    assert not prepare(talk, 2)


def test_an_index_that_only_waits_for_a_pause_is_built_now(talk, prepare, told, scripted):
    scripted.script(answer("NO_REPLY"))
    later = timezone.now() + dt.timedelta(seconds=60)
    (index_id,) = conversations._make_due([access_of(talk)], later)
    assert not prepare(talk, 2)
    assert ("index_transcript", index_id) in told
    assert TranscriptIndex.objects.get().due_at < later


def test_it_costs_six_small_queries_once_it_is_ready(talk, prepare, scripted, django_assert_max_num_queries):
    scripted.script(answer("NO_REPLY"))
    prepare(talk, 2)
    work()
    with django_assert_max_num_queries(6):
        assert prepare(talk, 2)


def test_titles_last_messages_and_recent_conversations_are_made_from_the_messages(talk, summarised, scripted):
    summarised(talk, 2, "Zorabella", supplement={"said": ["Zorabella"]})
    ChatSession.objects.update(title_due_at=timezone.now())
    scripted.script(answer("Moving"), answer("bern"), answer(json.dumps({"title": "Bern", "summary": "Moved."})))
    titles.name_session(talk.pk)
    for kind in (DocumentJob.Kind.LAST_MESSAGES, DocumentJob.Kind.RECENT):
        document_jobs.run(document_jobs.request(talk, kind, 2).pk)
    asked = [json.dumps(request.body) for request in scripted.messages]
    assert len(asked) == 3
    assert all("I moved to Bern." in body and "Zorabella" not in body for body in asked)
    written = [found.content for found in MemoryDocument.objects.all()]
    assert len(written) == 2
    assert not any("Zorabella" in content for content in written)
    assert ChatSession.objects.get().title == "Moving"


def test_a_round_is_made_after_notes_and_index_and_its_messages_are_then_found(talk, ada, say, scripted):
    say(talk, "And I have a cat.")
    waiting = ContextRound.objects.create(
        owner=ada, session=talk, number=1, kind="compact", reason="threshold", through=talk.messages.get(seq=2)
    )
    scripted.default = replying("- Moved to Bern.")
    assert make.run(waiting.pk) == DueJob(waiting.pk, make.PREPARE_SECONDS)
    assert not any(is_summary(request.body) for request in scripted.messages)
    work()
    ContextRound.objects.update(due_at=timezone.now())
    assert make.run(waiting.pk) is None
    waiting.refresh_from_db()
    assert (waiting.status, waiting.checks) == ("done", [])
    assert f"/c/{talk.pk}" in waiting.text
    ContextRound.objects.update(used_at=timezone.now())
    assert rounds_for_turn(talk, 2).through_seq == talk.summarised_seq() == 2
    call = ToolCall("t", "memory_search", {"query": "moved to Bern", "min_score": 0}, ada, talk, None)
    paths = {hit["path"] for hit in SEARCH.call(call).content["results"]}
    assert f"/c/{talk.pk}" in paths
    assert list(find_summaries_without_notes()) == []
