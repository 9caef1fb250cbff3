"""Sockets of the delivery benchmarks: each opens a conversation, asks, and notes when what was shown."""

import asyncio
import json
import re
import time
import uuid
from collections.abc import Sequence
from dataclasses import dataclass, field

import aiohttp

STAMP = re.compile(r"\d{13}\.\d")


@dataclass(frozen=True)
class Address:
    """Where sockets connect to: the web process's address, and cookies of people who are signed in there."""

    url: str
    cookies: Sequence[str] = ("",)

    def connect(self, http: aiohttp.ClientSession, person: int) -> "aiohttp.client._WSRequestContextManager":
        headers = {"Cookie": self.cookies[person % len(self.cookies)], "Origin": self.url}
        return http.ws_connect(f"{self.url}/ws/", headers=headers, max_msg_size=0)


@dataclass
class Watched:
    """One answer as a socket saw it; times in milliseconds after the message was sent, lags of text after its stamp."""

    acknowledged: float = 0.0
    first_block: float = 0.0
    lags: list[float] = field(default_factory=list)
    # Its frames of text, how often it was acknowledged, and whether it ended.
    blocks: int = 0
    acks: int = 0
    is_complete: bool = False
    _newest: float = 0.0

    def note(self, html: str, now: float) -> None:
        """Note which stamps are shown for the first time."""
        for text in STAMP.findall(html):
            stamp = float(text)
            if stamp > self._newest:
                self._newest = stamp
                self.lags.append(now * 1000 - stamp)


async def opened(socket: aiohttp.ClientWebSocketResponse) -> str:
    """Open a new conversation; return its id."""
    await socket.send_json({"type": "open", "session": None, "last_seq": 0, "appends": True})
    async for message in socket:
        frame = json.loads(message.data)
        if frame["type"] == "ready":
            return str(frame["session"])
    raise ConnectionError("closed before ready")


async def ask(
    socket: aiohttp.ClientWebSocketResponse, session: str, deltas: int, watched: Watched | None = None
) -> Watched:
    """Send a message that is answered with `deltas`, and return how the answer came, noted in `watched` meanwhile."""
    watched = watched or Watched()
    sent = time.time()
    text = f"Go on, {deltas} deltas."
    await socket.send_json({"type": "send", "client_id": str(uuid.uuid4()), "session": session, "text": text})
    return await follow(socket, sent, watched)


async def follow(socket: aiohttp.ClientWebSocketResponse, sent: float, watched: Watched | None = None) -> Watched:
    """Return how the next answer came on this socket, of a message that was sent at this time."""
    watched = watched or Watched()
    async for message in socket:
        now = time.time()
        frame = json.loads(message.data)
        if frame["type"] == "ack":
            watched.acks += 1
            watched.acknowledged = (now - sent) * 1000
        elif frame["type"] == "block":
            watched.blocks += 1
            watched.first_block = watched.first_block or (now - sent) * 1000
            watched.note(frame["html"], now)
        elif frame["type"] == "done" and frame["final"]:
            watched.is_complete = frame["status"] == "complete"
            break
    return watched


async def ask_together(addresses: Sequence[Address], count: int, spread: float, deltas: int) -> list[Watched]:
    """Open `count` sockets over the `addresses`, and ask on all of them over `spread` seconds; return all answers."""
    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0)) as http:
        sockets = []
        for number in range(count):
            socket = await addresses[number % len(addresses)].connect(http, number)
            sockets.append((socket, await opened(socket)))
        await asyncio.sleep(1)
        asking = []
        for socket, session in sockets:
            asking.append(asyncio.create_task(ask(socket, session, deltas)))
            if spread:
                await asyncio.sleep(spread / count)
        answers = await asyncio.gather(*asking)
        await asyncio.gather(*(socket.close() for socket, _ in sockets))
        return answers
