"""The settings that owners change on pages, without a restart.

    value("sign_up")        # "closed"
    limit("person_turns")   # 4

A variable of the environment wins. Each process reads the rows at most once in KNOWN_SECONDS, so that all of them have
a change within seconds; web processes have it at once, by a hint.
"""

import asyncio
import hashlib
import itertools
import logging
import threading
import time
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

logger = logging.getLogger(__name__)

# How long a process believes what it has read.
KNOWN_SECONDS = 3.0
# Of the hints that a row has changed.
TOPIC = "settings"

# What was read last, and until when by the monotonic clock it is believed.
_known: tuple[float, dict[str, str]] = (0.0, {})
# The reads are numbered as they begin; this one has been stored.
_numbers = itertools.count(1)
_stored_number = 0
_storing = threading.Lock()
# The event loop keeps no task alive.
_tasks: set["asyncio.Task[None]"] = set()


def value(name: str) -> str:
    """Return the value of the setting `name`. Sync, because it may read the rows."""
    declared = DECLARED[name]
    if declared.fixed_by:
        return declared.default
    return stored().get(name, declared.default)


def limit(name: str) -> int:
    """Return the limit `name` as this process has read it last, without a statement: event loops ask for it, too."""
    declared = LIMITS[name]
    return declared.number_of("" if declared.fixed_by else _known[1].get(name, ""))


def stored() -> dict[str, str]:
    """Return the values that have rows, read at most KNOWN_SECONDS ago."""
    if time.monotonic() >= _known[0]:
        read()
    return _known[1]


def read() -> None:
    """Read the rows now. Sync."""
    global _known, _stored_number
    number = next(_numbers)
    values = dict(RuntimeSetting.objects.values_list("name", "value"))
    with _storing:
        # One that began later may have stored newer rows.
        if number > _stored_number:
            _stored_number, _known = number, (time.monotonic() + KNOWN_SECONDS, values)


def follow(then: Callable[[], None] = lambda: None) -> None:
    """Read the rows now, and again after each hint that they have changed, as long as the running event loop runs; call
    `then` on it each time."""
    changed = asyncio.Event()
    changed.set()

    def hear(_: object) -> None:
        forget()
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
            await in_database(read)
        except DatabaseFailure as error:
            logger.warning("The settings of the pages could not be read; next try in a moment: %s", error)
            changed.set()
            await asyncio.sleep(KNOWN_SECONDS)
        else:
            # An error of it is logged by the event loop, and does not end this one.
            asyncio.get_running_loop().call_soon(then)


def forget() -> None:
    """Read the rows again when a value is needed next; limits are until then what they were."""
    global _known
    _known = 0.0, _known[1]


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
    transaction.on_commit(forget)


def fingerprint(text: str) -> str:
    """Return by what the row of a person remembers that they have dismissed `text`."""
    return hashlib.sha256(text.encode()).hexdigest()[:16]
