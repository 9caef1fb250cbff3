"""A semaphore for expensive work: a few slots per process, and one per person."""

import contextlib
import threading
from collections.abc import Iterator


class NoSlotError(Exception):
    """No slot became free in time."""


class Slots:
    """`count` slots of this process, shared by its threads."""

    def __init__(self, count: int) -> None:
        self._count = count
        self._taken: set[int] = set()
        self._changed = threading.Condition()

    @contextlib.contextmanager
    def slot(self, person: int, seconds: float) -> Iterator[None]:
        """Hold a slot, once one is free and `person` holds no other. Raise NoSlotError after `seconds`."""
        with self._changed:
            if not self._changed.wait_for(lambda: self._is_free_for(person), seconds):
                raise NoSlotError
            self._taken.add(person)
        try:
            yield
        finally:
            with self._changed:
                self._taken.discard(person)
                self._changed.notify_all()

    def _is_free_for(self, person: int) -> bool:
        return person not in self._taken and len(self._taken) < self._count
