"""The bounded queue of frames of one socket, in which a newer frame replaces one of the same key."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from typing import NamedTuple

# Limit of the queue for a slow reader; beyond it the socket is closed (the page reconnects and catches up).
WAITING_MAX_BYTES = 256 * 1024


class WaitingFrame(NamedTuple):
    """An encoded frame with its size. An `exempt` frame does not count against the limit of the reader."""

    text: str
    bytes: int
    exempt: bool


NO_FRAME = WaitingFrame("", 0, exempt=False)


class Outbox:
    """One socket's frames in the order of their last change; `drain` sends them one at a time."""

    def __init__(self, person_id: int = 0, language: str = "") -> None:
        # Whose socket it is, and the language in which frames are worded for it; "" for that of who sends.
        self.person_id, self.language = person_id, language
        # Called when the person may not see the session of its room any more.
        self.turn_away: Callable[[], None] = lambda: None
        self._waiting: dict[object, WaitingFrame] = {}
        # Bytes of the waiting frames, by whether they are exempt.
        self._bytes = {True: 0, False: 0}
        self._more = asyncio.Event()
        self._count = 0
        self.overflowed = False

    def put(self, text: str, key: object = None) -> None:
        """Enqueue the encoded frame `text`. With a `key`, it first removes a waiting frame of the same key.

        Never blocks. Above WAITING_MAX_BYTES the queue stops accepting frames, and `drain` ends with `overflowed` set.
        A single frame above that size is enqueued by `put_together`.
        """
        if (bytes := size(text)) > WAITING_MAX_BYTES:
            self.put_together([(text, key)])
        else:
            self._pop(key)
            self._add(WaitingFrame(text, bytes, exempt=False), key)
            self._overflow_above_limit(exempt=False)

    def put_together(self, frames: Iterable[tuple[str, object]]) -> None:
        """Enqueue (encoded frame, key) pairs that belong together, such as everything that a page lacks, of any size.

        The reader is too slow when more than WAITING_MAX_BYTES of earlier exempt frames are still waiting.
        """
        frames = list(frames)
        for _, key in frames:
            self._pop(key)
        self._overflow_above_limit(exempt=True)
        for text, key in frames:
            self._add(WaitingFrame(text, size(text), exempt=True), key)

    async def drain(self, send: Callable[[str], Awaitable[None]]) -> None:
        """Send the waiting frames by `send`; return when the queue has overflowed."""
        while True:
            await self._more.wait()
            self._more.clear()
            while self._waiting:
                await send(self._pop(next(iter(self._waiting))).text)
            if self.overflowed:
                return

    def _add(self, frame: WaitingFrame, key: object) -> None:
        if self.overflowed:
            return
        if key is None:
            self._count += 1
            key = self._count
        self._waiting[key] = frame
        self._bytes[frame.exempt] += frame.bytes
        self._more.set()

    def _pop(self, key: object) -> WaitingFrame:
        frame = self._waiting.pop(key, NO_FRAME)
        self._bytes[frame.exempt] -= frame.bytes
        return frame

    def _overflow_above_limit(self, *, exempt: bool) -> None:
        if self._bytes[exempt] > WAITING_MAX_BYTES:
            self.overflowed = True
            self._waiting.clear()
            self._bytes = {True: 0, False: 0}
            self._more.set()


def size(text: str) -> int:
    """Return the number of bytes of `text` in UTF-8."""
    return len(text) if text.isascii() else len(text.encode())
