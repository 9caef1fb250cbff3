"""What a socket costs: accepting and opening one, a wave of reconnects beside running answers, and an idle one.

    python benchmarks/sockets.py [--with OTHER_CHECKOUT] [--rounds 4] [--sockets 500] [--streams 20]

Prints, for each round, processor time for each socket that is accepted and opens a conversation of which its page has
everything; how long a wave of reconnects takes, with the lag of shown text of the streams meanwhile; and the memory of
an idle socket. The floor is a bare ASGI app under the same server, which answers `open` with a fixed frame. With
another checkout (with the same migrations) its web process alternates with that of this one. Linux only.
"""

import argparse
import asyncio
import contextlib
import json
import os
import sys
import time
import uuid
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import aiohttp
from stage import (
    ROOT,
    Stage,
    cpu_seconds,
    free_port,
    machine,
    memory_kb,
    percentile,
    prepared,
    sign_in,
    started,
    wait_for,
)
from watchers import Address, Watched, ask, opened

PEOPLE = 50
# Deltas for each stream: longer than a wave takes, at 50 a second.
STREAM_DELTAS = 600
WARM_UP = 100


async def bare(scope: dict[str, Any], receive: Any, send: Any) -> None:
    """Accept a socket, and answer each of its frames with `ready`; authenticate nobody and store nothing."""
    if scope["type"] == "http":
        await send({"type": "http.response.start", "status": 204, "headers": []})
        await send({"type": "http.response.body"})
    elif scope["type"] == "websocket":
        while (message := await receive())["type"] != "websocket.disconnect":
            if message["type"] == "websocket.connect":
                await send({"type": "websocket.accept"})
            else:
                ready = {"type": "ready", "session": json.loads(message["text"])["session"], "seq": 1, "reset": False}
                await send({"type": "websocket.send", "text": json.dumps(ready)})


@dataclass
class Page:
    """A person's page: its cookie, and the conversation and position that it shows."""

    cookie: str
    session: str
    seq: int


@dataclass
class Candidate:
    """A kind of server with what was measured of it."""

    name: str
    command: list[str]
    root: Path = ROOT
    processor_ms: list[float] = field(default_factory=list)
    wave_seconds: list[float] = field(default_factory=list)
    lags: list[float] = field(default_factory=list)
    idle_kb: list[float] = field(default_factory=list)

    def row(self) -> str:
        lag = percentile(self.lags, 0.95) if self.lags else float("nan")
        columns = [
            f"{min(self.processor_ms):5.2f}–{max(self.processor_ms):5.2f} ms",
            f"{min(self.wave_seconds):5.2f}–{max(self.wave_seconds):5.2f} s",
            f"{lag:6.0f} ms",
            f"{min(self.idle_kb):5.1f}–{max(self.idle_kb):5.1f} kB",
        ]
        return f"{self.name:9}" + "   ".join(columns)


@contextlib.contextmanager
def serving(candidate: Candidate, environment: dict[str, str], upstream: str) -> Iterator[Stage]:
    port = free_port()
    with contextlib.ExitStack() as stack:
        ours = environment | {"PORT": str(port), "PYTHONPATH": str(candidate.root)}
        web = started(stack, *candidate.command, env=ours, root=candidate.root)
        wait_for(f"http://127.0.0.1:{port}/accounts/login/")
        yield Stage("", [f"http://127.0.0.1:{port}"], upstream, [web], [])


async def reconnected(http: aiohttp.ClientSession, stage: Stage, page: Page) -> aiohttp.ClientWebSocketResponse:
    """A socket of `page` that has been told that it is open."""
    headers = {"Cookie": page.cookie, "Origin": stage.url}
    socket = await http.ws_connect(f"{stage.url}/ws/", headers=headers, max_msg_size=0)
    await socket.send_json({"type": "open", "session": page.session, "last_seq": page.seq})
    async for message in socket:
        if json.loads(message.data)["type"] == "ready":
            return socket
    raise ConnectionError("closed before ready")


async def streamed(http: aiohttp.ClientSession, address: Address, watched: Watched) -> None:
    """Ask in a new conversation, and note in `watched` how the answer comes."""
    async with address.connect(http, 0) as socket:
        await ask(socket, await opened(socket), STREAM_DELTAS, watched)


async def measure(candidate: Candidate, stage: Stage, pages: list[Page], count: int, streams: list[str]) -> None:
    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0)) as http:
        wave = [pages[number % len(pages)] for number in range(count)]
        sockets = [await reconnected(http, stage, page) for page in (pages * WARM_UP)[:WARM_UP]]
        await asyncio.sleep(1)
        memory, before = memory_kb(stage.processes[0].pid), cpu_seconds(stage.processes[0].pid)
        for page in wave:
            sockets.append(await reconnected(http, stage, page))
        candidate.processor_ms.append((cpu_seconds(stage.processes[0].pid) - before) * 1000 / count)
        await asyncio.sleep(2)
        candidate.idle_kb.append((memory_kb(stage.processes[0].pid) - memory) / count)
        await asyncio.gather(*(socket.close() for socket in sockets))
        watchers = [Watched() for _ in streams]
        running = [
            asyncio.create_task(streamed(http, Address(stage.url, [cookie]), watched))
            for watched, cookie in zip(watchers, streams, strict=True)
        ]
        await asyncio.sleep(3 if streams else 0)
        earlier = [len(watcher.lags) for watcher in watchers]
        begun = time.monotonic()
        again = await asyncio.gather(*(reconnected(http, stage, page) for page in wave))
        candidate.wave_seconds.append(time.monotonic() - begun)
        await asyncio.sleep(0.2)
        for watcher, skipped in zip(watchers, earlier, strict=True):
            candidate.lags += watcher.lags[skipped:]
        await asyncio.gather(*running, *(socket.close() for socket in again))


def pages_of(count: int) -> list[Page]:
    """`count` people who are signed in, each with a conversation of one message."""
    from chat.conversations.keys import conversation_key
    from chat.models import ChatSession, Message, default_agent
    from oneclaw.models import User

    found = []
    for number in range(count):
        cookie = sign_in(number)
        user = User.objects.get(email=f"person{number}@example.org")
        id, agent = uuid.uuid4(), default_agent()
        session = ChatSession.objects.create(
            pk=id, key=conversation_key(agent.slug, user.pk, id), owner=user, agent=agent, last_seq=1
        )
        Message.objects.create(session=session, seq=1, role="user", content=[{"type": "text", "text": "Hello."}])
        found.append(Page(cookie, str(session.pk), 1))
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--with", dest="other", type=Path)
    parser.add_argument("--rounds", type=int, default=4)
    parser.add_argument("--sockets", type=int, default=500)
    parser.add_argument("--streams", type=int, default=20)
    parser.add_argument("--bare", type=int, help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if chosen.bare:
        serve_bare(chosen.bare)
        return
    print(machine())
    serve = ["manage.py", "serve", "web"]
    candidates = [Candidate("this", serve)]
    if chosen.other:
        candidates.append(Candidate("other", serve, chosen.other))
    floor = Candidate("floor", [])
    with contextlib.ExitStack() as stack:
        port = free_port()
        upstream = f"http://127.0.0.1:{port}"
        answers = ["benchmarks/stamping_upstream.py", str(port), "0.02", str(STREAM_DELTAS)]
        started(stack, *answers, env=os.environ)
        environment = prepared(stack, ANTHROPIC_BASE_URL=upstream)
        pages = pages_of(PEOPLE)
        streams = [pages[number % PEOPLE].cookie for number in range(chosen.streams)]
        print(f"         processor time     wave of {chosen.sockets}     p95 lag     an idle socket, up to this round")
        for _ in range(chosen.rounds):
            for candidate in candidates:
                with serving(candidate, environment, upstream) as running:
                    asyncio.run(measure(candidate, running, pages, chosen.sockets, streams))
                print(candidate.row(), flush=True)
            floor_port = free_port()
            with contextlib.ExitStack() as bare_stack:
                web = started(bare_stack, "benchmarks/sockets.py", "--bare", str(floor_port), env=environment)
                wait_for(f"http://127.0.0.1:{floor_port}/")
                running = Stage("", [f"http://127.0.0.1:{floor_port}"], upstream, [web], [])
                asyncio.run(measure(floor, running, pages, chosen.sockets, []))
            print(floor.row(), flush=True)


def serve_bare(port: int) -> None:
    import uvicorn

    uvicorn.run(bare, port=port, ws="websockets-sansio", ws_per_message_deflate=False, log_level="error")


if __name__ == "__main__":
    sys.exit(main())
