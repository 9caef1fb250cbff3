"""A fork begins with copies of what was said, and goes its own way."""

import uuid

import pytest
from django.core.management import call_command

from chat.conversations import branches, forking, transcript, versions
from chat.models import ChatSession, Turn
from chat.turns import retry
from tests.conversations import send, settle


def words(session):
    return [message.text for message in session.messages.shown()]


@pytest.fixture
def session(ada):
    """Two turns; the first has a tool and was answered twice, the second was continued."""
    first = send(ada, "One")
    settle(first, "No", "failed")
    turn, answer = retry.repeat(ada, first.answer.pk, Turn.Kind.RETRY)
    use = [{"type": "tool_use", "id": "t", "name": "x", "input": {}}]
    results = transcript.finish_round(turn, answer, use)
    result = [{"type": "tool_result", "tool_use_id": "t", "content": "done"}]
    cards = {"t": {"state": "done", "summary": "Kept.", "lines": []}}
    last = transcript.finish_tools(turn, answer, results, result, cards)
    transcript.finish_turn(turn, last, [{"type": "text", "text": "First"}], "complete")
    second = send(ada, "Two", first.message.session_id)
    settle(second, "Half", "stopped")
    turn, answer = retry.repeat(ada, second.answer.pk, Turn.Kind.CONTINUE)
    transcript.finish_turn(turn, answer, [{"type": "text", "text": "Whole"}], "complete")
    session = ChatSession.objects.get()
    session.title, session.origin, session.thinking_after_seq = "Boxes", "oneclaw:x", 5
    session.head = session.heads.create(system="You are.", tools=[])
    session.save()
    return session


def test_a_fork_copies_the_shown_branch_up_to_a_message_and_stands_in_the_list(ada, session):
    made = forking.fork(ada, session.messages.get(text="Whole").pk)
    assert words(made) == ["One", "", "", "First", "Two", "Half", "", "Whole"]
    assert (made.parent, made.copied_seq, made.last_seq, made.name) == (session, 8, 8, "Boxes (fork)")
    assert (made.head.system, made.head.session) == ("You are.", made)
    assert made in ChatSession.objects.visible_to(ada).listed()
    assert not made.is_unread
    # Its rows are its own, in every respect that is checked.
    call_command("check_invariants")
    assert words(session)[-1] == "Whole"


def test_a_fork_from_the_middle_takes_the_whole_answer_and_nothing_after(ada, session):
    calling = session.messages.filter(role="assistant", text="").get()
    assert words(forking.fork(ada, calling.pk)) == ["One", "", "", "First"]


def test_a_fork_goes_on_and_its_last_answer_can_be_tried_again(ada, session):
    made = forking.fork(ada, session.messages.get(text="First").pk)
    turn, answer = retry.repeat(ada, made.messages.last().pk, Turn.Kind.RETRY)
    transcript.finish_turn(turn, answer, [{"type": "text", "text": "Other"}], "complete")
    assert (words(made), versions.version_of(answer).total) == (["One", "Other"], 2)
    settle(send(ada, "Three", made.pk))
    assert words(made) == ["One", "Other", "Three", "Hi"]
    assert "Three" not in words(session)
    call_command("check_invariants")


def test_a_fork_that_ends_with_ones_own_message_waits_for_an_answer(ada, session):
    made = forking.fork(ada, session.messages.get(text="Two").pk)
    assert words(made)[-1] == "Two"
    _, answer = retry.repeat(ada, made.messages.last().pk, Turn.Kind.RETRY)
    assert words(made)[-2:] == ["Two", ""]
    assert answer.turn.attempt == 1


def test_nobody_forks_what_is_not_theirs_or_still_being_written(ada, stranger, session):
    with pytest.raises(branches.MessageNotShownError):
        forking.fork(stranger, session.messages.first().pk)
    running = send(ada, "Three", session.pk)
    with pytest.raises(transcript.SessionBusyError):
        forking.fork(ada, running.answer.pk)
    assert words(forking.fork(ada, session.messages.get(text="Whole").pk))[-1] == "Whole"


def test_a_message_of_a_hidden_branch_is_forked_with_its_branch(ada, session):
    settle(branches.edit(ada, session.messages.get(text="Two").pk, uuid.uuid4(), "Other"))
    assert words(forking.fork(ada, session.messages.get(text="Whole").pk))[-1] == "Whole"
