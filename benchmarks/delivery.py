"""How the chat delivers: streams a process, time to the first block, CPU, memory of sockets, a burst, a soak.

    python benchmarks/delivery.py streams [N …]   streams at 50 deltas a second: the lag of shown text, CPU
    python benchmarks/delivery.py first           time to the first block over reading the upstream directly
    python benchmarks/delivery.py burst           40 starts at once
    python benchmarks/delivery.py idle            memory of an idle socket
    python benchmarks/delivery.py soak [SECONDS]  1,000 idle sockets, 100 streams, 20 messages a second

One web process, one upstream, and the clients share this machine.
"""

import argparse
import asyncio
import json
import re
import time
import uuid
from dataclasses import dataclass, field

import aiohttp
from stage import Stage, cpu_seconds, machine, memory_kb, percentile, stage

STAMP = re.compile(r"\d{13}\.\d")


@dataclass
class Watcher:
    """One socket that asks once and notes how old each stamp is when it is first shown."""

    lags: list[float] = field(default_factory=list)
    first_block: float = 0.0
    acknowledged: list[float] = field(default_factory=list)
    done: int = 0
    newest: float = 0.0

    async def run(self, http: aiohttp.ClientSession, stage: Stage, cookie: str, start: asyncio.Event) -> None:
        async with connect(http, stage, cookie) as socket:
            session = await opened(socket)
            await start.wait()
            sent = time.time()
            await send(socket, session)
            async for message in socket:
                now = time.time()
                frame = json.loads(message.data)
                if frame["type"] == "ack":
                    self.acknowledged.append((now - sent) * 1000)
                elif frame["type"] == "block":
                    self.note(frame["html"], now)
                elif frame["type"] == "done" and frame["final"]:
                    self.done += 1
                    return

    def note(self, html: str, now: float) -> None:
        if not self.first_block:
            self.first_block = now
        for text in STAMP.findall(html):
            stamp = float(text)
            if stamp > self.newest:
                self.newest = stamp
                self.lags.append(now * 1000 - stamp)


def connect(http: aiohttp.ClientSession, stage: Stage, cookie: str) -> "aiohttp.client._WSRequestContextManager":
    return http.ws_connect(f"{stage.url}/ws/", headers={"Cookie": cookie, "Origin": stage.url}, max_msg_size=0)


async def opened(socket: aiohttp.ClientWebSocketResponse) -> str:
    await socket.send_json({"type": "open", "session": None, "last_seq": 0})
    async for message in socket:
        frame = json.loads(message.data)
        if frame["type"] == "ready":
            return frame["session"]
    raise ConnectionError("closed before ready")


async def send(socket: aiohttp.ClientWebSocketResponse, session: str) -> None:
    await socket.send_json({"type": "send", "client_id": str(uuid.uuid4()), "session": session, "text": "Go on."})


async def watch(stage: Stage, count: int, spread: float) -> tuple[list[Watcher], float]:
    """`count` streams, started over `spread` seconds; the watchers, and the web process's CPU seconds meanwhile."""
    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0)) as http:
        watchers = [Watcher() for _ in range(count)]
        starts = [asyncio.Event() for _ in watchers]
        tasks = []
        for number, watcher in enumerate(watchers):
            cookie = stage.cookies[number % len(stage.cookies)]
            tasks.append(asyncio.create_task(watcher.run(http, stage, cookie, starts[number])))
            if number % 20 == 19:
                await asyncio.sleep(0.3)
        await asyncio.sleep(2)
        before = cpu_seconds(stage.web.pid)
        for start in starts:
            start.set()
            await asyncio.sleep(spread / count)
        await asyncio.gather(*tasks)
        return watchers, cpu_seconds(stage.web.pid) - before


def streams(counts: list[int]) -> None:
    deltas = 750
    with stage(people=50, deltas=deltas) as running:
        asyncio.run(watch(running, 5, 1))
        print("streams   lag p50   lag p95   CPU per 1,000 deltas   complete")
        for count in counts:
            watchers, cpu = asyncio.run(watch(running, count, 5))
            lags = [lag for watcher in watchers for lag in watcher.lags]
            done = sum(watcher.done for watcher in watchers)
            cost = cpu * 1000 / (count * deltas / 1000)
            middle, high = percentile(lags, 0.5), percentile(lags, 0.95)
            print(f"{count:7} {middle:6.0f} ms {high:6.0f} ms {cost:15.1f} ms {done:12}/{count}", flush=True)


async def directly(stage: Stage, times: int) -> list[float]:
    """Milliseconds from the request to the first delta, reading the upstream with the same HTTP client."""
    found = []
    async with aiohttp.ClientSession() as http:
        for _ in range(times):
            began = time.perf_counter()
            async with http.post(f"{stage.upstream}/v1/messages", json={}) as response:
                async for line in response.content:
                    if b"text_delta" in line:
                        break
                found.append((time.perf_counter() - began) * 1000)
                response.close()
    return found


async def through(stage: Stage, times: int) -> tuple[list[float], list[float]]:
    """Milliseconds from a stamp's sending to the first block that shows it, and from the message to that block."""
    ages, waits = [], []
    async with aiohttp.ClientSession() as http:
        for number in range(times):
            watcher = Watcher()
            start = asyncio.Event()
            start.set()
            began = time.time()
            await watcher.run(http, stage, stage.cookies[number % len(stage.cookies)], start)
            ages.append(watcher.lags[0])
            waits.append((watcher.first_block - began) * 1000)
    return ages, waits


def first() -> None:
    with stage(people=5, deltas=5) as running:
        asyncio.run(through(running, 5))
        direct = asyncio.run(directly(running, 100))
        ages, waits = asyncio.run(through(running, 100))
        print(f"upstream read directly, request to first delta: {row(direct)}")
        print(f"first block behind the first delta's sending:   {row(ages)}")
        print(f"connect, open, send to first block:             {row(waits)}")


def row(values: list[float]) -> str:
    return f"p50 {percentile(values, 0.5):6.1f} ms   p95 {percentile(values, 0.95):6.1f} ms"


def burst() -> None:
    with stage(people=40, deltas=100) as running:
        asyncio.run(watch(running, 5, 0.1))
        watchers, _ = asyncio.run(watch(running, 40, 0.001))
        print(f"40 starts at once, acknowledged after: {row([w.acknowledged[0] for w in watchers])}")
        print(f"first block behind its delta:          {row([w.lags[0] for w in watchers])}")


def idle() -> None:
    async def hold(stage: Stage, count: int) -> None:
        async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0)) as http:
            sockets = []
            for batch in (100, count):
                while len(sockets) < batch:
                    socket = await connect(http, stage, stage.cookies[len(sockets) % len(stage.cookies)])
                    await opened(socket)
                    sockets.append(socket)
                await asyncio.sleep(2)
                if batch == 100:
                    before = memory_kb(stage.web.pid)
            after = memory_kb(stage.web.pid)
            print(f"an idle socket: {(after - before) / (count - 100):.1f} kB")
            for socket in sockets:
                await socket.close()

    with stage(people=20) as running:
        asyncio.run(hold(running, 1100))


def soak(seconds: float) -> None:
    with stage(people=100, deltas=250) as running:
        asyncio.run(soaked(running, seconds))


async def soaked(stage: Stage, seconds: float) -> None:
    watchers: list[Watcher] = []
    sent = 0
    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0)) as http:
        idle = []
        for number in range(1000):
            socket = await connect(http, stage, stage.cookies[number % len(stage.cookies)])
            await opened(socket)
            idle.append(socket)
        drains = [asyncio.create_task(drain(socket)) for socket in idle]
        now = asyncio.Event()
        now.set()
        running: set[asyncio.Task[None]] = set()
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            began = time.monotonic()
            if len(running) < 120:
                watcher = Watcher()
                watchers.append(watcher)
                cookie = stage.cookies[sent % len(stage.cookies)]
                task = asyncio.create_task(watcher.run(http, stage, cookie, now))
                running.add(task)
                task.add_done_callback(running.discard)
                sent += 1
            await asyncio.sleep(max(0.0, 0.05 - (time.monotonic() - began)))
        await asyncio.gather(*running)
        for task in drains:
            task.cancel()
    from chat.models import Message

    stored = await asyncio.to_thread(Message.objects.filter(role="user").count)
    acks = [ack for watcher in watchers for ack in watcher.acknowledged]
    lags = [lag for watcher in watchers for lag in watcher.lags]
    print(f"{sent} messages sent in {seconds:.0f} s, {len(acks)} acknowledged, {stored} stored,", end=" ")
    print(f"{sum(w.done for w in watchers)} answers complete")
    print(f"acknowledged after: {row(acks)}")
    print(f"lag of shown text:  {row(lags)}")


async def drain(socket: aiohttp.ClientWebSocketResponse) -> None:
    async for _ in socket:
        pass


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["streams", "first", "burst", "idle", "soak"])
    parser.add_argument("numbers", nargs="*", type=int)
    chosen = parser.parse_args()
    print(machine())
    if chosen.what == "streams":
        streams(chosen.numbers or [50, 100, 200, 350])
    elif chosen.what == "soak":
        soak(chosen.numbers[0] if chosen.numbers else 180)
    else:
        {"first": first, "burst": burst, "idle": idle}[chosen.what]()


if __name__ == "__main__":
    main()
