"""Ask the handlers of a hook point, one after another, and check the answer of each; decide about a summary by theirs.

A handler without a valid answer changes nothing: the next one is given the last valid value. The log names the hook
and the field, without what was in it. One that fails too often is not asked any more in this process.
"""

import copy
import datetime as dt
import logging
import os
import socket
import threading
import time
from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields, replace
from typing import Generic, TypeVar

from django.db import Error, transaction
from django.utils import timezone

from chat.extensions.hooks import AfterCompaction, BeforeCompaction, ContractError, Hook, HookValue, Verdict
from chat.models import ChatSession, ContextRound, SwitchedOffHook
from oneclaw.reasons import Reason
from oneclaw.threads import LateError, call_within

logger = logging.getLogger(__name__)

# So many failures within so long switch a hook off in this process, until it ends.
FAILURES_MAX_COUNT, FAILURES_WINDOW_SECONDS = 5, 3600
# Rows of other hosts are kept so long: whether their processes still run cannot be seen from here.
RECORD_KEPT_DAYS = 7
# How long handlers may let a summary wait, and after how long they are asked again.
WAIT_MAX_SECONDS, ASK_AGAIN_SECONDS = 60, 5

# The hooks of all extensions, by point, in the order in which they are asked.
_hooks: dict[str, tuple[Hook, ...]] = {}
# By point and name.
_lock = threading.Lock()
_failures: dict[tuple[str, str], deque[float]] = {}
_switched_off: set[tuple[str, str]] = set()

V = TypeVar("V", bound=HookValue)


@dataclass(frozen=True)
class FailedHook:
    """A hook without which its point does not go on, and that gave no valid answer."""

    hook: Hook
    # Whether it was not asked, because it has failed too often.
    is_switched_off: bool


@dataclass(frozen=True)
class HookRun(Generic[V]):
    """The value after all handlers, the names of the hooks that changed it, and those that failed closed."""

    value: V
    changed_by: tuple[str, ...] = ()
    failed: tuple[FailedHook, ...] = ()


@dataclass(frozen=True)
class CompactionDecision:
    """What the hooks decided: go on, wait and ask again, or make no summary, for a `reason` to show.

    `focus` is what the summary should keep especially, `must_keep` what it must hold word for word. `is_forced`: the
    window is full, so it goes on although a hook failed or still wanted to wait.
    """

    verdict: Verdict
    reason: Reason | None = None
    focus: str = ""
    must_keep: tuple[str, ...] = ()
    is_forced: bool = False


def set_hooks(hooks: Iterable[Hook]) -> None:
    """Ask these hooks from now on, and no others, whose failures are forgotten."""
    _hooks.clear()
    for hook in sorted(hooks, key=lambda hook: (hook.order, hook.name)):
        _hooks[hook.point] = (*_hooks.get(hook.point, ()), hook)
    with _lock:
        for key in _failures.keys() - {_key(hook) for asked in _hooks.values() for hook in asked}:
            del _failures[key]
            _switched_off.discard(key)


def hooks_at(kind: type[HookValue]) -> tuple[Hook, ...]:
    """Return the hooks at the point of `kind`, in the order in which they are asked."""
    return _hooks.get(kind.POINT, ())


def run_hooks(value: V, *, past_failures: bool = False) -> HookRun[V]:
    """Ask the handlers of the point of `value`, in order, and return the outcome. Sync.

    It ends with the first handler that refuses, and, unless `past_failures`, with the first that fails closed.
    """
    changed_by: list[str] = []
    failed: list[FailedHook] = []
    for hook in hooks_at(type(value)):
        is_off = is_switched_off(hook)
        after = None if is_off else _ask(hook, value)
        if after is None:
            if hook.fails_closed:
                failed.append(FailedHook(hook, is_off))
                if not past_failures:
                    break
            continue
        if after != value:
            changed_by.append(hook.name)
            value = after
        if value.is_final:
            break
    return HookRun(value, tuple(changed_by), tuple(failed))


def before_compaction(
    session: ChatSession, through_seq: int, reason: str, asked_since: dt.datetime | None = None
) -> CompactionDecision:
    """Ask the hooks about a summary of the messages of `session` up to `through_seq`. Sync.

    `reason` is a ContextRound.Reason. `asked_since` is when they were asked about it first; None: they are now. After
    WAIT_MAX_SECONDS a summary that still has to wait is not made, unless the window is full.
    """
    if not hooks_at(BeforeCompaction):
        return CompactionDecision("go")
    asked = BeforeCompaction(
        user_id=session.owner_id, session_id=session.pk, through_seq=through_seq, reason=str(reason)
    )
    run = run_hooks(asked, past_failures=True)
    value = run.value
    go = CompactionDecision("go", focus=value.focus, must_keep=value.must_keep)
    if value.verdict == "veto" and reason == ContextRound.Reason.OVERFLOW:
        # Without a summary, the conversation would end here.
        return replace(go, is_forced=True)
    if value.verdict == "veto":
        veto = Reason("compaction.vetoed", {"name": run.changed_by[-1], "sentence": value.explanation})
        return CompactionDecision("veto", veto)
    if value.verdict == "go" and not run.failed:
        return go
    if reason == ContextRound.Reason.OVERFLOW and (run.failed or _is_over(asked_since)):
        return replace(go, is_forced=True)
    if _is_over(asked_since) or _is_hopeless(run.failed):
        return CompactionDecision("veto", _reason_of(run.failed))
    return CompactionDecision("wait", _reason_of(run.failed))


def after_compaction(session: ChatSession, through_seq: int, reason: str) -> None:
    """Notify the hooks that a summary has replaced the messages of `session` up to `through_seq`. Sync."""
    if hooks_at(AfterCompaction):
        run_hooks(
            AfterCompaction(
                user_id=session.owner_id, session_id=session.pk, through_seq=through_seq, reason=str(reason)
            )
        )


def is_switched_off(hook: Hook) -> bool:
    """Return whether this process does not ask `hook` any more."""
    return _key(hook) in _switched_off


def switched_off_rows() -> list[SwitchedOffHook]:
    """Return what processes have switched off, newest first, without those of this host that have ended."""
    here = socket.gethostname()[:200]
    return [row for row in SwitchedOffHook.objects.all() if row.host != here or _is_running(row.pid)]


def _ask(hook: Hook, value: V) -> V | None:
    """Return the value after `hook`; None when it failed, which is logged and counted."""
    try:
        return call_within(value.SECONDS, lambda: _checked_answer(hook, value))
    except LateError:
        why = f"it did not answer within {value.SECONDS:g} s; what it still does is ignored"
        logger.error("The hook %s at %s failed: %s.", hook.name, hook.point, why)
    except ContractError as error:
        why = str(error)
        logger.error("The hook %s at %s broke its contract, and its change is dropped: %s.", hook.name, hook.point, why)
    except Exception as error:
        # Any app can add a handler, and a bug in it must not end the turn.
        why = f"it raised {type(error).__name__}"
        logger.exception("The hook %s at %s failed: %s.", hook.name, hook.point, why)
    _record(hook, why)
    return None


def _checked_answer(hook: Hook, before: V) -> V:
    """Call the handler with a copy of `before`; return the fields that it may change, in another copy.

    Raise ContractError. No handler has a reference to a value that another one is given.
    """
    argument = copy.deepcopy(before)
    answer = hook.handler(argument)
    for name in (each.name for each in fields(before)):
        if getattr(argument, name) != getattr(before, name):
            raise ContractError(name, "it was changed in place; return a copy with dataclasses.replace")
    if not hook.kind.CHANGEABLE:
        if answer is not None:
            raise ContractError("", f"the answer is of the type {type(answer).__name__}, not None")
        return before
    if type(answer) is not type(before):
        raise ContractError("", f"the answer is of the type {type(answer).__name__}, not {type(before).__name__}")
    for name in (each.name for each in fields(before) if each.name not in hook.changes):
        if getattr(answer, name) != getattr(before, name):
            raise ContractError(name, "the hook does not declare that it changes it")
    after = replace(before, **{name: getattr(answer, name) for name in hook.changes})
    after.check(before)
    return copy.deepcopy(after)


def _record(hook: Hook, why: str) -> None:
    """Count a failure of `hook`, and switch it off after too many; `why` says what was wrong, without private text."""
    now, key = time.monotonic(), _key(hook)
    with _lock:
        times = _failures.setdefault(key, deque(maxlen=FAILURES_MAX_COUNT))
        times.append(now)
        is_too_often = len(times) == FAILURES_MAX_COUNT and now - times[0] < FAILURES_WINDOW_SECONDS
        if not is_too_often or key in _switched_off:
            return
        _switched_off.add(key)
    logger.error(
        "The hook %s at %s is switched off in this process after %d failures within an hour: %s",
        hook.name,
        hook.point,
        FAILURES_MAX_COUNT,
        hook.kind.ON_FAILURE if hook.fails_closed else "it is left out from now on",
    )
    try:
        with transaction.atomic():
            _remove_old_rows()
            row = {"point": hook.point, "name": hook.name[:200], "host": socket.gethostname()[:200], "pid": os.getpid()}
            SwitchedOffHook.objects.create(**row, why=why[:300])
    except Error:
        # The row is only for the list; the switch itself is this process's own.
        logger.exception("That the hook %s is switched off was not recorded.", hook.name)


def _remove_old_rows() -> None:
    SwitchedOffHook.objects.filter(at__lt=timezone.now() - dt.timedelta(days=RECORD_KEPT_DAYS)).delete()


def _is_over(asked_since: dt.datetime | None) -> bool:
    return asked_since is not None and timezone.now() - asked_since >= dt.timedelta(seconds=WAIT_MAX_SECONDS)


def _is_hopeless(failed: Sequence[FailedHook]) -> bool:
    """Return whether waiting cannot help: a hook is switched off until the process ends."""
    return any(each.is_switched_off for each in failed)


def _reason_of(failed: Sequence[FailedHook]) -> Reason:
    if failed:
        return Reason("compaction.check_failed", {"name": failed[0].hook.name})
    return Reason("compaction.waited")


def _is_running(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def _key(hook: Hook) -> tuple[str, str]:
    return hook.point, hook.name
