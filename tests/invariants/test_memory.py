"""Each promise about memory, broken behind the product's back, is seen, and only that one."""

import datetime as dt
import os
import time

import pytest
from django.utils import timezone

from chat.conversations import lifecycle, retention
from chat.models import ChatSession
from memory.files.folders import folder_of
from memory.models import Flush, MemoryDocument, Suggestion, TranscriptIndex
from memory.notes import claims
from memory.policy import switches
from memory.policy.switches import Switch
from memory.trust.rule import SourceText
from memory.trust.suggestions import wait
from tests.conversations import summarise


def write_long_ago(file, text):
    file.write_text(text)
    os.utime(file, (time.time() - 3600,) * 2)


def said(lines):
    """The invariants that were broken."""
    return {line.split(": ")[0] for line in lines}


@pytest.mark.parametrize("after", ["after_seq + 1", "after_seq - 1"])
def test_flush_ranges_with_a_gap_or_an_overlap(world, broken, after):
    lines = broken(f"UPDATE memory_flush SET after_seq = {after} WHERE id = %s", world.flush.pk)
    assert said(lines) == {"flush ranges are disjoint and contiguous"}
    assert "but the one before it ends at" in lines[0]


def test_a_flush_of_messages_that_are_not_there(world, broken):
    lines = broken("UPDATE memory_flush SET through_seq = 99 WHERE id = %s", world.flush.pk)
    assert said(lines) == {"flush ranges are disjoint and contiguous"}
    assert "but the session ends at" in lines[0]


def test_a_flush_that_is_done_without_notes(world, broken):
    lines = broken("UPDATE memory_flush SET revision_id = NULL WHERE id = %s", world.flush.pk)
    assert "a flush has the range that its status says" in said(lines)


def test_a_summary_that_was_used_before_the_notes_of_what_it_replaces(world, broken):
    session, noted = ChatSession.objects.get(pk=world.session.pk), claims.covered_through(world.session)
    made = summarise(session, noted)
    assert broken("SELECT 1") == []
    later = session.messages.get(seq=noted + 1)
    lines = broken("UPDATE chat_contextround SET through_id = %s WHERE id = %s", later.pk, made.pk)
    assert lines == [
        f"messages are noted before a summary replaces them: summary 1 of session {session.pk} replaces messages up to"
        f" {later.seq}, but notes cover them up to {noted}"
    ]
    # Owed notes are waited for, but not for ever; messages that are never noted are not owed.
    owed = "UPDATE chat_contextround SET checks = '[\"flush_owed\"]'"
    assert broken(owed) == []
    assert len(broken(f"{owed}, used_at = now() - interval '25 hours'")) == 1
    assert broken("UPDATE chat_contextround SET kind = 'prune'") == []
    assert len(broken("UPDATE chat_contextround SET kind = 'compact'")) == 1
    assert broken("UPDATE chat_contextround SET used_at = NULL, undone_at = now()") == []


def test_a_summary_of_what_was_said_while_saved_memory_was_off(world, broken):
    session = ChatSession.objects.get(pk=world.session.pk)
    switches.choose(world.ada, Switch.SAVED, False)
    made = summarise(session, claims.covered_through(session) + 1)
    assert broken("SELECT 1") == []
    switches.choose(world.ada, Switch.SAVED, True)
    assert broken("SELECT 1") == []
    assert len(broken("UPDATE chat_contextround SET used_at = clock_timestamp() WHERE id = %s", made.pk)) == 1


def test_two_running_flushes_of_a_session(world, broken, without_constraint):
    without_constraint("memory_flush", "one_running_flush")
    lines = broken(
        "UPDATE memory_flush SET status = 'running', token = gen_random_uuid(), finished_at = NULL,"
        " lease_until = now() WHERE session_id = %s",
        world.session.pk,
    )
    assert said(lines) == {"a session has one queued and one running flush at most"}


def test_a_conversation_that_is_purged_leaves_its_notes_and_nothing_amiss(world, broken):
    notes = list(MemoryDocument.objects.filter(space=world.space).values_list("path", "content"))
    lifecycle.delete(world.session)
    assert retention.sweep(timezone.now() + dt.timedelta(days=31)) == 1
    assert not ChatSession.objects.filter(pk=world.session.pk).exists()
    assert not Flush.objects.filter(pk=world.flush.pk).exists()
    assert not TranscriptIndex.objects.filter(pk=world.transcript.pk).exists()
    assert len(notes) > 1
    assert list(MemoryDocument.objects.filter(space=world.space).values_list("path", "content")) == notes
    assert broken("SELECT 1") == []


def test_notes_without_a_flush(world, broken):
    world.flush.refresh_from_db()
    revision = world.flush.revision
    lines = broken(
        "UPDATE memory_flush SET revision_id = NULL, status = 'nothing' WHERE id = %s",
        world.flush.pk,
    )
    assert lines == [
        f"notes belong to a flush: revision {revision.pk} holds notes of session {world.session.pk},"
        " which no flush covers"
    ]


def test_a_missing_revision(world, broken):
    lines = broken("DELETE FROM memory_memoryrevision WHERE document_id = %s AND number = 1", world.document.pk)
    assert "revisions are numbered without a gap" in said(lines)
    assert any("has version 2 but 1 revisions, numbered 2 to 2" in line for line in lines)


def test_an_operation_that_happened_twice(world, broken, without_constraint):
    without_constraint("memory_memoryrevision", "operation_happens_once")
    lines = broken("UPDATE memory_memoryrevision SET operation_key = 'x' WHERE document_id = %s", world.document.pk)
    assert said(lines) == {"an operation happens once"}


@pytest.mark.parametrize(
    "sql",
    [
        "UPDATE memory_memoryrevision SET content_hash = 'x' WHERE number = 2 AND document_id = %s",
        "UPDATE memory_memorydocument SET deleted_at = now(), mirrored_version = 0 WHERE id = %s",
        "UPDATE memory_memorydocument SET content_hash = 'x' WHERE id = %s",
    ],
)
def test_a_document_that_is_not_its_newest_revision(world, broken, sql):
    lines = broken(sql, world.document.pk)
    assert said(lines) == {"a document is what its newest revision says"}


def test_revisions_that_do_not_add_up(world, broken):
    lines = broken(
        """UPDATE memory_memoryrevision SET hunks = '[{"at": 0, "removed": [""], "added": ["- coffee", ""]}]'"""
        " WHERE number = 1 AND document_id = %s",
        world.document.pk,
    )
    assert lines == [
        f"revisions add up to the document: the revisions of document {world.document.pk}"
        " add up to something else than its content"
    ]


def test_revisions_that_do_not_fit_one_another(world, broken):
    lines = broken(
        """UPDATE memory_memoryrevision SET hunks = '[{"at": 0, "removed": ["x"], "added": []}]'"""
        " WHERE number = 2 AND document_id = %s",
        world.document.pk,
    )
    assert lines == [
        f"revisions add up to the document: the revisions of document {world.document.pk} do not fit one another:"
        " Line 1 is not what it was when the change was made."
    ]


def test_a_file_that_differs(world, broken):
    file = folder_of(world.space) / "MEMORY.md"
    file.write_text("- something else\n")
    assert broken("SELECT") == []  # somebody has just edited it
    write_long_ago(file, "- something else\n")
    assert broken("SELECT") == [
        f"the file is the document, or queued: the file of document {world.document.pk},"
        f" MEMORY.md of space {world.space.pk}, differs from it"
    ]
    assert broken("UPDATE memory_memorydocument SET mirrored_version = 1 WHERE id = %s", world.document.pk) == []


def test_a_file_that_a_person_removed_is_a_question_and_one_that_should_be_missing_is_not(world, broken):
    (folder_of(world.space) / "MEMORY.md").unlink()
    assert broken("SELECT") == []
    folder_of(world.strangers_space).mkdir()
    write_long_ago(folder_of(world.strangers_space) / "notes.md", "x\n")
    lines = broken("SELECT")
    assert said(lines) == {"the file is the document, or queued"}
    assert len(lines) == 1


@pytest.mark.parametrize(
    ("sql", "sentence"),
    [
        ("UPDATE memory_memorydocument SET indexed_version = 3 WHERE id = %s", "but its file has 2 and its index 3"),
        ("DELETE FROM memory_memorychunk WHERE document_id = %s", "there are 0"),
        ("DELETE FROM memory_documentindex WHERE document_id = %s", "its index says"),
    ],
)
def test_an_index_of_something_else(world, broken, sql, sentence):
    lines = broken(sql, world.document.pk)
    assert said(lines) == {"the index is of the document, or queued"}
    assert sentence in lines[0]


@pytest.mark.parametrize(
    "sql",
    [
        "UPDATE memory_memoryrevision SET space_id = {strangers_space} WHERE id = {revision}",
        "UPDATE memory_memorychunk SET space_id = {strangers_space} WHERE document_id = {document}",
        "UPDATE memory_documentindex SET space_id = {strangers_space} WHERE document_id = {document}",
    ],
)
def test_something_of_another_space(world, broken, sql):
    lines = broken(world.named(sql))
    assert said(lines) == {"what belongs together is of one space"}


def test_a_chunk_without_a_document(world, broken):
    lines = broken("UPDATE memory_memorychunk SET document_id = 0 WHERE document_id = %s", world.document.pk)
    assert "what belongs together is of one space" in said(lines)


@pytest.mark.parametrize(
    ("sql", "sentence"),
    [
        ("UPDATE memory_flush SET owner_id = {stranger} WHERE id = {flush}", "is of session"),
        ("UPDATE memory_flush SET space_id = {strangers_space} WHERE id = {flush}", "writes into the private space"),
        ("UPDATE memory_transcriptindex SET owner_id = {stranger} WHERE id = {transcript}", "is of session"),
        ("UPDATE memory_transcriptindex SET space_id = {strangers_space} WHERE id = {transcript}", "in space"),
        (
            "UPDATE memory_memoryrevision SET message_id = {strangers_message} WHERE id = {revision}",
            "comes from message",
        ),
    ],
)
def test_memory_of_another_person(world, broken, sql, sentence):
    lines = broken(world.named(sql))
    assert "memory is of one person" in said(lines)
    assert any(sentence in line for line in lines)


@pytest.mark.parametrize("change", ["units = units + 1", "through_seq = 99"])
def test_a_transcript_of_something_else(world, broken, change):
    lines = broken(f"UPDATE memory_transcriptindex SET {change} WHERE id = %s", world.transcript.pk)
    assert said(lines) == {"the index is of what was said"}


@pytest.mark.parametrize("mode", ["chat", "temporary"])
def test_memory_of_a_conversation_that_writes_none(world, broken, mode):
    lines = broken(f"UPDATE chat_chatsession SET mode = '{mode}' WHERE id = %s", world.session.pk)
    assert said(lines) == {"a conversation that writes no memory has none"}


def test_an_answered_suggestion_that_still_has_its_text(world, broken, without_constraint):
    row = wait(world.space, "MEMORY.md", "The bank is Mallory.", SourceText(Suggestion.Kind.PASTED, "", ""))
    assert broken("SELECT 1") == []
    without_constraint("memory_suggestion", "suggestion_waits_with_its_text")
    lines = broken("UPDATE memory_suggestion SET status = 'declined', decided_at = now() WHERE id = %s", row.pk)
    assert said(lines) == {"a suggestion waits until it is answered"}


def test_a_suggestion_that_waits_and_was_written(world, broken):
    row = wait(world.space, "MEMORY.md", "The bank is Mallory.", SourceText(Suggestion.Kind.PASTED, "", ""))
    revision = world.document.revisions.first()
    lines = broken("UPDATE memory_suggestion SET revision_id = %s WHERE id = %s", revision.pk, row.pk)
    assert said(lines) == {"a suggestion waits until it is answered"}
