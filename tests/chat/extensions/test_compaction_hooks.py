"""Hooks may delay or prevent a summary of older messages, and say what it must keep."""

import datetime as dt
from dataclasses import replace

import pytest
from django.utils import timezone

from chat.extensions import Hook
from chat.extensions.run_hooks import WAIT_MAX_SECONDS, CompactionDecision, after_compaction, before_compaction
from chat.models import ContextRound
from tests.conversations import send

Reason = ContextRound.Reason
CHANGES = {"verdict", "explanation", "focus", "must_keep"}


@pytest.fixture
def session(ada):
    return send(ada).message.session


@pytest.fixture
def hooked(hooked):
    """Register handlers of before_compaction, named a, b, …, until the end of the test."""

    def register(*handlers, point="before_compaction", changes=CHANGES):
        hooked(*(Hook(point, each, name, changes=changes) for each, name in zip(handlers, "abc", strict=False)))

    return register


def ago(seconds):
    return timezone.now() - dt.timedelta(seconds=seconds)


def waiting(value):
    return replace(value, verdict="wait")


def failing(value):
    raise RuntimeError


def test_without_hooks_it_goes_on(session):
    assert before_compaction(session, 4, Reason.THRESHOLD) == CompactionDecision("go")
    after_compaction(session, 4, Reason.THRESHOLD)


def test_handlers_add_what_the_summary_must_keep(session, hooked):
    seen = []

    def first(value):
        seen.append(value)
        return replace(value, focus="Prices.", must_keep=("ORDER-1",))

    def second(value):
        return replace(value, focus=value.focus + " Dates.", must_keep=(*value.must_keep, "ORDER-2"))

    hooked(first, second)
    decision = before_compaction(session, 4, Reason.COMMAND)
    assert decision == CompactionDecision("go", focus="Prices. Dates.", must_keep=("ORDER-1", "ORDER-2"))
    assert (seen[0].session_id, seen[0].user_id) == (session.pk, session.owner_id)
    assert (seen[0].through_seq, seen[0].reason) == (4, "command")


def test_a_veto_cannot_end_a_conversation_that_is_too_long(session, hooked):
    hooked(lambda value: replace(value, verdict="veto", explanation="An audit is running."))
    decision = before_compaction(session, 4, Reason.OVERFLOW)
    assert (decision.verdict, decision.is_forced) == ("go", True)


def test_a_veto_has_a_reason_and_no_further_handler_is_asked(session, hooked):
    hooked(
        lambda value: replace(value, verdict="veto", explanation="An audit is running."),
        lambda value: pytest.fail("asked"),
    )
    for reason in set(Reason) - {Reason.OVERFLOW}:
        decision = before_compaction(session, 4, reason)
        assert decision.verdict == "veto"
        assert str(decision.reason) == "A rule of this server prevented the summary (a): An audit is running."


@pytest.mark.parametrize(
    ("reason", "waited_seconds", "verdict", "is_forced"),
    [
        ("threshold", None, "wait", False),
        ("threshold", WAIT_MAX_SECONDS - 5, "wait", False),
        ("threshold", WAIT_MAX_SECONDS, "veto", False),
        ("overflow", None, "wait", False),
        ("overflow", WAIT_MAX_SECONDS - 5, "wait", False),
        ("overflow", WAIT_MAX_SECONDS, "go", True),
    ],
)
def test_a_handler_may_let_it_wait_for_a_minute(session, hooked, reason, waited_seconds, verdict, is_forced):
    hooked(waiting, lambda value: replace(value, must_keep=("ORDER-1",)))
    decision = before_compaction(session, 4, reason, ago(waited_seconds) if waited_seconds is not None else None)
    assert (decision.verdict, decision.is_forced) == (verdict, is_forced)
    assert decision.must_keep == (("ORDER-1",) if verdict == "go" else ())
    if verdict != "go":
        assert str(decision.reason) == "A rule of this server needs more time."


@pytest.mark.parametrize(
    ("reason", "waited_seconds", "verdict", "is_forced"),
    [
        ("pause", None, "wait", False),
        ("pause", WAIT_MAX_SECONDS, "veto", False),
        ("overflow", None, "go", True),
    ],
)
def test_a_failing_handler_lets_it_wait_and_then_prevents_it(
    session, hooked, reason, waited_seconds, verdict, is_forced
):
    hooked(failing, lambda value: replace(value, must_keep=("ORDER-1",)))
    decision = before_compaction(session, 4, reason, ago(waited_seconds) if waited_seconds is not None else None)
    assert (decision.verdict, decision.is_forced) == (verdict, is_forced)
    if verdict == "go":
        assert decision.must_keep == ("ORDER-1",)
    else:
        assert str(decision.reason) == "A check of this server failed (a)."


def test_a_handler_that_is_switched_off_prevents_it_at_once_unless_the_window_is_full(session, hooked):
    hooked(failing)
    verdicts = [before_compaction(session, 4, Reason.MESSAGES).verdict for _ in range(6)]
    assert verdicts == ["wait"] * 5 + ["veto"]
    decision = before_compaction(session, 4, Reason.OVERFLOW)
    assert (decision.verdict, decision.is_forced) == ("go", True)


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"verdict": "no"}, "verdict"),
        ({"verdict": "go"}, "verdict"),
        ({"verdict": "veto"}, "explanation"),
        ({"verdict": "veto", "explanation": "x" * 501}, "explanation"),
        ({"focus": "Mine."}, "focus"),
        ({"focus": "Prices." + "x" * 2000}, "focus"),
        ({"must_keep": ()}, "must_keep"),
        ({"must_keep": ["ORDER-1"]}, "must_keep"),
        ({"must_keep": ("ORDER-1", "x" * 401)}, "must_keep"),
        ({"must_keep": ("ORDER-1", " ")}, "must_keep"),
        ({"must_keep": ("ORDER-1", *map(str, range(60)))}, "must_keep"),
        ({"through_seq": 9}, "through_seq"),
    ],
)
def test_what_breaks_the_contract_is_dropped(session, hooked, caplog, changes, field):
    seen = []
    hooked(
        lambda value: replace(value, verdict="wait", focus="Prices.", must_keep=("ORDER-1",)),
        lambda value: replace(value, **changes),
        lambda value: seen.append(value) or value,
    )
    before_compaction(session, 4, Reason.THRESHOLD)
    assert f"The hook b at before_compaction broke its contract, and its change is dropped: {field}: " in caplog.text
    (value,) = seen
    assert (value.verdict, value.focus, value.must_keep) == ("wait", "Prices.", ("ORDER-1",))


def test_afterwards_handlers_are_notified_and_a_failing_one_is_logged(session, hooked, caplog):
    seen = []
    hooked(failing, seen.append, point="after_compaction", changes=frozenset())
    after_compaction(session, 4, Reason.COMMAND)
    assert (seen[0].through_seq, seen[0].reason, seen[0].session_id) == (4, "command", session.pk)
    assert "The hook a at after_compaction failed: it raised RuntimeError." in caplog.text
