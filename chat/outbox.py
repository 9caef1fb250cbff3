"""What waits to be sent to one socket: a newer frame replaces the one about the same thing, within a bound."""

import asyncio
import json
from collections.abc import Awaitable, Callable
from typing import Any

# Bytes that may wait for a slow reader before its socket is closed (it reconnects and catches up).
MOST_WAITING = 256 * 1024

Frame = dict[str, Any]


def encode(frame: Frame) -> str:
    return json.dumps(frame, ensure_ascii=False, separators=(",", ":"))


def size(text: str) -> int:
    """Bytes of its UTF-8."""
    return len(text) if text.isascii() else len(text.encode())


class Outbox:
    """One socket's frames in the order of their last change; `drain` sends them one at a time."""

    def __init__(self) -> None:
        self._waiting: dict[object, str] = {}
        self._bytes = 0
        self._more = asyncio.Event()
        self._count = 0
        self.overflowed = False

    def offer(self, text: str, key: object = None) -> None:
        """Take an encoded frame. With a `key`, it replaces a waiting frame of the same key and goes to the end.

        Never blocks. Past MOST_WAITING nothing more is taken, and `drain` ends with `overflowed` set.
        """
        if self.overflowed:
            return
        if key is None:
            self._count += 1
            key = self._count
        older = self._waiting.pop(key, None)
        self._bytes += size(text) - (size(older) if older else 0)
        self._waiting[key] = text
        if self._bytes > MOST_WAITING:
            self.overflowed = True
            self._waiting.clear()
        self._more.set()

    async def drain(self, send: Callable[[str], Awaitable[None]]) -> None:
        """Send what waits, for ever; returns once the reader has fallen too far behind."""
        while True:
            await self._more.wait()
            self._more.clear()
            while self._waiting:
                key = next(iter(self._waiting))
                text = self._waiting.pop(key)
                self._bytes -= size(text)
                await send(text)
            if self.overflowed:
                return
