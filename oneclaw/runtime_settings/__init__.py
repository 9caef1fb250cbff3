"""The settings that owners change on pages, without a restart.

    value("sign_up")        # "closed"
    limit("person_turns")   # 4

A variable of the environment wins. Each process reads the rows at most once in KNOWN_SECONDS, so that all of them have
a change within seconds; web processes have it at once, by a hint.
"""

import asyncio
import hashlib
import logging
from collections.abc import Callable

from django.db import Error as DatabaseFailure
from django.db import transaction

from oneclaw import pubsub
from oneclaw.audit.record import record
from oneclaw.locks import hold
from oneclaw.models import AuditKind, RuntimeSetting, User
from oneclaw.runtime_settings.declared import DECLARED, TEXT_MAX_CHARS, Declared, NotChangeableError
from oneclaw.runtime_settings.limits import LIMITS, Limit, NotALimitError
from oneclaw.threads import in_database
from oneclaw.timed_read import TimedRead

logger = logging.getLogger(__name__)

# How long a process believes what it has read.
KNOWN_SECONDS = 3.0
# Of the hints that a row has changed.
TOPIC = "settings"

# The event loop keeps no task alive.
_tasks: set["asyncio.Task[None]"] = set()


def _rows() -> dict[str, str]:
    return dict(RuntimeSetting.objects.values_list("name", "value"))


# The values that have rows.
stored: TimedRead[dict[str, str]] = TimedRead(_rows, KNOWN_SECONDS, {})


def value(name: str) -> str:
    """Return the value of the setting `name`. Sync, because it may read the rows."""
    declared = DECLARED[name]
    if declared.fixed_by:
        return declared.default
    return stored.value().get(name, declared.default)


def limit(name: str) -> int:
    """Return the limit `name` as this process has read it last, without a statement: event loops ask for it, too."""
    declared = LIMITS[name]
    return declared.number_of("" if declared.fixed_by else stored.last.get(name, ""))


def follow(then: Callable[[], None] = lambda: None) -> None:
    """Read the rows now, and again after each hint that they have changed, as long as the running event loop runs; call
    `then` on it each time."""
    changed = asyncio.Event()
    changed.set()

    def hear(_: object) -> None:
        stored.forget()
        changed.set()

    pubsub.subscribe(TOPIC, hear)
    task = asyncio.create_task(_read_again(changed, then), name="settings")
    _tasks.add(task)
    task.add_done_callback(_tasks.discard)


async def _read_again(changed: asyncio.Event, then: Callable[[], None]) -> None:
    while True:
        await changed.wait()
        changed.clear()
        try:
            await in_database(stored.read)
        except DatabaseFailure as error:
            logger.warning("The settings of the pages could not be read; next try in a moment: %s", error)
            changed.set()
            await asyncio.sleep(stored.seconds)
        else:
            # An error of it is logged by the event loop, and does not end this one.
            asyncio.get_running_loop().call_soon(then)


@transaction.atomic
def change(actor: User, name: str, new: str) -> None:
    """Set the setting or limit `name` to `new` for all processes. Raise NotChangeableError or NotALimitError."""
    declared = (DECLARED | LIMITS)[name]
    if declared.fixed_by:
        raise NotChangeableError
    new = declared.checked(new)
    hold(f"setting {name}")
    row = RuntimeSetting.objects.filter(pk=name).first()
    before = row.value if row else "" if isinstance(declared, Limit) else declared.default
    if before == new:
        return
    RuntimeSetting.objects.update_or_create(name=name, defaults={"value": new, "changed_by": actor})
    record(AuditKind.SETTING_CHANGED, actor=actor, setting=name, **declared.recorded(before, new))
    pubsub.notify(TOPIC, pubsub.MISSED)
    transaction.on_commit(stored.forget)


def fingerprint(text: str) -> str:
    """Return by what the row of a person remembers that they have dismissed `text`."""
    return hashlib.sha256(text.encode()).hexdigest()[:16]
