"""Presence in a shared conversation: who has it open, and who is writing, over all processes. Nothing of it is stored.

Each process announces its people when they change, and again while they stay; what is not announced again is forgotten.
"""

import asyncio
import logging
import uuid
from collections.abc import Collection, Iterable
from typing import Any, Protocol

from django.db import Error

from chat.live.outbox import Outbox
from chat.live.server_frames import PresenceFrame, presence_frame
from chat.rendering.shown import Participant, shown_person
from oneclaw import pubsub
from oneclaw.models import User
from oneclaw.threads import in_database

logger = logging.getLogger(__name__)

# Changes that come together are announced together.
ANNOUNCE_SECONDS = 0.4
# How often a process says that its people are still here, and for how long that holds.
RENEW_SECONDS, HERE_SECONDS = 15.0, 40.0
# For how long a person counts as writing; pages say so more often.
WRITING_SECONDS = 5.0
# How many people one process announces; the ids of both lists fit into one hint (pubsub.PAYLOAD_MAX_BYTES).
ANNOUNCED_MAX_PERSONS = 300


class RoomWithCompany(Protocol):
    """The interface of a room that its company uses."""

    session_id: uuid.UUID
    outboxes: set[Outbox]

    def publish(self, frame: PresenceFrame, key: object = None) -> None:
        """Send `frame` to every socket."""

    def answer_next(self) -> None:
        """Begin to answer the next message of the queue, if one waits although no answer is running."""


class Company:
    """The people in one shared conversation."""

    def __init__(self, room: RoomWithCompany) -> None:
        self._room = room
        self._loop = asyncio.get_running_loop()
        # When those who write here stop to count as writing, by the event loop's clock.
        self._writing: dict[int, float] = {}
        # {name of another process: (people, those who write, when that ends)}.
        self._elsewhere: dict[str, tuple[frozenset[int], frozenset[int], float]] = {}
        self._names: dict[int, Participant] = {}
        self._announced: tuple[list[int], list[int]] | None = None
        self._renew_at = 0.0
        self._shown: PresenceFrame | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._telling: asyncio.Task[None] | None = None

    def changed(self, seconds: float = ANNOUNCE_SECONDS) -> None:
        """Announce the people here soon, if they have changed or it is time to."""
        due = self._loop.time() + seconds
        if self._timer is None or self._timer.when() > due:
            self._cancel()
            self._timer = self._loop.call_later(seconds, self._begin_to_tell)

    def writes(self, person_id: int) -> None:
        """Record that a person here is writing."""
        self._writing[person_id] = self._loop.time() + WRITING_SECONDS
        self.changed()

    def wrote(self, person_id: int) -> None:
        """Record that a person here has sent what they were writing."""
        if self._writing.pop(person_id, None):
            self.changed(0)

    def hinted(self, payload: dict[str, Any]) -> None:
        """Handle what another process announces."""
        if payload["by"] == pubsub.own_name():
            return
        is_new = payload["by"] not in self._elsewhere
        until = self._loop.time() + HERE_SECONDS
        self._elsewhere[payload["by"]] = frozenset(payload["here"]), frozenset(payload["writing"]), until
        if is_new:
            # It does not know yet who is here.
            self._announced = None
        self.changed()

    def close(self) -> None:
        """Forget the people, and tell the other processes that none is here any more."""
        self._cancel()
        if self._announced and self._announced[0]:
            self._telling = asyncio.create_task(self._announce(([], [])))

    def frame(self) -> PresenceFrame | None:
        """Return what was shown last, for a socket that has just come; None before."""
        return self._shown

    def _cancel(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _begin_to_tell(self) -> None:
        self._timer = None
        if self._telling is None or self._telling.done():
            self._telling = asyncio.create_task(self._tell())
        else:
            self.changed()

    async def _tell(self) -> None:
        now = self._loop.time()
        self._writing = {person: until for person, until in self._writing.items() if until > now}
        self._elsewhere = {name: said for name, said in self._elsewhere.items() if said[2] > now}
        here = sorted({outbox.person_id for outbox in self._room.outboxes})[:ANNOUNCED_MAX_PERSONS]
        writing = sorted(set(self._writing) & set(here))
        try:
            if (here, writing) != self._announced or now >= self._renew_at:
                await self._announce((here, writing))
            await self._show(here, writing)
        except Error:
            logger.warning("The database is away; who is here is announced later.", exc_info=True)
        self._room.answer_next()
        if self._room.outboxes:
            self.changed(min([RENEW_SECONDS, *(until - now for until in self._writing.values())]))

    async def _announce(self, people: tuple[list[int], list[int]]) -> None:
        hint = {"kind": "company", "by": pubsub.own_name(), "here": people[0], "writing": people[1]}
        await in_database(pubsub.notify, f"session:{self._room.session_id}", hint)
        self._announced, self._renew_at = people, self._loop.time() + RENEW_SECONDS

    async def _show(self, here: Iterable[int], writing: Iterable[int]) -> None:
        everybody = set(here).union(*(said[0] for said in self._elsewhere.values()))
        writes = set(writing).union(*(said[1] for said in self._elsewhere.values()))
        if unknown := everybody - self._names.keys():
            self._names |= await in_database(names_of, unknown)
        known = sorted((self._names[each] for each in everybody & self._names.keys()), key=lambda each: each.name)
        frame = presence_frame((each, each.id in writes) for each in known)
        if frame != self._shown:
            self._shown = frame
            self._room.publish(frame, "presence")


def names_of(user_ids: Collection[int]) -> dict[int, Participant]:
    """Return what others see of these people. Sync."""
    users = User.objects.filter(pk__in=user_ids).only("email", "first_name", "last_name")
    return {user.pk: shown_person(user) for user in users}
