"""How a session's messages and turns are written: once, in order, one turn at a time."""

import time
import uuid
from concurrent.futures import ThreadPoolExecutor

import pytest
from django.db import DataError, connection, transaction
from django.utils import timezone

from chat.conversations import lifecycle, transcript
from chat.conversations.shared import stopping
from chat.live import replay
from chat.models import ChatSession, Message, Turn
from chat.turns.checkpoints import Lease, save_rows
from tests.conversations import FINISHED, TOOL_USE, abandon, send, settle

CARD = {"state": "done", "summary": "Saved", "lines": []}


def test_the_first_message_makes_the_session_and_a_placeholder(ada):
    accepted = send(ada, "Plan my week\nplease")
    session = accepted.message.session
    assert (session.owner, session.title, session.last_seq) == (ada, "Plan my week", 2)
    assert (accepted.message.seq, accepted.answer.seq) == (1, 2)
    assert accepted.answer.status == Message.Status.RUNNING
    assert accepted.turn.status == Turn.Status.RUNNING


def test_a_message_is_accepted_in_few_statements(ada, stranger, django_assert_max_num_queries):
    send(stranger)  # makes the default agent
    with django_assert_max_num_queries(9):
        first = send(ada)
    settle(first)
    with django_assert_max_num_queries(7):
        second = send(ada, session_id=first.message.session_id)
    for given in (first.message, second.message, second.answer):
        stored = Message.objects.get(pk=given.pk)
        assert all(getattr(stored, field.attname) == getattr(given, field.attname) for field in Message._meta.fields)
    assert second.message.parent_id == first.answer.pk
    assert (second.answer.parent_id, second.answer.turn_id) == (second.message.pk, second.turn.pk)
    assert Turn.objects.get(pk=second.turn.pk).prompt_id == second.message.pk


def test_a_resend_is_the_same_message(ada):
    first = send(ada)
    again = send(ada, session_id=first.message.session_id, client_id=first.message.client_id)
    assert again.duplicate
    assert again.message == first.message
    assert Message.objects.count() == 2


def test_whoever_lost_only_the_answer_to_the_commit_is_given_the_turn_again(ada, django_assert_num_queries):
    session_id, client_id, holder = uuid.uuid4(), uuid.uuid4(), uuid.uuid4()
    first = transcript.accept(ada, session_id, client_id, "Hello", holder)
    again = transcript.accept(ada, session_id, client_id, "Hello", holder)
    assert (again.message, again.turn, again.answer) == (first.message, first.turn, first.answer)
    # It runs on the event loop, where no row can be fetched.
    with django_assert_num_queries(0):
        assert again.turn.prompt.text == "Hello"
    assert transcript.accept(ada, session_id, client_id, "Hello", uuid.uuid4()).duplicate
    settle(first)
    assert transcript.accept(ada, session_id, client_id, "Hello", holder).duplicate


def test_the_same_client_id_with_another_text_is_refused(ada):
    first = send(ada)
    with pytest.raises(transcript.ClientIdConflictError):
        send(ada, "Other words", first.message.session_id, first.message.client_id)


def test_a_second_message_waits_for_the_running_turn(ada):
    first = send(ada)
    with pytest.raises(transcript.SessionBusyError):
        send(ada, session_id=first.message.session_id)
    settle(first)
    assert send(ada, session_id=first.message.session_id).message.seq == 3


def test_nobody_writes_into_the_session_of_another(ada, stranger):
    first = send(ada)
    with pytest.raises(lifecycle.SessionNotFoundError):
        send(stranger, session_id=first.message.session_id)


def test_nobody_writes_into_a_deleted_session(ada):
    first = send(ada)
    lifecycle.delete(first.message.session)
    with pytest.raises(lifecycle.SessionNotFoundError):
        send(ada, session_id=first.message.session_id)


def test_a_settled_answer_keeps_blocks_usage_and_words(ada):
    accepted = send(ada)
    settle(accepted, "Hi **you**")
    answer = Message.objects.get(pk=accepted.answer.pk)
    assert answer.content == [{"type": "text", "text": "Hi **you**"}]
    assert (answer.text, answer.status, answer.stop_reason) == ("Hi **you**", "complete", "end_turn")
    assert answer.usage == {"output_tokens": 3}
    assert Turn.objects.get().status == Turn.Status.COMPLETE


def test_settling_twice_changes_nothing(ada):
    accepted = send(ada)
    settle(accepted, "Hi")
    settle(accepted, "Other")
    assert Message.objects.get(pk=accepted.answer.pk).text == "Hi"


def test_a_round_of_tools_writes_the_intent_then_the_results_then_the_next_placeholder(ada):
    accepted = send(ada)
    results = transcript.finish_round(accepted.turn, accepted.answer, [TOOL_USE], **FINISHED)
    assert (results.role, results.status) == (Message.Role.TOOL, Message.Status.RUNNING)
    block = {"type": "tool_result", "tool_use_id": "toolu_1", "content": "ok"}
    following = transcript.finish_tools(accepted.turn, accepted.answer, results, [block], {"toolu_1": CARD})
    assert [message.role for message in Message.objects.order_by("seq")] == ["user", "assistant", "tool", "assistant"]
    assert following.status == Message.Status.RUNNING


def test_an_answer_whose_tools_run_is_sent_again_with_their_results(ada):
    accepted = send(ada)
    seq, session = accepted.answer.seq, accepted.turn.session_id
    results = transcript.finish_round(accepted.turn, accepted.answer, [TOOL_USE], **FINISHED)
    assert replay.frames_after(ada.pk, session, 0)[1] == seq - 1
    cards = {"toolu_1": {"state": "done", "summary": "Saved.", "lines": []}}
    transcript.finish_tools(accepted.turn, accepted.answer, results, [], cards)
    frames, settled = replay.frames_after(ada.pk, session, seq - 1)
    assert settled == results.seq
    assert "Saved." in frames[0]["html"]


def test_each_step_of_a_round_may_be_repeated(ada):
    accepted = send(ada)
    results = transcript.finish_round(accepted.turn, accepted.answer, [TOOL_USE], **FINISHED)
    assert transcript.finish_round(accepted.turn, accepted.answer, [TOOL_USE], **FINISHED) == results
    following = transcript.finish_tools(accepted.turn, accepted.answer, results, [], {"toolu_1": CARD})
    assert transcript.finish_tools(accepted.turn, accepted.answer, results, [], {"toolu_1": CARD}) == following
    assert Message.objects.count() == 4


def test_an_abandoned_turn_becomes_interrupted_with_the_text_so_far(ada):
    accepted = send(ada)
    Message.objects.filter(pk=accepted.answer.pk).update(content=[{"type": "text", "text": "Half"}], text="Half")
    abandon(accepted.turn)
    assert transcript.sweep() == 1
    answer = Message.objects.get(pk=accepted.answer.pk)
    assert (answer.text, answer.status) == ("Half", Message.Status.INTERRUPTED)
    assert Turn.objects.get().status == Turn.Status.INTERRUPTED
    assert transcript.sweep() == 0


@pytest.mark.django_db(transaction=True)
def test_a_session_that_begins_while_a_page_looks_for_it_is_not_somebody_elses(ada, stranger):
    session_id = uuid.uuid4()
    begun = []

    def begin():
        try:
            return send(ada, session_id=session_id)
        finally:
            connection.close()

    def begun_after_the_first_look(execute, *asked):
        found = execute(*asked)
        if not begun:
            with ThreadPoolExecutor(1) as pool:
                begun.append(pool.submit(begin).result())
        return found

    with connection.execute_wrapper(begun_after_the_first_look):
        assert lifecycle.find(ada, session_id) == begun[0].message.session
    with pytest.raises(lifecycle.SessionNotFoundError):
        lifecycle.find(stranger, session_id)


@pytest.mark.django_db(transaction=True)
def test_an_answer_that_ends_while_it_is_swept_stays_as_it_ended(ada):
    accepted = send(ada)
    abandon(accepted.turn)

    def sweep():
        try:
            return transcript.sweep()
        finally:
            connection.close()

    with ThreadPoolExecutor(1) as pool:
        with transaction.atomic():
            settle(accepted)
            swept = pool.submit(sweep)
            waits = "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'"
            with connection.cursor() as cursor:
                while not cursor.execute(waits).fetchone()[0]:
                    time.sleep(0.01)
                    # Or this transaction would see for ever what it saw first.
                    cursor.execute("SELECT pg_stat_clear_snapshot()")
        assert swept.result() == 0
    accepted.turn.refresh_from_db()
    assert accepted.turn.status == "complete"
    assert [message.status for message in accepted.message.session.messages.shown()] == ["complete", "complete"]


@pytest.mark.django_db(transaction=True)
def test_a_text_that_cannot_be_kept_keeps_no_lease_from_being_renewed(ada):
    turn, answer = send(ada).turn, Message.objects.get(role="assistant")
    abandon(turn)
    unstorable = [{"type": "tool_use", "id": "toolu_1", "name": "n", "input": {"n": float("inf")}}]
    with pytest.raises(DataError):
        save_rows([Lease(turn.pk, turn.holder)], [(turn, answer, unstorable)])
    turn.refresh_from_db()
    assert turn.lease_until > timezone.now()


@pytest.mark.django_db(transaction=True)
def test_one_turn_that_cannot_be_ended_keeps_no_other_from_being_ended(ada, stranger, caplog):
    broken, other = send(ada), send(stranger)
    # A call without an id, as no version of ours writes it.
    Message.objects.filter(pk=broken.answer.pk).update(content=[{"type": "tool_use"}])
    abandon(broken.turn)
    abandon(other.turn)
    assert transcript.sweep() == 1
    other.turn.refresh_from_db()
    assert other.turn.status == "interrupted"
    assert "could not be interrupted" in caplog.text


def test_a_live_turn_is_not_swept(ada):
    send(ada)
    assert transcript.sweep() == 0


def test_the_old_holder_may_not_write_after_the_sweep(ada):
    accepted = send(ada)
    abandon(accepted.turn)
    transcript.sweep()
    with pytest.raises(transcript.LeaseLostError):
        settle(accepted)


def test_a_crash_between_a_tool_and_its_result_leaves_a_result_that_says_so(ada):
    accepted = send(ada)
    transcript.finish_round(accepted.turn, accepted.answer, [TOOL_USE], **FINISHED)
    abandon(accepted.turn)
    transcript.sweep()
    roles = list(Message.objects.order_by("seq").values_list("role", "status"))
    assert roles[1:] == [("assistant", "complete"), ("tool", "complete"), ("assistant", "interrupted")]
    block = Message.objects.get(role="tool").content[0]
    assert (block["tool_use_id"], block["content"]) == ("toolu_1", transcript.UNKNOWN_RESULT)


def test_a_stopped_answer_whose_tool_never_ran_has_a_result_that_says_so(ada):
    accepted = send(ada)
    transcript.finish_turn(accepted.turn, accepted.answer, [TOOL_USE], "stopped")
    assert Message.objects.get(role="tool").content[0]["content"] == transcript.NEVER_RAN


def test_a_new_message_ends_an_abandoned_turn_first(ada):
    first = send(ada)
    abandon(first.turn)
    second = send(ada, session_id=first.message.session_id)
    assert not second.duplicate
    assert Turn.objects.get(pk=first.turn.pk).status == Turn.Status.INTERRUPTED


def test_a_stop_is_asked_only_by_the_owner(ada, stranger):
    accepted = send(ada)
    stopping.request_stop(stranger, accepted.message.session_id, accepted.answer.pk)
    assert not Turn.objects.get().stop_requested
    stopping.request_stop(ada, None, accepted.answer.pk)
    assert Turn.objects.get().stop_requested


def test_what_cannot_be_stored_is_replaced_in_what_a_model_says(ada):
    accepted = send(ada)
    settle(accepted, "a\x00b\ud800c")
    assert Message.objects.get(pk=accepted.answer.pk).text == "a\ufffdb\ufffdc"


@pytest.mark.django_db(transaction=True)
def test_twenty_resends_at_once_store_one_message(ada):
    session_id, client_id = uuid.uuid4(), uuid.uuid4()

    def attempt(_):
        try:
            return send(ada, "Hello", session_id, client_id).duplicate
        finally:
            connection.close()

    with ThreadPoolExecutor(8) as pool:
        duplicates = list(pool.map(attempt, range(20)))
    assert duplicates.count(False) == 1
    assert Message.objects.filter(role="user").count() == 1
    assert ChatSession.objects.count() == 1
