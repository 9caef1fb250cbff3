"""The members in a room: sockets of people who may not see its session any more are turned away at once."""

import asyncio
import logging
import uuid
from collections.abc import Callable, Collection
from typing import Any, Protocol

from django.db import Error

from chat.live.outbox import Outbox
from chat.models import ChatSession
from oneclaw import pubsub
from oneclaw.models import SpaceRole
from oneclaw.threads import in_database

logger = logging.getLogger(__name__)

DATABASE_RETRY_SECONDS = 1


class RoomOfMembers(Protocol):
    """The interface of a room that its members use."""

    owner_id: int
    session_id: uuid.UUID
    outboxes: set[Outbox]

    def leave(self, outbox: Outbox) -> None:
        """Remove a socket by its outbox."""


class Members:
    """Checks who may be in one room whenever roles in its space change, and after hints may have been lost."""

    def __init__(self, room: RoomOfMembers) -> None:
        self._room = room
        self._space_id: int | None = None
        self._unsubscribe: Callable[[], None] = lambda: None
        self._checking: asyncio.Task[None] | None = None
        self._again = False

    @property
    def is_shared(self) -> bool:
        """Return whether the session is shared, as far as the room knows."""
        return self._space_id is not None

    def watch(self, space_id: int | None) -> None:
        """Check the people in the room when roles in the space `space_id` change; None: the session is private.

        Whose role was lost while they entered is found by a check now.
        """
        if space_id != self._space_id:
            self._unsubscribe()
            self._space_id = space_id
            self._unsubscribe = pubsub.subscribe(f"space:{space_id}", self._hinted) if space_id else lambda: None
        if space_id is not None:
            self.check()

    def check(self) -> None:
        """Begin to check everybody in the room."""
        if self._checking is not None:
            self._again = True
        elif self._room.outboxes:
            self._checking = asyncio.create_task(self._check())

    def _hinted(self, payload: dict[str, Any]) -> None:
        here = {outbox.person_id for outbox in self._room.outboxes}
        if here & set(payload.get("users", here)):
            self.check()

    async def _check(self) -> None:
        try:
            while True:
                self._again = False
                here = {outbox.person_id for outbox in self._room.outboxes}
                try:
                    allowed = await in_database(who_may_see, self._room.session_id, self._room.owner_id, here)
                except Error:
                    logger.warning("The database is away; the people in a room are checked soon.", exc_info=True)
                    await asyncio.sleep(DATABASE_RETRY_SECONDS)
                    continue
                for outbox in [each for each in self._room.outboxes if each.person_id in here - allowed]:
                    self._room.leave(outbox)
                    outbox.turn_away()
                if not self._again:
                    return
        finally:
            self._checking = None


def who_may_see(session_id: uuid.UUID, owner_id: int, person_ids: Collection[int]) -> set[int]:
    """Return those of the people who may see the session; all when this owner has none, as in the room of a stranger
    who knows its id. Sync."""
    session = ChatSession.objects.filter(pk=session_id, owner=owner_id).only("owner", "space", "shared_at").first()
    if session is None:
        return set(person_ids)
    if not session.is_shared:
        return set(person_ids) & {owner_id}
    roles = SpaceRole.objects.filter(space=session.space_id, user__in=person_ids)
    return set(roles.values_list("user_id", flat=True))
