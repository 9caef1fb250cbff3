"""Tell listening programs which resources have changed: what each of them may read, and nothing of anybody else's.

Rows are asked once in a second, and only while a program listens.
"""

import asyncio
import datetime as dt
import logging
from collections.abc import Callable

from django.db import Error as DatabaseFailure
from django.db.models import QuerySet
from mcp.server.subscriptions import ResourceUpdated, ServerEvent

from memory.access.programs import ProgramAccess
from memory.mcp.call import FORGOTTEN_URI, ProgramCall, present, uri_of
from memory.models import ForgottenLine, MemoryDocument
from oneclaw.models import ApiKey, clock
from oneclaw.people.programs.grants import Grant
from oneclaw.threads import in_database

logger = logging.getLogger(__name__)

LOOK_SECONDS = 1.0
# A change is stored under the time at which its transaction began: it may be seen later.
OVERLAP = dt.timedelta(seconds=10)

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
        has_begun = False
        while self._listeners:
            await asyncio.sleep(LOOK_SECONDS if has_begun else 0)
            listeners = list(self._listeners.values())
            try:
                if not has_begun:
                    await in_database(look.begin)
                    has_begun = True
                    continue
                events = await in_database(look.events_for, [call for call, _ in listeners])
            except DatabaseFailure as error:
                logger.warning("Changes for programs could not be read; next try in a moment: %s", error)
                await asyncio.sleep(LOOK_SECONDS)
                continue
            for (_, listener), uris in zip(listeners, events, strict=True):
                for uri in uris:
                    listener(ResourceUpdated(uri=uri))


class _Look:
    """What was seen of the rows: the versions of documents, and the tombstones."""

    def __init__(self) -> None:
        self._since = dt.datetime.min.replace(tzinfo=dt.UTC)
        self._seen: dict[int, int] = {}
        self._tombstones: set[int] = set()

    def begin(self) -> None:
        """Read where to begin."""
        self._since = clock.read_database_time()
        self._seen = dict(self._written().values_list("pk", "version"))
        self._tombstones = set(self._forgotten().values_list("pk", flat=True))

    def events_for(self, calls: list[ProgramCall]) -> list[list[str]]:
        """Return the addresses of what has changed since the last look, for each of `calls`."""
        now = clock.read_database_time()
        written = dict(self._written().values_list("pk", "version"))
        changed = {pk for pk, version in written.items() if self._seen.get(pk, -1) < version}
        forgotten = dict(self._forgotten().values_list("pk", "space"))
        spaces = {space for pk, space in forgotten.items() if pk not in self._tombstones}
        events = [_uris(call, changed, spaces) if changed or spaces else [] for call in calls]
        # Last: what could not be told is told with the next look.
        self._seen |= written
        self._since, self._tombstones = now, self._tombstones | forgotten.keys()
        return events

    def _written(self) -> "QuerySet[MemoryDocument]":
        return MemoryDocument.objects.filter(updated_at__gte=self._since - OVERLAP)

    def _forgotten(self) -> "QuerySet[ForgottenLine]":
        return ForgottenLine.objects.filter(created_at__gte=self._since - OVERLAP)


def _uris(call: ProgramCall, changed: set[int], forgotten: set[int]) -> list[str]:
    """Return the addresses of those documents of `changed` that the program of `call` may read now."""
    key = ApiKey.objects.live().select_related("user").filter(pk=call.grant.key.pk).first()
    if key is None:
        return []
    access = ProgramAccess.of(Grant.of(key))
    uris = [uri_of(access, row.space, row.path) for row in access.documents.filter(pk__in=changed)]
    return uris + ([FORGOTTEN_URI] if forgotten & {space.pk for space in access.spaces} else [])
