"""Recent Conversations.md: each flushed conversation with its title and summary, newest first."""

import datetime as dt
import json

import pytest
from django.db import DatabaseError, connection, transaction
from django.utils import timezone

from chat.models import ChatSession, default_agent
from memory.documents import write
from memory.documents.write import Author, Delete, Replace, Source
from memory.models import DocumentJob, MemoryDocument
from memory.notes import document_jobs, flush
from memory.notes.recent import ConversationSummary, read, updated
from memory.policy.paths import RECENT_NAME
from oneclaw.jobs import ClaimLostError
from oneclaw.models import Budget, Space
from tests.scripted import answer, error
from tests.spending import paid_for

BERN = json.dumps({"title": "Moving to Bern", "summary": "Ada moves to Bern. The flat is booked."})
AT = dt.datetime(2026, 11, 21, 15, 32, tzinfo=dt.UTC)


def do(session):
    """Flush the session, then whatever that leaves to do."""
    flush.run(flush.request(session, "switched").pk)
    for job_id in DocumentJob.objects.due_ids():
        document_jobs.run(job_id)


def content(space):
    return MemoryDocument.objects.get(space=space, path=RECENT_NAME).content


def test_a_flushed_conversation_gets_a_section_with_title_time_and_summary(session, say, space, scripted):
    scripted.script(answer("- Moved to Bern."), answer(BERN))
    say(session, "I move to Bern.")
    do(session)
    assert content(space) == (
        f"# Recent Conversations\n\n## 2026-11-21 15:32 [Moving to Bern](/c/{session.pk})\n\n"
        "Ada moves to Bern. The flat is booked.\n\n"
    )
    assert "I move to Bern." in scripted.messages[1].body["messages"][0]["content"]
    own = (session.owner_id, space.pk, session.pk, True)
    assert (paid_for("notes"), paid_for("recent")) == ([own], [own])


def test_it_waits_while_a_budget_is_used_up(session, say, space, scripted):
    scripted.script(answer("- Moved to Bern."))
    say(session, "I move to Bern.")
    flush.run(flush.request(session, "switched").pk)
    budget = Budget.objects.create(period="day", max_tokens=0)
    (job_id,) = DocumentJob.objects.due_ids()
    for _ in range(7):
        DocumentJob.objects.update(due_at=timezone.now())
        document_jobs.run(job_id)
    job = DocumentJob.objects.get()
    assert (job.status, job.attempts, len(scripted.messages)) == ("queued", 0, 1)
    budget.delete()
    DocumentJob.objects.update(due_at=timezone.now())
    scripted.script(answer(BERN))
    document_jobs.run(job_id)
    assert "Moving to Bern" in content(space)


def test_the_same_conversation_updates_its_own_section_and_moves_to_the_top(session, say, ada, space, scripted):
    other = ChatSession.objects.create(key="other", owner=ada, agent=default_agent())
    scripted.default = lambda body: answer(BERN)
    for one in (session, other, session):
        say(one, "More")
        do(one)
    text = content(space)
    assert text.count("## ") == 2
    assert text.index(str(session.pk)) < text.index(str(other.pk))


def test_the_newest_thirty_are_kept_and_what_a_person_wrote_stays():
    text = "My own words.\n\n## A section of my own\n\nstays\n"
    for number in range(35):
        text = updated(
            text, f"00000000-0000-4000-8000-{number:012}", ConversationSummary(f"Talk {number}", "x", AT), 30
        )
    assert text.startswith("My own words.\n\n## 2026-11-21 15:32 [Talk 34]")
    assert text.count("/c/") == 30
    assert "[Talk 5]" in text
    assert "[Talk 4]" not in text
    assert text.endswith("## A section of my own\n\nstays\n")


def test_the_setting_says_how_many_are_kept(session, say, ada, space, scripted, settings):
    settings.RECENT_CONVERSATIONS = 10
    scripted.default = lambda body: answer(BERN)
    for number in range(12):
        one = ChatSession.objects.create(key=f"k{number}", owner=ada, agent=default_agent())
        say(one, "Hello")
        do(one)
    assert content(space).count("/c/") == 10


def test_a_file_that_an_earlier_release_kept_in_a_folder_moves_back(session, say, ada, space, scripted):
    scripted.default = lambda body: answer(BERN)
    other = ChatSession.objects.create(key="other", owner=ada, agent=default_agent())
    # What a person named so is left alone.
    write.apply(space, "Lists/Recent Conversations.md", Replace("# My list\n", 0), Author(Source.PAGE))
    say(session, "I move to Bern.")
    do(session)
    written = space.documents.get(path=RECENT_NAME)
    write.apply(space, "Notes/Chats/Recent Conversations.md", Replace(written.content, 0), Author(Source.PAGE))
    write.apply(space, RECENT_NAME, Delete(written.version), Author(Source.PAGE))
    say(other, "More")
    do(other)
    assert content(space).count("/c/") == 2
    assert set(space.documents.present().filter(path__contains="Recent").values_list("path", flat=True)) == {
        "Lists/Recent Conversations.md",
        RECENT_NAME,
    }
    third = ChatSession.objects.create(key="third", owner=ada, agent=default_agent())
    say(third, "Hello")
    do(third)
    assert content(space).count("/c/") == 3


@pytest.mark.parametrize(
    "text",
    [
        BERN,
        f"```json\n{BERN}\n```",
        f"Here it is: {BERN} I hope it helps.",
        "Not {this} but " + BERN,
        BERN.removesuffix("}"),
        BERN.removesuffix('"}'),
        f"```json\n{BERN.removesuffix('}')}\n```",
        "Moving to Bern\nAda moves to Bern. The flat is booked.",
        "Title: Moving to Bern\n\nSummary: Ada moves to Bern. The flat is booked.",
        "**Moving to Bern**\n\nAda moves to Bern.\nThe flat is booked.",
    ],
)
def test_title_and_summary_are_read_out_of_whatever_the_model_answers(text):
    assert read(text) == ("Moving to Bern", "Ada moves to Bern. The flat is booked.")


@pytest.mark.parametrize(
    "text", ["", "  ", "{", '{"title": 3}', '```\n{"title": ""}\n```', '{"title": "cut off', "{" * 5000]
)
def test_what_cannot_be_read_is_nothing(text):
    assert read(text) is None


def test_a_title_has_at_most_eight_words():
    assert read('{"title": "one two three four five six seven eight nine ten"}') == (
        "one two three four five six seven eight",
        "",
    )


def test_when_nothing_can_be_read_the_first_line_is_the_title(session, say, space, scripted):
    scripted.script(answer("- note"), answer('{"title": '))
    say(session, "I move to Bern.\nTomorrow.")
    do(session)
    assert f"[I move to Bern.](/c/{session.pk})\n\n" in content(space)


def test_when_the_model_is_down_it_is_tried_again_and_in_the_end_the_first_line_is_the_title(
    session, say, space, scripted
):
    scripted.script(answer("- note"))
    scripted.default = lambda body: error(401, "authentication_error", "no")
    say(session, "I move to Bern.")
    do(session)
    waiting = DocumentJob.objects.get()
    assert (waiting.attempts, waiting.finished_at, waiting.token) == (1, None, None)
    assert waiting.error.startswith("KeyRefused")
    assert DocumentJob.objects.due_ids() == []
    for _ in range(4):
        DocumentJob.objects.update(due_at=timezone.now())
        document_jobs.run(waiting.pk)
    waiting.refresh_from_db()
    assert (waiting.attempts, waiting.finished_at is None) == (5, False)
    assert "[I move to Bern.]" in content(space)


def test_secrets_and_brackets_do_not_get_into_it(session, say, space, scripted):
    told = {"title": "The [new] key", "summary": "It is sk-ant-api03-abcdefghijklmnop1234."}
    scripted.script(answer("- note"), answer(json.dumps(told)))
    say(session, "Hello")
    do(session)
    assert "[The (new) key](/c/" in content(space)
    assert "It is [key removed]." in content(space)


def test_what_is_said_while_it_is_summarised_is_summarised_next(session, say, space, scripted):
    scripted.default = lambda body: answer(BERN)
    say(session, "one")
    job = document_jobs.request(session, DocumentJob.Kind.RECENT, 1)
    taken = document_jobs.claim_job(job.pk)
    say(session, "two")
    assert document_jobs.request(session, DocumentJob.Kind.RECENT, 2) == job
    document_jobs.lock_job(taken)
    document_jobs.finish(taken)
    assert DocumentJob.objects.due_ids() == [job.pk]
    document_jobs.run(job.pk)
    assert DocumentJob.objects.due_ids() == []


def test_who_comes_back_after_his_time_writes_nothing(session, say, space, scripted):
    say(session, "one")
    dead = document_jobs.claim_job(document_jobs.request(session, DocumentJob.Kind.RECENT, 1).pk)
    assert document_jobs.claim_job(dead.pk) is None
    DocumentJob.objects.update(lease_until=timezone.now() - dt.timedelta(seconds=1))
    assert document_jobs.claim_job(dead.pk)
    with pytest.raises(ClaimLostError):
        document_jobs.lock_job(dead)
    assert not MemoryDocument.objects.exists()


def test_a_document_changed_by_its_owner_is_kept(session, say, space, scripted):
    write.apply(space, RECENT_NAME, Replace("# My list\n", 0), Author(Source.PAGE))
    scripted.default = lambda body: answer(BERN)
    say(session, "one")
    do(session)
    assert content(space).startswith("# My list\n## 2026-11-21 15:32 [Moving to Bern]")


@pytest.mark.parametrize("change", [{"mode": "chat"}, {"mode": "temporary"}, {"deleted_at": timezone.now()}])
def test_what_is_not_to_be_remembered_is_not_summarised(session, say, change, scripted):
    say(session, "one")
    job = document_jobs.request(session, DocumentJob.Kind.RECENT, 1)
    ChatSession.objects.update(**change)
    assert document_jobs.request(session, DocumentJob.Kind.RECENT, 1) is None
    document_jobs.run(job.pk)
    assert not DocumentJob.objects.exists()
    assert scripted.messages == []


def test_a_conversation_without_words_of_the_person_leaves_nothing(session, say, scripted):
    say(session, "result", role="tool")
    do(session)
    assert scripted.messages == []
    assert not MemoryDocument.objects.exists()
    assert DocumentJob.objects.get().finished_at is not None


def test_the_database_refuses_a_document_job_of_one_person_in_the_space_of_another(session, ada, stranger):
    @transaction.atomic
    def cross(space):
        DocumentJob.objects.create(owner=ada, session=session, space=space, kind="recent", through_seq=1)
        connection.check_constraints()

    with pytest.raises(DatabaseError, match="document_job_into_owners_space"):
        cross(Space.objects.own_of(stranger))


def test_when_another_worker_has_written_the_document_it_is_done_again_without_a_word(
    session, say, space, scripted, monkeypatch, caplog
):
    scripted.script(answer("- Moved to Bern."), answer(BERN), answer(BERN))
    say(session, "I move to Bern.")
    writer, calls = document_jobs.WRITERS[DocumentJob.Kind.RECENT], []

    def stale(*arguments):
        calls.append(arguments)
        raise write.StaleVersionError(path=RECENT_NAME, seen=1, version=2)

    with monkeypatch.context() as patched:
        patched.setattr(writer, "write", stale)
        do(session)
    assert len(calls) == 1
    assert not [record for record in caplog.records if record.exc_info]
    DocumentJob.objects.update(due_at=timezone.now())
    for job_id in DocumentJob.objects.due_ids():
        document_jobs.run(job_id)
    assert "Moving to Bern" in content(space)
