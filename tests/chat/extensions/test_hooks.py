"""A handler of a hook point has a contract, and one that breaks it changes nothing."""

import sys
import time
from dataclasses import replace
from uuid import uuid4

import pytest
from django.db import OperationalError, connection
from django.utils import translation

from chat import extensions
from chat.extensions import AfterCompaction, BeforeToolCall, ContextFiles, Extension, Hook
from chat.extensions.run_hooks import is_switched_off, switched_off_rows
from chat.models import SwitchedOffHook
from oneclaw import threads
from oneclaw.models import User
from oneclaw.threads import LateError, call_within
from tests.hooks import late_threads

SCHEMA = {"type": "object", "properties": {"words": {"type": "array"}}, "additionalProperties": False}


def a_call(**fields):
    words = {"arguments": {"words": ["one"]}, "input_schema": SCHEMA, "input_max_bytes": 1000}
    named = {"user_id": 1, "session_id": uuid4(), "message_id": 2, "call_id": "toolu_1", "tool": "note"}
    return BeforeToolCall(**named, **words | fields)


def adding(word):
    """A handler that adds `word` to the arguments as it should."""
    return lambda call: replace(call, arguments={"words": [*call.arguments["words"], word]})


def changed_in_place(call):
    call.arguments["words"].append("in place")
    return call


def changed_in_place_and_copied(call):
    call.arguments["words"].append("in place")
    return replace(call, arguments={"words": ["in place"]})


class Mute:
    def __eq__(self, other):
        raise RuntimeError("not comparable")

    __hash__ = None


BROKEN = {
    "raises": (lambda call: 1 / 0, "it raised ZeroDivisionError"),
    "wrong type": (lambda call: {"words": []}, "the answer is of the type dict, not BeforeToolCall"),
    "returns None": (lambda call: None, "the answer is of the type NoneType, not BeforeToolCall"),
    "undeclared field": (lambda call: replace(call, tool="rm"), "tool: the hook does not declare that it changes it"),
    "breaks the schema": (
        lambda call: replace(call, arguments={"words": "hidden"}),
        "arguments: the schema of the tool refuses them: “type” at words",
    ),
    "unknown argument": (
        lambda call: replace(call, arguments={"hidden": 1}),
        "arguments: the schema of the tool refuses them: “additionalProperties” at all",
    ),
    "too large": (
        lambda call: replace(call, arguments={"words": ["hidden" * 1000]}),
        "arguments: they have more than 1,000 bytes",
    ),
    "not JSON": (lambda call: replace(call, arguments={"words": [{1}]}), "arguments: it is not JSON"),
    "a tuple": (
        lambda call: replace(call, arguments={"words": [(1,)]}),
        "arguments: it changes when it is written as JSON",
    ),
    "too deep": (lambda call: replace(call, arguments={"words": nested(100_000)}), ""),
    "in place": (changed_in_place, "arguments: it was changed in place"),
    "in place and copied": (changed_in_place_and_copied, "arguments: it was changed in place"),
    "incomparable": (lambda call: replace(call, tool=Mute()), "it raised RuntimeError"),
    "refusal of another type": (lambda call: replace(call, refusal=["hidden"]), "refusal: it is of the type list"),
    "blank refusal": (lambda call: replace(call, refusal="  "), "refusal: it is blank"),
}


def nested(depth):
    value = []
    for _ in range(depth):
        value = [value]
    return value


@pytest.mark.parametrize("kind", BROKEN)
def test_the_change_of_a_broken_handler_is_dropped_and_the_next_one_never_sees_it(db, hooked, caplog, kind):
    handler, complaint = BROKEN[kind]
    seen, call = [], a_call()
    hooked(
        Hook("before_tool_call", adding("a"), "a", changes={"arguments"}),
        Hook("before_tool_call", handler, "b", changes={"arguments", "refusal"}),
        Hook("before_tool_call", lambda call: seen.append(call) or adding("c")(call), "c", changes={"arguments"}),
    )
    run = extensions.run_hooks(call, past_failures=True)
    assert [each.arguments for each in seen] == [{"words": ["one", "a"]}]
    assert run.value == replace(call, arguments={"words": ["one", "a", "c"]})
    assert run.changed_by == ("a", "c")
    assert [each.hook.name for each in run.failed] == ["b"]
    messages = [record.getMessage() for record in caplog.records if record.name == "chat.extensions.run_hooks"]
    assert len(messages) == 1
    assert "The hook b at before_tool_call" in messages[0]
    assert complaint in messages[0]
    assert "hidden" not in caplog.text.partition("Traceback")[0]


def test_a_late_handler_is_abandoned_and_what_it_does_later_changes_nothing(db, hooked, held, monkeypatch, caplog):
    monkeypatch.setattr(BeforeToolCall, "SECONDS", 0.05)

    def late(call):
        held.wait(20)
        return replace(call, arguments={"words": ["late"]})

    hooked(
        Hook("before_tool_call", late, "b", changes={"arguments"}),
        Hook("before_tool_call", lambda call: call, "c"),
    )
    call = a_call()
    run = extensions.run_hooks(call, past_failures=True)
    assert run.value == call
    assert "The hook b at before_tool_call failed: it did not answer within 0.05 s" in caplog.text
    assert all(thread.daemon for thread in late_threads())


def test_a_handler_keeps_no_hold_of_what_it_returned(db, hooked):
    kept = []

    def keeping(call):
        words = ["mine"]
        kept.append(words)
        return replace(call, arguments={"words": words})

    def using(call):
        kept[0].append("later")
        return call

    hooked(
        Hook("before_tool_call", keeping, "a", changes={"arguments"}),
        Hook("before_tool_call", using, "b"),
    )
    assert extensions.run_hooks(a_call()).value.arguments == {"words": ["mine"]}


def test_handlers_are_asked_by_order_and_then_by_name_across_extensions(db, hooked):
    asked = []

    def named(name, order):
        return Hook("before_tool_call", lambda call: asked.append(name) or call, name, order=order)

    hooked(named("z", 1), named("b", 100))
    hooked(named("a", 100), named("y", 50))
    extensions.run_hooks(a_call())
    assert asked == ["z", "y", "a", "b"]


def test_after_a_refusal_no_further_handler_is_asked(db, hooked):
    hooked(
        Hook("before_tool_call", lambda call: replace(call, refusal="No."), "a", changes={"refusal"}),
        Hook("before_tool_call", lambda call: pytest.fail("asked"), "b"),
    )
    run = extensions.run_hooks(a_call())
    assert (run.value.refusal, run.failed) == ("No.", ())


def test_an_observer_that_answers_something_has_broken_its_contract(db, hooked, caplog):
    seen = []
    hooked(
        Hook("after_compaction", lambda value: "done", "a"),
        Hook("after_compaction", seen.append, "b"),
    )
    value = AfterCompaction(user_id=1, session_id=uuid4(), through_seq=3, reason="command")
    assert extensions.run_hooks(value).value == value
    assert seen == [value]
    assert "The hook a at after_compaction broke its contract" in caplog.text


def test_the_fifth_failure_within_an_hour_switches_a_handler_off(db, hooked, caplog):
    asked = []
    hooked(Hook("context_files", lambda value: asked.append(value), "b", changes={"files"}))
    value = ContextFiles(user_id=1, session_id=uuid4(), files=())
    for _ in range(7):
        assert extensions.run_hooks(value).value == value
    assert len(asked) == 5
    assert caplog.text.count("is switched off in this process") == 1
    row = SwitchedOffHook.objects.get()
    assert (row.point, row.name) == ("context_files", "b")
    assert row.why == "the answer is of the type NoneType, not ContextFiles"


def test_failures_that_are_an_hour_apart_switch_nothing_off(db, hooked, monkeypatch):
    asked, now = [], [0.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    hooked(Hook("context_files", asked.append, "b"))
    for _ in range(9):
        now[0] += 900.0
        extensions.run_hooks(ContextFiles(user_id=1, session_id=uuid4(), files=()))
    assert len(asked) == 9


def test_a_switched_off_handler_of_a_closed_point_keeps_refusing(db, hooked):
    asked = []
    hooked(Hook("before_tool_call", asked.append, "guard"))
    failed = [extensions.run_hooks(a_call()).failed for _ in range(6)]
    assert len(asked) == 5
    assert [each.is_switched_off for (each,) in failed] == [False] * 5 + [True]


def test_a_process_that_has_ended_is_not_listed(db, hooked):
    hooked(Hook("context_files", lambda value: None, "b"))
    for _ in range(5):
        extensions.run_hooks(ContextFiles(user_id=1, session_id=uuid4(), files=()))
    assert len(switched_off_rows()) == 1
    SwitchedOffHook.objects.update(pid=2**22 + 1)
    assert switched_off_rows() == []


@pytest.mark.parametrize(
    "fields",
    [
        {"point": "before_lunch"},
        {"name": ""},
        {"changes": {"tool"}},
        {"changes": "refusal"},
        {"must": True},
        {"point": "after_compaction", "changes": {"reason"}},
    ],
)
def test_a_hook_that_can_never_work_is_refused(fields):
    with pytest.raises(ValueError, match="hook"):
        Hook(**{"point": "before_tool_call", "handler": print, "name": "a"} | fields)


def test_an_async_handler_is_refused():
    async def handler(value):
        return value

    with pytest.raises(ValueError, match="sync handler"):
        Hook("before_tool_call", handler, "a")


def test_two_hooks_with_one_name_at_one_point_are_refused(hooked):
    hooked(Hook("before_tool_call", print, "a"), Hook("turn_finished", print, "a"))
    with pytest.raises(ValueError, match="before_tool_call: a"):
        extensions.register(Extension("other", hooks=[Hook("before_tool_call", print, "a")]))
    with pytest.raises(ValueError, match="Two hooks of other"):
        extensions.register(Extension("other", hooks=[Hook("turn_finished", print, "b")] * 2))


def test_what_is_unregistered_is_not_asked_and_its_failures_are_forgotten(db):
    hook = Hook("before_tool_call", lambda call: None, "a")
    extension = extensions.register(Extension("hooked", hooks=[hook]))
    for _ in range(5):
        extensions.run_hooks(a_call())
    assert is_switched_off(hook)
    extensions.unregister(extension)
    assert extensions.hooks_at(BeforeToolCall) == ()
    assert not is_switched_off(hook)


def test_without_hooks_no_thread_is_started(monkeypatch):
    monkeypatch.setattr(threads.threading, "Thread", lambda **named: pytest.fail("a thread"))
    call = a_call()
    assert extensions.run_hooks(call).value is call


def test_a_handler_has_the_language_of_its_caller(db):
    with translation.override("ja"):
        assert call_within(5, translation.get_language) == "ja"


def test_an_error_reaches_the_caller():
    with pytest.raises(ZeroDivisionError):
        call_within(5, lambda: 1 / 0)


def test_a_function_cannot_end_the_thread_of_its_caller():
    with pytest.raises(RuntimeError, match="asked the process to exit"):
        call_within(5, sys.exit)


def test_queries_of_a_late_function_fail(db, held):
    errors = []

    def late():
        held.wait(20)
        try:
            User.objects.count()
        except LateError as error:
            errors.append(error)

    with pytest.raises(LateError):
        call_within(0.05, late)
    held.set()
    for thread in late_threads():
        thread.join(10)
    assert len(errors) == 1


def test_a_query_ends_with_the_time_limit(db, held):
    errors = []

    def waiting():
        try:
            with connection.cursor() as cursor:
                cursor.execute("SELECT pg_sleep(60)")
        except OperationalError as error:
            errors.append(error)
            raise

    with pytest.raises((LateError, OperationalError)):
        call_within(0.2, waiting)
    for thread in late_threads():
        thread.join(10)
    assert "statement timeout" in str(errors)


def test_the_limit_of_queries_does_not_stay_on_the_connection(transactional_db):
    def timeout():
        with connection.cursor() as cursor:
            return cursor.execute("SHOW statement_timeout").fetchone()[0]

    assert call_within(5, timeout) == "5s"
    assert timeout() == "0"


def test_the_callers_connection_is_free_while_it_waits(transactional_db):
    User.objects.count()
    assert connection.connection is not None
    assert call_within(5, User.objects.count) == 0
    assert connection.connection is None
