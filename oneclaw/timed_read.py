"""Believe what was read from rows for a while, so that a process asks the database seldom.

rules = TimedRead(read_rules, seconds=3, first={})
rules.value()   # read at most three seconds ago
rules.last      # without a statement: what was read last, `first` before that
"""

import itertools
import threading
import time
from collections.abc import Callable
from typing import Generic, TypeVar

T = TypeVar("T")


class TimedRead(Generic[T]):
    """What `read` returned last, believed for `seconds`. Threads may read at once: the read that began last counts."""

    def __init__(self, read: Callable[[], T], seconds: float, first: T) -> None:
        self.seconds = seconds
        self.last = first
        self._read = read
        self._until = 0.0
        # The reads are numbered as they begin; this one is stored.
        self._numbers = itertools.count(1)
        self._stored = 0
        self._storing = threading.Lock()

    @property
    def is_due(self) -> bool:
        """Return whether `value` would read the rows."""
        return time.monotonic() >= self._until

    def value(self) -> T:
        """Return what was read, which is read now if that is due. Sync."""
        return self.read() if self.is_due else self.last

    def read(self) -> T:
        """Read the rows now and return what is known of them. Sync."""
        number = next(self._numbers)
        found = self._read()
        with self._storing:
            if number > self._stored:
                self._stored, self.last, self._until = number, found, time.monotonic() + self.seconds
        return self.last

    def forget(self) -> None:
        """Read the rows again when the value is needed next; `last` is until then what it was."""
        self._until = 0.0
