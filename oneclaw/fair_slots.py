"""Slots for work of which a process does only so much at once, for several holders who take turns.

    slots = FairSlots(lambda: 24, lambda user_id: 4)
    await slots.take(user_id)

Work without a slot waits. A free slot goes to a holder who has fewer than it may, and among several to the one who was
served longest ago, so that a holder does not wait for all that another one began before.
"""

import asyncio
import concurrent.futures
import contextlib
import threading
from collections import Counter, deque
from collections.abc import Callable, Hashable, Iterator
from typing import Generic, TypeVar

Holder = TypeVar("Holder", bound=Hashable)
# Is done when its holder has the slot.
Ticket = asyncio.Future[None] | concurrent.futures.Future[None]


class NoSlotError(Exception):
    """No slot became free in time."""


class FairSlots(Generic[Holder]):
    """The slots that one event loop uses: `total` of all holders, and as many of each as `most_of` says.

    `prefers_idle`: a free slot goes first to the holders who have the fewest.
    """

    def __init__(
        self, total: Callable[[], float], most_of: Callable[[Holder], float], *, prefers_idle: bool = False
    ) -> None:
        self._total, self._most_of, self._prefers_idle = total, most_of, prefers_idle
        self._running: Counter[Holder] = Counter()
        # The waiting tickets of each holder, oldest first; the holder who was served last is last.
        self._waiting: dict[Holder, deque[Ticket]] = {}

    def is_free(self, holder: Holder) -> bool:
        """Return whether `holder` would get a slot at once."""
        return holder not in self._waiting and self._running.total() < self._total() and self._may_begin(holder)

    def waiting_count(self, holder: Holder) -> int:
        """Return how many tickets of `holder` wait."""
        return len(self._waiting.get(holder, ()))

    async def take(self, holder: Holder, seconds: float | None = None) -> None:
        """Return when `holder` has a slot, which it must release. Raise NoSlotError after `seconds`; None: never."""
        ticket: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.enter(holder, ticket)
        if ticket.done():
            return
        try:
            async with asyncio.timeout(seconds):
                await ticket
        except TimeoutError:
            self.leave(holder, ticket)
            raise NoSlotError from None
        except asyncio.CancelledError:
            self.leave(holder, ticket)
            raise

    def release(self, holder: Holder) -> None:
        """Take back one slot of `holder`, and give what is free to those who wait."""
        self._running[holder] -= 1
        if not self._running[holder]:
            del self._running[holder]
        self.give_free()

    def give_free(self) -> None:
        """Give the slots that are free to those who wait, also after a limit was raised."""
        while self._running.total() < self._total():
            may_begin = [holder for holder in self._waiting if self._may_begin(holder)]
            if not may_begin:
                return
            if self._prefers_idle:
                may_begin.sort(key=lambda holder: self._running[holder])
            self._give(may_begin[0])

    def enter(self, holder: Holder, ticket: Ticket) -> None:
        """Give `ticket` of `holder` a slot, or let it wait for one."""
        if self.is_free(holder):
            self._running[holder] += 1
            ticket.set_result(None)
        else:
            self._waiting.setdefault(holder, deque()).append(ticket)

    def leave(self, holder: Holder, ticket: Ticket) -> None:
        """Release the slot of `ticket`; if it has none, it does not wait for one any more."""
        if ticket.done() and not ticket.cancelled():
            self.release(holder)
            return
        waiting = self._waiting.get(holder, deque())
        if ticket in waiting:
            waiting.remove(ticket)
            if not waiting:
                del self._waiting[holder]

    def _may_begin(self, holder: Holder) -> bool:
        return self._running[holder] < self._most_of(holder)

    def _give(self, holder: Holder) -> None:
        waiting = self._waiting.pop(holder)
        ticket = waiting.popleft()
        # Those that were cancelled, and have not run since, leave by themselves.
        while ticket.cancelled() and waiting:
            ticket = waiting.popleft()
        if waiting:
            self._waiting[holder] = waiting
        if not ticket.cancelled():
            self._running[holder] += 1
            ticket.set_result(None)


class ThreadSlots(Generic[Holder]):
    """Slots that threads use, with an event loop or without: `total` of all holders, and `most` of each."""

    def __init__(self, total: float, most: Callable[[], int] = lambda: 1) -> None:
        self._slots: FairSlots[Holder] = FairSlots(lambda: total, lambda _: most())
        self._lock = threading.Lock()

    @contextlib.contextmanager
    def slot(self, holder: Holder, seconds: float) -> Iterator[None]:
        """Hold a slot of `holder` during the block. Raise NoSlotError when none is free within `seconds`."""
        ticket: concurrent.futures.Future[None] = concurrent.futures.Future()
        with self._lock:
            self._slots.enter(holder, ticket)
        try:
            with contextlib.suppress(TimeoutError):
                ticket.result(seconds)
            if not ticket.done():
                raise NoSlotError
            yield
        finally:
            with self._lock:
                self._slots.leave(holder, ticket)
