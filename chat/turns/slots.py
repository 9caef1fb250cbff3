"""Slots of running turns: how many turns of this process, and of one person in it, may ask the model at once.

A turn without a slot waits. A free slot goes to the person with the fewest running turns, and among several to the one
who was served longest ago, so that a person does not wait for all the turns that another one began before.
"""

import asyncio
from collections import Counter, deque

from django.utils.translation import gettext_lazy as _

from oneclaw.runtime_settings import limit
from oneclaw.text import UserFacingError

# For each running turn, a person may have this many that wait.
WAITING_FACTOR = 5


class TooManyTurnsError(UserFacingError):
    """The person has as many waiting turns as may be."""

    wording = _("Too many of your messages wait for an answer. Wait for some of them, then send this one again.")


class TurnSlots:
    """The slots of one process, used by one event loop."""

    def __init__(self) -> None:
        self._running: Counter[int] = Counter()
        # The waiting turns of each person, oldest first; the person who was served last is last.
        self._waiting: dict[int, deque[asyncio.Future[None]]] = {}

    def is_free(self, user_id: int) -> bool:
        """Return whether a turn of the person would get a slot at once."""
        has_room = self._running.total() < limit("upstream_streams")
        return has_room and self._running[user_id] < limit("person_turns") and user_id not in self._waiting

    def refuse_if_full(self, user_id: int) -> None:
        """Raise TooManyTurnsError when no further turn of the person may wait."""
        if len(self._waiting.get(user_id, ())) >= WAITING_FACTOR * limit("person_turns"):
            raise TooManyTurnsError

    async def take(self, user_id: int) -> None:
        """Return when a turn of the person has a slot, which it must release."""
        if self.is_free(user_id):
            self._running[user_id] += 1
            return
        slot: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.setdefault(user_id, deque()).append(slot)
        try:
            await slot
        except asyncio.CancelledError:
            if slot.cancelled():
                self._leave(user_id, slot)
            else:
                # It was served at the same moment.
                self.release(user_id)
            raise

    def release(self, user_id: int) -> None:
        """Take back the slot of one turn of the person, and give what is free to those who wait."""
        self._running[user_id] -= 1
        if not self._running[user_id]:
            del self._running[user_id]
        self.give_free()

    def give_free(self) -> None:
        """Give the slots that are free to those who wait, also after a limit was raised."""
        most = limit("person_turns")
        while self._running.total() < limit("upstream_streams"):
            served = [person for person in self._waiting if self._running[person] < most]
            if not served:
                return
            self._give(min(served, key=lambda person: self._running[person]))

    def _give(self, user_id: int) -> None:
        waiting = self._waiting.pop(user_id)
        slot = waiting.popleft()
        if waiting:
            self._waiting[user_id] = waiting
        # A turn that was cancelled, and has not run since, leaves by itself.
        if not slot.cancelled():
            self._running[user_id] += 1
            slot.set_result(None)

    def _leave(self, user_id: int, slot: "asyncio.Future[None]") -> None:
        waiting = self._waiting.get(user_id, deque())
        if slot in waiting:
            waiting.remove(slot)
            if not waiting:
                del self._waiting[user_id]


turn_slots = TurnSlots()
