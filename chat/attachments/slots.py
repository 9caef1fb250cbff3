"""Who may do now what takes much of the machine: a few at a time, and each person once."""

import contextlib
import threading
from collections.abc import Iterator


class NoPlace(Exception):
    """All the time that there was, others were at it."""


class Places:
    """`most` places of this process, for its threads."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._taken: set[int] = set()
        self._changed = threading.Condition()

    @contextlib.contextmanager
    def place(self, person: int, patience: float) -> Iterator[None]:
        """One of them, once it is free and this person has no other. Raises NoPlace after `patience` seconds."""
        with self._changed:
            if not self._changed.wait_for(lambda: self._is_free_for(person), patience):
                raise NoPlace
            self._taken.add(person)
        try:
            yield
        finally:
            with self._changed:
                self._taken.discard(person)
                self._changed.notify_all()

    def _is_free_for(self, person: int) -> bool:
        return person not in self._taken and len(self._taken) < self._most
