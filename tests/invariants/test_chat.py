"""Each promise about conversations, broken behind the product's back, is seen, and only that one."""

import pytest


def said(lines):
    """The invariants that were broken."""
    return {line.split(": ")[0] for line in lines}


def test_a_missing_message(world, broken):
    lines = broken("DELETE FROM chat_message WHERE id = %s", world.strangers_message.pk)
    assert "messages are numbered without a gap" in said(lines)
    assert any("counts 2 messages but has 1, numbered 2 to 2" in line for line in lines)


def test_a_sub_task_without_a_running_turn(world, broken):
    turn, message, session = world.strangers_turn.pk, world.strangers_message.pk, world.strangers_session.pk
    lines = broken(
        "WITH earlier AS (UPDATE chat_turn SET finished_at = finished_at - interval '1 day' WHERE id = %s)"
        " INSERT INTO chat_subtask (owner_id, turn_id, answer_id, tool_use_id, parent_id, session_id, root_turn_id,"
        " depth, state, tokens, token_budget, deadline)"
        " SELECT owner_id, %s, %s, 'x', id, id, %s, 1, 'running', 0, 1, now() FROM chat_chatsession WHERE id = %s",
        turn,
        turn,
        message,
        turn,
        session,
    )
    assert said(lines) == {"a sub-task ends with its turn"}


def test_an_ended_turn_whose_calls_are_no_rows(world, broken):
    lines = broken(
        "UPDATE chat_turn SET unstored_calls = '[{}]', finished_at = finished_at - interval '1 day' WHERE id = %s",
        world.strangers_turn.pk,
    )
    assert said(lines) == {"an ended turn is paid for"}


def test_a_place_taken_twice(world, broken, without_constraint):
    without_constraint("chat_message", "one_message_per_place")
    lines = broken("UPDATE chat_message SET seq = 1 WHERE session_id = %s AND seq = 2", world.strangers_session.pk)
    assert said(lines) == {"messages are numbered without a gap"}


def test_a_message_stored_twice(world, broken, without_constraint):
    without_constraint("chat_message", "one_message_per_client_id")
    lines = broken(
        "UPDATE chat_message SET client_id = %s WHERE session_id = %s AND role = 'user'",
        world.message.client_id,
        world.session.pk,
    )
    assert said(lines) == {"a message is stored once"}
    assert f"holds client_id {world.message.client_id} 5 times" in lines[0]


def test_an_acknowledged_message_that_nobody_answers(world, broken):
    # The answer stays as one of a message without a turn.
    lines = broken(
        "WITH gone AS (DELETE FROM chat_turn WHERE id = %s RETURNING id)"
        " UPDATE chat_message SET turn_id = NULL WHERE turn_id IN (SELECT id FROM gone)",
        world.strangers_turn.pk,
    )
    assert said(lines) == {"an acknowledged message has an attempt at an answer"}
    assert f"message {world.strangers_message.pk} " in lines[0]


def test_an_attempt_that_is_missing(world, broken):
    lines = broken("UPDATE chat_turn SET attempt = 3 WHERE id = %s", world.retried.pk)
    assert said(lines) == {"attempts are numbered without a gap"}
    assert "has 2 attempts, numbered 1 to 3" in lines[0]


def test_an_attempt_with_two_answers(world, broken):
    lines = broken("UPDATE chat_message SET role = 'assistant' WHERE id = %s", world.message.pk)
    assert lines == []
    lines = broken(
        "UPDATE chat_message SET turn_id = %s, finished_at = now() WHERE id = %s", world.turn.pk, world.message.pk
    )
    assert said(lines) == {"an attempt has one answer"}
    assert f"turn {world.turn.pk} has 3 answers and 1 tool results" in lines[0]


def test_an_attempt_without_an_answer(world, broken):
    lines = broken("UPDATE chat_message SET turn_id = NULL WHERE turn_id = %s", world.strangers_turn.pk)
    assert said(lines) == {"an attempt has one answer"}


def test_an_answer_that_ends_otherwise_than_its_turn(world, broken):
    lines = broken("UPDATE chat_message SET status = 'stopped' WHERE id = %s", world.answer.pk)
    assert said(lines) == {"an answer ends as its turn does"}


def test_a_settled_turn_with_a_running_message(world, broken):
    lines = broken("UPDATE chat_message SET status = 'running', finished_at = NULL WHERE id = %s", world.results.pk)
    assert said(lines) == {"a running turn has one running message, any other none"}
    assert f"message {world.results.pk} is running but turn {world.turn.pk} is complete" in lines[0]


def test_a_running_message_without_a_turn(world, broken):
    lines = broken("UPDATE chat_message SET status = 'running' WHERE id = %s", world.message.pk)
    assert lines == [
        "a running turn has one running message, any other none: "
        f"message {world.message.pk} is running but belongs to no turn"
    ]


def test_a_running_turn_without_a_running_message(world, broken):
    lines = broken(
        "UPDATE chat_message SET status = 'complete', finished_at = now() WHERE id = %s", world.running.answer.pk
    )
    assert lines == [
        "a running turn has one running message, any other none: "
        f"turn {world.running.turn.pk} is running with 0 running messages"
    ]


def test_two_running_turns_in_a_session(world, broken, without_constraint):
    without_constraint("chat_turn", "one_running_turn")
    lines = broken(
        "WITH again AS (UPDATE chat_turn SET status = 'running', finished_at = NULL WHERE id = %s RETURNING id)"
        " UPDATE chat_message SET status = 'running', finished_at = NULL WHERE id = %s",
        world.turn.pk,
        world.answer.pk,
    )
    assert "a session has one running turn at most" in said(lines)


@pytest.mark.parametrize("table", ["turn", "message"])
def test_something_settled_without_a_time(world, broken, table):
    row = world.turn if table == "turn" else world.answer
    lines = broken(f"UPDATE chat_{table} SET finished_at = NULL WHERE id = %s", row.pk)
    assert lines == [
        f"what has ended has the time of its end: {table} {row.pk} is complete and lacks a time at which it ended"
    ]


def test_a_turn_past_its_lease(world, broken):
    late = "UPDATE chat_turn SET lease_until = now() - make_interval(secs => %s) WHERE id = %s"
    assert broken(late, 30, world.running.turn.pk) == []
    lines = broken(late, 90, world.running.turn.pk)
    assert lines == [f"no turn is past its lease: turn {world.running.turn.pk} still runs, 90 s past its lease"]


def test_a_tool_use_without_a_result(world, broken):
    lines = broken("UPDATE chat_message SET content = '[]' WHERE id = %s", world.results.pk)
    assert lines == [f"a tool use has one result: tool use toolu_1 of message {world.calling.pk} has 0 results"]


def test_a_tool_use_with_two_results(world, broken):
    lines = broken("UPDATE chat_message SET content = content || content WHERE id = %s", world.results.pk)
    assert lines == [f"a tool use has one result: tool use toolu_1 of message {world.calling.pk} has 2 results"]


def test_a_result_that_nobody_asked_for(world, broken):
    lines = broken("UPDATE chat_message SET content = '[]' WHERE id = %s", world.calling.pk)
    assert said(lines) == {"a result has its tool use"}
    assert f"message {world.results.pk} holds a result of toolu_1" in lines[0]


@pytest.mark.parametrize(
    ("sql", "sentence"),
    [
        ("UPDATE chat_message SET parent_id = {strangers_message} WHERE id = {message}", "follows message"),
        ("UPDATE chat_turn SET session_id = '{strangers_session}' WHERE id = {turn}", "answers message"),
        ("UPDATE chat_turn SET session_id = '{strangers_session}' WHERE id = {turn}", "was written by turn"),
    ],
)
def test_something_of_another_session(world, broken, sql, sentence):
    lines = broken(world.named(sql))
    assert said(lines) == {"what belongs together is of one session"}
    assert any(sentence in line for line in lines)


@pytest.mark.parametrize(
    ("sql", "sentence"),
    [
        ("UPDATE chat_chatsession SET parent_id = '{strangers_session}' WHERE id = '{session}'", "comes from session"),
        ("UPDATE chat_chatsession SET space_id = {strangers_space} WHERE id = '{session}'", "sees the own space"),
        ("UPDATE chat_presence SET session_id = '{strangers_session}' WHERE user_id = {ada}", "was last in session"),
        (
            "UPDATE chat_agent SET owner_id = {stranger}, is_default = false"
            " FROM chat_chatsession session WHERE session.id = '{session}' AND session.agent_id = chat_agent.id",
            "is answered by agent",
        ),
    ],
)
def test_something_of_another_person(world, broken, sql, sentence):
    lines = broken(world.named(sql))
    assert said(lines) == {"what belongs together is of one person"}
    assert sentence in lines[0]


def test_a_running_turn_may_still_owe_its_results(world, broken):
    """An answer that calls tools, and the row that will hold their results: nothing is wrong yet."""
    lines = broken(
        "INSERT INTO chat_message (session_id, parent_id, seq, active, turn_id, role, status, content, meta, text,"
        " html, html_version, model, stop_reason, created_at)"
        " SELECT session_id, id, seq + 1, true, turn_id, 'tool', 'running', '[]', '{}', '', '', 0, '', '', now()"
        " FROM chat_message WHERE id = %s",
        world.running.answer.pk,
    )
    assert said(lines) == {
        "messages are numbered without a gap",
        "a running turn has one running message, any other none",
    }
    lines = broken("UPDATE chat_chatsession SET last_seq = last_seq + 1 WHERE id = %s", world.session.pk)
    lines = broken(
        "UPDATE chat_message SET status = 'complete', finished_at = now(), content = %s WHERE id = %s",
        '[{"type": "tool_use", "id": "toolu_9", "name": "save_memory", "input": {}}]',
        world.running.answer.pk,
    )
    assert lines == []


FILE = """
    INSERT INTO chat_attachment
        (id, owner_id, session_id, message_id, name, kind, media_type, size, sha256, text, width, height, pages,
         small_type, small_size, created_at)
    VALUES (gen_random_uuid(), %s, %s, %s, 'a.txt', 'text', 'text/plain', 3, '', '', 0, 0, 0, '', 0, now())
"""


def test_a_file_in_the_session_of_another_or_with_a_message_of_another_session(world, broken):
    lines = broken(FILE, world.ada.pk, world.strangers_session.pk, world.message.pk)
    assert said(lines) == {
        "an attachment has its file",
        "what belongs together is of one session",
        "what belongs together is of one person",
    }
    assert any(f"was sent in session {world.strangers_session.pk}" in line for line in lines)


def test_a_message_that_names_a_file_which_its_person_does_not_have(world, broken):
    named = '[{"type": "attachment", "id": "00000000-0000-4000-8000-000000000001"}]'
    lines = broken("UPDATE chat_message SET content = %s::jsonb WHERE id = %s", named, world.message.pk)
    assert said(lines) == {"a message has the files that it names"}
    assert f"message {world.message.pk} names attachment 00000000" in lines[0]


def test_a_shown_message_of_another_branch(world, broken):
    lines = broken("UPDATE chat_message SET parent_id = NULL WHERE id = %s", world.answer.pk)
    assert said(lines) == {"what is shown is one branch"}
