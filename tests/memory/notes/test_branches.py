"""What becomes of notes when branches are switched and conversations forked: each message counts once."""

import uuid

import pytest
from django.core.management import call_command

from chat.context.prompt import build_request
from chat.conversations import branches, forking
from chat.models import ChatSession
from memory.index.documents import index_document
from memory.models import Flush, MemoryDocument
from memory.notes import claims, coverage, flush
from tests.conversations import send, settle
from tests.scripted import answer


def do(session):
    flush.run(flush.request(session, "switched").pk)


def asked(scripted):
    return scripted.messages[-1].body["messages"][0]["content"]


@pytest.fixture
def said(ada):
    """Two turns; the accepted second one."""
    first = send(ada, "I live in Bern.")
    settle(first, "Noted.")
    second = send(ada, "I like tea.", first.message.session_id)
    settle(second, "Fine.")
    return second


def test_ranges_stay_whole_when_branches_are_switched(ada, said, scripted):
    session = said.message.session
    do(session)
    settle(branches.edit(ada, said.message.pk, uuid.uuid4(), "I like coffee."), "Good.")
    do(session)
    assert "I like coffee." in asked(scripted)
    # Back to the first version: everything was noted, and nothing is noted again.
    branches.show(ada, said.message.pk)
    assert flush.request(session, "switched") is None
    assert [(part.first, part.last) for part in coverage.of_session(session)] == [(1, 4), (5, 6)]
    settle(send(ada, "With milk.", session.pk), "Sure.")
    do(session)
    assert "I like tea" not in asked(scripted)
    assert claims.covered_through(session) == 8
    assert coverage.of_day(ada, ada.day()).waiting == 0
    call_command("check_invariants")


def test_what_was_copied_into_a_fork_is_noted_where_it_was_said(ada, said, scripted):
    session = said.message.session
    made = forking.fork(ada, said.answer.pk)
    assert flush.request(made, "switched") is None
    assert made not in flush.idle(limit=10)
    do(session)
    settle(send(ada, "And cake.", made.pk), "Sure.")
    scripted.script(answer("- likes cake"))
    do(ChatSession.objects.get(pk=made.pk))
    assert "And cake." in asked(scripted)
    assert "I like tea." not in asked(scripted)
    noted = Flush.objects.get(session=made)
    assert (noted.after_seq, noted.through_seq) == (4, 6)
    assert [(part.first, part.last, part.state) for part in coverage.of_session(made)] == [
        (1, 4, "skipped"),
        (5, 6, "covered"),
    ]
    assert coverage.of_day(ada, ada.day()).waiting == 0
    assert MemoryDocument.objects.get(path__startswith="memory/").content.count("likes cake") == 1
    call_command("check_invariants")


def test_an_idle_fork_is_noted_only_when_something_was_said_in_it(ada, said, settings):
    settings.IDLE_MINUTES = 0
    made = forking.fork(ada, said.answer.pk)
    assert made not in flush.idle()
    settle(send(ada, "And cake.", made.pk))
    assert made in flush.idle()


def test_a_first_message_that_was_edited_is_still_the_first(ada, append, space, scripted):
    index_document(append(space, "- The ferry to Naxos leaves at seven.\n", path="memory/2026-11-20.md").document_id)
    first = send(ada, "When does my ferry leave?")
    settle(first)
    edited = branches.edit(ada, first.message.pk, uuid.uuid4(), "When does my ferry to Naxos leave?")
    build_request(edited.turn)
    edited.message.refresh_from_db()
    assert "leaves at seven" in edited.message.meta["context"]["memory"][0]["text"]
