"""Retry and Continue: new rows, nothing overwritten."""

import uuid

import pytest

from chat.context.notices import CONTINUE
from chat.context.prompt import build_request
from chat.conversations import transcript
from chat.models import Message, Turn
from chat.turns import retry
from tests.conversations import send, settle, without_marks


def test_a_retry_is_a_second_attempt_and_the_first_leaves_the_branch(ada):
    first = send(ada)
    settle(first, "Bad", "failed")
    turn, answer = retry.repeat(ada, first.answer.pk, Turn.Kind.RETRY)
    assert (turn.attempt, turn.prompt) == (2, first.message)
    shown = list(first.message.session.messages.shown())
    assert shown == [first.message, answer]
    assert Message.objects.get(pk=first.answer.pk).text == "Bad"


def test_whoever_lost_only_the_answer_to_the_commit_is_given_the_attempt_again(ada):
    first, holder = send(ada), uuid.uuid4()
    settle(first, "Bad", "failed")
    begun = retry.repeat(ada, first.answer.pk, Turn.Kind.RETRY, holder)
    assert retry.repeat(ada, first.answer.pk, Turn.Kind.RETRY, holder) == begun
    assert first.message.attempts.count() == 2


def test_continue_keeps_the_half_and_asks_the_model_to_go_on(ada):
    first = send(ada)
    settle(first, "Half an", "stopped")
    turn, _ = retry.repeat(ada, first.answer.pk, Turn.Kind.CONTINUE)
    request = build_request(turn)
    assert [message["role"] for message in request.messages] == ["user", "assistant", "user"]
    assert request.messages[1]["content"][0]["text"] == "Half an"
    assert request.messages[2]["content"][0]["text"] == CONTINUE["text"]
    # It is a row: the request after it holds the same.
    session = turn.session
    transcript.finish_turn(
        turn, session.messages.get(status="running"), [{"type": "text", "text": "hour."}], "complete"
    )
    following = build_request(send(ada, "More", session.pk).turn)
    assert without_marks(following.messages[:3]) == without_marks(request.messages)


def test_nobody_repeats_the_answer_of_another(ada, stranger):
    first = send(ada)
    settle(first)
    with pytest.raises(retry.NothingToRepeatError):
        retry.repeat(stranger, first.answer.pk, Turn.Kind.RETRY)


def test_an_answer_in_the_middle_is_not_repeated(ada):
    first = send(ada)
    settle(first)
    second = send(ada, "More", first.message.session_id)
    settle(second)
    with pytest.raises(retry.NothingToRepeatError):
        retry.repeat(ada, first.answer.pk, Turn.Kind.RETRY)


@pytest.mark.parametrize("kind", [Turn.Kind.RETRY, Turn.Kind.CONTINUE])
def test_an_answer_that_another_tab_has_repeated_meanwhile_is_not_repeated_again(ada, kind):
    first = send(ada)
    settle(first, "Half", "failed")
    second = retry.repeat(ada, first.answer.pk, kind)
    transcript.finish_turn(*second, [{"type": "text", "text": "Whole"}], "complete")
    for late in Turn.Kind.RETRY, Turn.Kind.CONTINUE:
        with pytest.raises(retry.NothingToRepeatError):
            retry.repeat(ada, first.answer.pk, late)
    assert retry.repeat(ada, second[1].pk, Turn.Kind.RETRY)[0].attempt == 3


def test_a_running_answer_is_not_repeated(ada):
    first = send(ada)
    with pytest.raises(transcript.SessionBusyError):
        retry.repeat(ada, first.answer.pk, Turn.Kind.RETRY)
