"""Ask the handlers of a hook point, one after another, and check the answer of each.

A handler without a valid answer changes nothing: the next one is given the last valid value. The log names the hook
and the field, without what was in it.
"""

import copy
import logging
from dataclasses import dataclass, fields, replace
from typing import Generic, TypeVar

from chat.extensions import hook_failures
from chat.extensions.hooks import ContractError, Hook, HookValue
from chat.extensions.registry import hooks_at
from oneclaw.threads import LateError, call_within

logger = logging.getLogger(__name__)
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


def run_hooks(value: V, *, past_failures: bool = False) -> HookRun[V]:
    """Ask the handlers of the point of `value`, in order, and return the outcome. Sync.

    It ends with the first handler that refuses, and, unless `past_failures`, with the first that fails closed.
    """
    changed_by: list[str] = []
    failed: list[FailedHook] = []
    for hook in hooks_at(type(value)):
        is_off = hook_failures.is_switched_off(hook)
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
    hook_failures.record(hook, why)
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
