"""The bounded queue of frames of one socket, in which a newer frame replaces one of the same key."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from typing import NamedTuple

from chat.live.growing_blocks import GrowingBlock

# Limit of the queue for a slow reader; beyond it the socket is closed (the page reconnects and catches up).
WAITING_MAX_BYTES = 256 * 1024


Frame = str | GrowingBlock


class WaitingFrame(NamedTuple):
    """An encoded frame, or a growing block, with its size. An `exempt` frame does not count against the limit of the
    reader."""

    frame: Frame
    bytes: int
    exempt: bool


NO_FRAME = WaitingFrame("", 0, exempt=False)


class Outbox:
    """One socket's frames in the order of their last change; `drain` sends them one at a time."""

    def __init__(self, person_id: int = 0, language: str = "") -> None:
        # Whose socket it is, and the language in which frames are worded for it; "" for that of who sends.
        self.person_id, self.language = person_id, language
        # Whether its page understands blocks of which only what follows is sent.
        self.appends = False
        # The blocks of the running answer as they were sent last, by index.
        self._sent: dict[int, GrowingBlock] = {}
        # Called when the person may not see the session of its room any more.
        self.turn_away: Callable[[], None] = lambda: None
        self._waiting: dict[object, WaitingFrame] = {}
        # Bytes of the waiting frames, by whether they are exempt.
        self._bytes = {True: 0, False: 0}
        self._more = asyncio.Event()
        self._count = 0
        self.overflowed = False

    def put(self, frame: Frame, key: object = None) -> None:
        """Enqueue `frame`, encoded or a growing block. With a `key`, it first removes a waiting one of the same key.

        Never blocks. Above WAITING_MAX_BYTES the queue stops accepting frames, and `drain` ends with `overflowed` set.
        A single frame above that size is enqueued by `put_together`.
        """
        if (bytes := size(frame)) > WAITING_MAX_BYTES:
            self.put_together([(frame, key)])
        else:
            self._pop(key)
            self._add(WaitingFrame(frame, bytes, exempt=False), key)
            self._overflow_above_limit(exempt=False)

    def put_together(self, frames: Iterable[tuple[Frame, object]]) -> None:
        """Enqueue (frame, key) pairs that belong together, such as everything that a page lacks, of any size.

        The reader is too slow when more than WAITING_MAX_BYTES of earlier exempt frames are still waiting.
        """
        frames = list(frames)
        for _, key in frames:
            self._pop(key)
        self._overflow_above_limit(exempt=True)
        for frame, key in frames:
            self._add(WaitingFrame(frame, size(frame), exempt=True), key)

    def forget_blocks(self) -> None:
        """Drop the growing blocks that wait, and send whole ones from now on: their message follows, which replaces
        them in the page."""
        self._sent.clear()
        for key in [key for key, waiting in self._waiting.items() if isinstance(waiting.frame, GrowingBlock)]:
            self._pop(key)

    async def drain(self, send: Callable[[str], Awaitable[None]]) -> None:
        """Send the waiting frames by `send`; return when the queue has overflowed."""
        while True:
            await self._more.wait()
            self._more.clear()
            while self._waiting:
                await send(self._text_of(self._pop(next(iter(self._waiting))).frame))
            if self.overflowed:
                return

    def _text_of(self, frame: Frame) -> str:
        """Return `frame` as it is sent now: what this socket was sent before decides how much of a block is."""
        if isinstance(frame, str):
            return frame
        before = self._sent.get(frame.index)
        if before is not None and before.message != frame.message:
            self._sent.clear()
            before = None
        if self.appends:
            self._sent[frame.index] = frame
        return frame.text_after(before)

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


def size(frame: Frame) -> int:
    """Return the number of bytes of `frame` in UTF-8; of a growing block, those of its HTML."""
    text = frame if isinstance(frame, str) else frame.html
    return len(text) if text.isascii() else len(text.encode())
