"""Tell listening programs which resources have changed: what each of them may read, and nothing of anybody else's.

Rows are asked once in a second, and only while a program listens.
"""

import asyncio
import datetime as dt
import logging
from collections.abc import Callable

from django.db import Error as DatabaseFailure
from mcp.server.subscriptions import ResourceUpdated, ServerEvent

from memory.access.programs import ProgramAccess
from memory.mcp.call import ProgramCall, present, uri_of
from memory.models import ForgottenLine, MemoryDocument
from memory.policy.paths import is_in_skill
from oneclaw.models import clock
from oneclaw.people.programs.grants import Grant
from oneclaw.people.programs.tokens import still_valid
from oneclaw.threads import in_database

logger = logging.getLogger(__name__)

LOOK_SECONDS = 1.0
# A change is stored under the time at which its transaction began: it may be seen later.
OVERLAP = dt.timedelta(seconds=10)
FORGOTTEN_URI = "memory://forgotten"

Listener = Callable[[ServerEvent], None]


class ChangeBus:
    """The listeners of one process, as the package's SubscriptionBus wants them. Each hears of what its own grant may
    read."""

    def __init__(self) -> None:
        self._listeners: dict[object, tuple[ProgramCall, Listener]] = {}
        self._task: asyncio.Task[None] | None = None

    async def publish(self, event: ServerEvent) -> None:
        """Do nothing: events are about one person, and come from rows alone."""

    def subscribe(self, listener: Listener) -> Callable[[], None]:
        """Let `listener` hear of changes for the present call; return a function that stops it."""
        token = object()
        self._listeners[token] = present(), listener
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self._follow(), name="mcp changes")
        return lambda: self._drop(token)

    async def end(self) -> None:
        """End the task that asks."""
        self._listeners.clear()
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait([self._task])

    def _drop(self, token: object) -> None:
        self._listeners.pop(token, None)

    async def _follow(self) -> None:
        look = _Look()
        await in_database(look.begin)
        while self._listeners:
            await asyncio.sleep(LOOK_SECONDS)
            listeners = list(self._listeners.values())
            try:
                events = await in_database(look.events_for, [call for call, _ in listeners])
            except DatabaseFailure as error:
                logger.warning("Changes for programs could not be read; next try in a moment: %s", error)
                continue
            for (_, listener), uris in zip(listeners, events, strict=True):
                for uri in uris:
                    listener(ResourceUpdated(uri=uri))


class _Look:
    """What was seen of the rows: the versions of documents, and the newest tombstone."""

    def __init__(self) -> None:
        self._since = dt.datetime.min.replace(tzinfo=dt.UTC)
        self._seen: dict[int, int] = {}
        self._last_tombstone = 0

    def begin(self) -> None:
        """Read where to begin."""
        self._since = clock.read_database_time()
        rows = MemoryDocument.objects.filter(updated_at__gte=self._since - OVERLAP)
        self._seen = dict(rows.values_list("pk", "version"))
        self._last_tombstone = ForgottenLine.objects.order_by("-pk").values_list("pk", flat=True).first() or 0

    def events_for(self, calls: list[ProgramCall]) -> list[list[str]]:
        """Return the addresses of what has changed since the last look, for each of `calls`."""
        now = clock.read_database_time()
        rows = MemoryDocument.objects.filter(updated_at__gte=self._since - OVERLAP)
        changed = [
            (pk, version, space, path)
            for pk, version, space, path in rows.values_list("pk", "version", "space", "path")
            if self._seen.get(pk, -1) < version
        ]
        tombstones = list(ForgottenLine.objects.filter(pk__gt=self._last_tombstone).values_list("pk", "space"))
        self._seen |= {pk: version for pk, version, _, _ in changed}
        self._since, self._last_tombstone = now, max([self._last_tombstone, *(pk for pk, _ in tombstones)])
        if not changed and not tombstones:
            return [[] for _ in calls]
        forgotten = {space for _, space in tombstones}
        return [_uris(call, [(space, path) for _, _, space, path in changed], forgotten) for call in calls]


def _uris(call: ProgramCall, changed: list[tuple[int, str]], forgotten: set[int]) -> list[str]:
    if not still_valid(call.grant.key):
        return []
    call.grant.key.refresh_from_db()
    access = ProgramAccess.of(Grant.of(call.grant.key))
    readable = {space.pk: space for space in access.spaces}
    uris = [
        uri_of(access, readable[space], path) for space, path in changed if space in readable and not is_in_skill(path)
    ]
    return uris + ([FORGOTTEN_URI] if forgotten & set(readable) else [])
