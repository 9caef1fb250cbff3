"""A process that dies between two statements of the database: whatever it runs in any thread stops there."""

import asyncio
import contextlib
from collections.abc import Iterator

from django.db.backends.utils import CursorWrapper

from tests import leftovers


class ProcessDiedError(BaseException):
    """The process died. Not an Exception, so that nothing handles it."""


class Crash:
    """Count the statements inside `with crash:`; the one with the number `at`, and each after it, is not run."""

    def __init__(self, at: int | None = None) -> None:
        self.at, self.count = at, 0
        # What runs in threads already, such as the loop of the test.
        self._running = set(leftovers._unfinished)

    @property
    def happened(self) -> bool:
        return self.at is not None and self.count >= self.at

    def step(self) -> None:
        self.count += 1
        if self.happened:
            raise ProcessDiedError

    @contextlib.contextmanager
    def __call__(self) -> Iterator["Crash"]:
        plain = CursorWrapper.execute

        def execute(cursor, *arguments, **named):
            self.step()
            return plain(cursor, *arguments, **named)

        CursorWrapper.execute = execute
        try:
            yield self
        except ProcessDiedError:
            pass
        finally:
            CursorWrapper.execute = plain

    async def threads_ended(self) -> None:
        """Wait until no thread does anything for the dead process any more."""
        async with asyncio.timeout(20):
            while not all(future.done() for future in set(leftovers._unfinished) - self._running):
                await asyncio.sleep(0.002)
