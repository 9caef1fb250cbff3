"""The queue of one socket: a newer frame replaces the one about the same thing, within a bound."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass

# Bytes that may wait for a slow reader before its socket is closed (it reconnects and catches up).
WAITING_MAX_BYTES = 256 * 1024


@dataclass(frozen=True, slots=True)
class Waiting:
    """An encoded frame with its bytes. One that is `owed` does not count against the reader, however large it is."""

    text: str
    bytes: int
    owed: bool


NOTHING = Waiting("", 0, owed=False)


class Outbox:
    """One socket's frames in the order of their last change; `drain` sends them one at a time."""

    def __init__(self) -> None:
        self._waiting: dict[object, Waiting] = {}
        # Bytes of everything that waits, by whether it is owed.
        self._bytes = {True: 0, False: 0}
        self._more = asyncio.Event()
        self._count = 0
        self.overflowed = False

    def offer(self, text: str, key: object = None) -> None:
        """Take an encoded frame. With a `key`, it replaces a waiting frame of the same key and goes to the end.

        Never blocks. Past WAITING_MAX_BYTES nothing more is taken, and `drain` ends with `overflowed` set. One frame
        that is larger than that by itself is owed.
        """
        if (bytes := size(text)) > WAITING_MAX_BYTES:
            self.owe([(text, key)])
        else:
            self._pop(key)
            self._add(Waiting(text, bytes, owed=False), key)
            self._give_up_past_the_bound(owed=False)

    def owe(self, frames: Iterable[tuple[str, object]]) -> None:
        """Take (encoded frame, key) pairs that belong together, such as everything that a page lacks, of any size.

        The reader is too slow when more than WAITING_MAX_BYTES of earlier owed frames still wait.
        """
        frames = list(frames)
        for _, key in frames:
            self._pop(key)
        self._give_up_past_the_bound(owed=True)
        for text, key in frames:
            self._add(Waiting(text, size(text), owed=True), key)

    async def drain(self, send: Callable[[str], Awaitable[None]]) -> None:
        """Send what waits until the reader has fallen too far behind; return then."""
        while True:
            await self._more.wait()
            self._more.clear()
            while self._waiting:
                await send(self._pop(next(iter(self._waiting))).text)
            if self.overflowed:
                return

    def _add(self, frame: Waiting, key: object) -> None:
        if self.overflowed:
            return
        if key is None:
            self._count += 1
            key = self._count
        self._waiting[key] = frame
        self._bytes[frame.owed] += frame.bytes
        self._more.set()

    def _pop(self, key: object) -> Waiting:
        frame = self._waiting.pop(key, NOTHING)
        self._bytes[frame.owed] -= frame.bytes
        return frame

    def _give_up_past_the_bound(self, *, owed: bool) -> None:
        if self._bytes[owed] > WAITING_MAX_BYTES:
            self.overflowed = True
            self._waiting.clear()
            self._bytes = {True: 0, False: 0}
            self._more.set()


def size(text: str) -> int:
    """Return the bytes of its UTF-8."""
    return len(text) if text.isascii() else len(text.encode())
