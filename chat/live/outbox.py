"""What waits to be sent to one socket: a newer frame replaces the one about the same thing, within a bound."""

import asyncio
import json
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass
from typing import Any

# Bytes that may wait for a slow reader before its socket is closed (it reconnects and catches up).
MOST_WAITING = 256 * 1024

Frame = dict[str, Any]


def encode(frame: Frame) -> str:
    return json.dumps(frame, ensure_ascii=False, separators=(",", ":"))


def size(text: str) -> int:
    """Bytes of its UTF-8."""
    return len(text) if text.isascii() else len(text.encode())


@dataclass(frozen=True, slots=True)
class Waiting:
    """An encoded frame with its bytes. What is `owed` says nothing about the reader, however large it is."""

    text: str
    bytes: int
    owed: bool


NOTHING = Waiting("", 0, owed=False)


class Outbox:
    """One socket's frames in the order of their last change; `drain` sends them one at a time."""

    def __init__(self) -> None:
        self._waiting: dict[object, Waiting] = {}
        # Of all that waits, by whether it is owed.
        self._bytes = {True: 0, False: 0}
        self._more = asyncio.Event()
        self._count = 0
        self.overflowed = False

    def offer(self, text: str, key: object = None) -> None:
        """Take an encoded frame. With a `key`, it replaces a waiting frame of the same key and goes to the end.

        Never blocks. Past MOST_WAITING nothing more is taken, and `drain` ends with `overflowed` set. One frame that
        is larger than that by itself is owed.
        """
        if (bytes := size(text)) > MOST_WAITING:
            self.owe([(text, key)])
        else:
            self._pop(key)
            self._add(Waiting(text, bytes, owed=False), key)
            self._give_up_past_the_bound(owed=False)

    def owe(self, frames: Iterable[tuple[str, object]]) -> None:
        """Take (encoded frame, key) that the reader gets in one go, such as all that its page lacks: however large that
        is, the reader cannot help it. Too slow is who still has more than MOST_WAITING of an earlier one to read.
        """
        frames = list(frames)
        for _, key in frames:
            self._pop(key)
        self._give_up_past_the_bound(owed=True)
        for text, key in frames:
            self._add(Waiting(text, size(text), owed=True), key)

    async def drain(self, send: Callable[[str], Awaitable[None]]) -> None:
        """Send what waits, for ever; returns once the reader has fallen too far behind."""
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
        if self._bytes[owed] > MOST_WAITING:
            self.overflowed = True
            self._waiting.clear()
            self._bytes = {True: 0, False: 0}
            self._more.set()
