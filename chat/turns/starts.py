"""Let work that may wait give way to turns that start: what follows the end of a turn runs behind the first requests of
others, because a person waits for each of these.

Nothing is kept here that a crash would lose: the rows say what the receivers of an ended turn are still to do.
"""

import asyncio
import contextlib
from collections.abc import Iterator

# The longest that other work gives way, such as while turns start all the time.
GIVE_WAY_MAX_SECONDS = 1.0


class Start:
    """One turn that starts, until its first request is built."""

    def __init__(self, starts: "Starts") -> None:
        self._starts, self._has_ended = starts, False

    def end(self) -> None:
        """Let what waits for this start go on. Idempotent."""
        if not self._has_ended:
            self._has_ended = True
            self._starts.ended()


class Starts:
    """The turns that start in this process. It belongs to one event loop at a time."""

    def __init__(self) -> None:
        self.count = 0
        self._waiting: list[asyncio.Future[None]] = []

    def begin(self) -> Start:
        """Return a new start, which its caller ends."""
        self.count += 1
        return Start(self)

    @contextlib.contextmanager
    def starting(self) -> Iterator[None]:
        """Count a start that lasts as long as the block."""
        start = self.begin()
        try:
            yield
        finally:
            start.end()

    def ended(self) -> None:
        """Wake what gives way, after the last start."""
        self.count -= 1
        if not self.count:
            for waiting in self._waiting:
                if not waiting.done():
                    waiting.set_result(None)
            self._waiting.clear()

    async def give_way(self) -> None:
        """Return once no turn starts, at the latest after GIVE_WAY_MAX_SECONDS."""
        if self.count:
            waiting: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._waiting.append(waiting)
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(waiting, GIVE_WAY_MAX_SECONDS)


starts = Starts()
