"""Tools: what is offered, what is refused, and what the model reads when something goes wrong."""

import json
from concurrent.futures import ThreadPoolExecutor

import pytest
from django.db import connection, transaction

from chat import extensions
from chat.extensions import Extension, Tool, ToolError, ToolResult
from chat.models import Agent
from chat.turns import tools
from chat.turns.tools import call_tool
from tests.conversations import send

SCHEMA = {
    "type": "object",
    "properties": {"content": {"type": "string"}, "count": {"type": "integer", "minimum": 1}},
    "required": ["content"],
    "additionalProperties": False,
}


@pytest.fixture
def note():
    """A tool that notes what it was called with."""
    calls = []

    def call(call):
        if call.input["content"] == "refuse":
            raise ToolError("save_failed", "Failed to note: refused")
        if call.input["content"] == "break":
            raise RuntimeError("boom")
        calls.append(call)
        return ToolResult({"noted": call.input["content"]}, "Noted", [call.input["content"]])

    tool = Tool("note", "Notes.", SCHEMA, call, offered=lambda session: session.mode == "agent")
    extension = extensions.register(Extension("notes", tools=[tool]))
    yield calls
    extensions.unregister(extension)


def use(accepted, arguments, *, name="note", broken=""):
    block = {"type": "tool_use", "id": "toolu_9", "name": name, "input": arguments}
    result, card = call_tool(accepted.turn, accepted.answer, block, broken)
    return result, card


def error_of(result):
    assert result["is_error"]
    return json.loads(result["content"])["error"]


def test_a_call_returns_the_result_block_and_a_card(ada, note):
    accepted = send(ada)
    result, card = use(accepted, {"content": "x"})
    assert result == {"type": "tool_result", "tool_use_id": "toolu_9", "content": '{"noted": "x"}'}
    assert (card["state"], card["summary"], card["lines"]) == ("done", "Noted", ["x"])
    assert (note[0].user, note[0].session, note[0].message_id) == (ada, accepted.message.session, accepted.answer.pk)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({}, "Parameter 'content' is required and must be non-empty."),
        ({"content": None}, "Parameter 'content' is required and must be non-empty."),
        ({"content": 3}, "Parameter 'content': 3 is not of type 'string'"),
        ({"content": "x", "count": 0}, "Parameter 'count': 0 is less than the minimum of 1"),
        ({"content": "x" * 70_000}, "The arguments have 70,015 bytes; at most 65,536 are taken."),
    ],
)
def test_arguments_that_do_not_fit_change_nothing(ada, note, arguments, message):
    result, card = use(send(ada), arguments)
    assert error_of(result) == {"code": "validation_error", "message": message}
    assert card["state"] == "failed"
    assert note == []


def test_arguments_that_arrived_broken_change_nothing(ada, note):
    result, _ = use(send(ada), {}, broken="The arguments are not valid JSON")
    assert error_of(result)["code"] == "validation_error"
    assert note == []


def test_an_unknown_tool_is_an_error_for_the_model(ada):
    result, _ = use(send(ada), {}, name="rm_rf")
    assert error_of(result)["code"] == "unknown_tool"


def test_a_tool_that_is_not_offered_cannot_be_called(ada, note):
    accepted = send(ada)
    accepted.message.session.mode = "chat"
    accepted.message.session.save()
    result, _ = use(accepted, {"content": "x"})
    assert error_of(result)["code"] == "unknown_tool"
    assert note == []


def test_a_tool_error_reaches_the_model_as_it_is(ada, note):
    result, _ = use(send(ada), {"content": "refuse"})
    assert error_of(result) == {"code": "save_failed", "message": "Failed to note: refused"}


def test_a_fault_of_a_tool_is_told_and_logged_but_ends_nothing(ada, note, caplog):
    result, _ = use(send(ada), {"content": "break"})
    assert error_of(result)["code"] == "tool_failed"
    assert "boom" in caplog.text


@pytest.mark.django_db(transaction=True)
def test_a_call_that_waits_too_long_for_somebody_else_tells_the_model_so(ada, monkeypatch):
    monkeypatch.setattr(tools, "LOCK_WAIT_SECONDS", 0.2)
    accepted = send(ada)

    @transaction.atomic
    def lock(call=None):
        Agent.objects.select_for_update().get()
        return ToolResult("Locked.", "Locked.")

    def patience():
        with connection.cursor() as cursor:
            return cursor.execute("SHOW lock_timeout").fetchone()[0]

    def called_elsewhere():
        try:
            return use(accepted, {}, name="lock")[0], patience()
        finally:
            connection.close()

    extension = extensions.register(Extension("locks", tools=[Tool("lock", "Locks.", {"type": "object"}, lock)]))
    try:
        with ThreadPoolExecutor(1) as pool, transaction.atomic():
            lock()
            result, patience_after = pool.submit(called_elsewhere).result()
    finally:
        extensions.unregister(extension)
    assert error_of(result)["code"] == "busy"
    assert patience_after == patience()


@pytest.mark.parametrize(
    ("result", "fields"),
    [
        (
            '{"path": "a.md", "lines": 3, "cut": true, "": "", "results": [1]}',
            {"path": "a.md", "lines": "3", "cut": True},
        ),
        ('{"text": "' + "x" * 2000 + '"}', {"text": "x" * tools.FIELD_SHOWN_MAX_CHARS}),
        ("Plain text", {}),
        ("{broken", {}),
        ("[1, 2]", {}),
    ],
)
def test_the_values_of_a_result_are_kept_as_a_person_reads_them(result, fields):
    assert tools.readable_fields(result) == fields
