"""Whether one person starves another: what a flood of turns and searches does to somebody else's messages.

    python benchmarks/limits.py [--rounds 3] [--turns 40] [--searches 60] [--seconds 20] [--pause 30]

In each round somebody of eight people sends a message every quarter of a second, first alone, and then while a ninth
person begins `turns` turns and `searches` searches at once every second, whatever the server answers to them. The flood
is a process of its own, so that it does not delay the clock of the others. Prints the times until the messages of the
eight are acknowledged, what became of the flood, and the processor time of the web process. Goal: p95 at most twice the
idle one.
"""

import argparse
import asyncio
import json
import signal
import sys
import time
import uuid
from collections import Counter

import aiohttp
from stage import Stage, cpu_seconds, machine, percentile, stage
from watchers import Address, opened

PAUSE_SECONDS = 0.25
# Those who send now and then; one more person floods.
OTHERS = 8


async def acknowledged(http: aiohttp.ClientSession, address: Address, seconds: float) -> list[float]:
    """Return the milliseconds until each message was acknowledged; each begins a conversation."""
    times: list[float] = []
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        began = time.monotonic()
        try:
            times.append(await one_acknowledged(http, address, len(times)))
        except (aiohttp.ClientError, aiohttp.client_exceptions.WSMessageTypeError, OSError):
            # The server has no connection to its database left, and says so by closing the socket.
            times.append((time.monotonic() - began) * 1000)
            print("a message was not acknowledged", flush=True)
        await asyncio.sleep(PAUSE_SECONDS)
    return times


async def one_acknowledged(http: aiohttp.ClientSession, address: Address, person: int) -> float:
    """Return the milliseconds until a message in a new conversation was acknowledged."""
    async with address.connect(http, person) as socket:
        session, client_id = await opened(socket), str(uuid.uuid4())
        began = time.monotonic()
        await socket.send_json({"type": "send", "client_id": client_id, "session": session, "text": "Go on, 2 deltas."})
        while (frame := await socket.receive_json())["type"] != "ack":
            if frame["type"] == "error":
                raise RuntimeError(frame["text"])
        return (time.monotonic() - began) * 1000


async def flood(url: str, key: str, cookie: str, turns: int, searches: int) -> None:
    """Begin so many turns and searches at once, every second, until SIGTERM; print what was answered as JSON."""
    answers: Counter[str] = Counter()
    tasks: set[asyncio.Task[None]] = set()
    is_over = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, is_over.set)

    async def turn() -> None:
        keyed = {"Authorization": f"Bearer {key}"}
        async with http.post(f"{url}/api/v1/messages", json={"text": "Go on, 100 deltas."}, headers=keyed) as response:
            answers[f"turns {response.status}"] += 1

    async def search() -> None:
        page = f"{url}/memory/search?q=what+did+I+say+about+tea"
        async with http.get(page, headers={"Cookie": cookie}) as response:
            await response.read()
            answers[f"searches {response.status}"] += 1

    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0)) as http:
        while not is_over.is_set():
            for each in [*(turn() for _ in range(turns)), *(search() for _ in range(searches))]:
                task = asyncio.create_task(each)
                tasks.add(task)
                task.add_done_callback(tasks.discard)
            await asyncio.wait([asyncio.create_task(is_over.wait())], timeout=1)
        for task in list(tasks):
            task.cancel()
    print(json.dumps(answers))


async def measure(served: Stage, key: str, options: argparse.Namespace) -> None:
    ours = Address(served.url, served.cookies[:-1])
    web = served.processes[0].pid
    numbers = [str(options.turns), str(options.searches)]
    idle: list[float] = []
    flooded: list[float] = []
    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0)) as http:
        await acknowledged(http, ours, 3)
        for number in range(options.rounds):
            began = cpu_seconds(web)
            alone = await acknowledged(http, ours, options.seconds)
            used, began = [cpu_seconds(web) - began], cpu_seconds(web)
            flooding = await asyncio.create_subprocess_exec(
                sys.executable, __file__, "--flood", served.url, key, served.cookies[-1], *numbers,
                stdout=asyncio.subprocess.PIPE,
            )  # fmt: skip
            await asyncio.sleep(1)
            beside = await acknowledged(http, ours, options.seconds)
            used.append(cpu_seconds(web) - began)
            flooding.terminate()
            answers = (await flooding.communicate())[0].decode().strip()
            idle, flooded = idle + alone, flooded + beside
            print(f"round {number + 1}: {described(alone)} idle, {described(beside)} beside {answers}", flush=True)
            print(f"  seconds of processor time: {used[0]:.1f} idle, {used[1]:.1f} beside", flush=True)
            # Until the turns of the flood have ended, and its minute.
            await asyncio.sleep(options.pause if number + 1 < options.rounds else 0)
    ratio = percentile(flooded, 0.95) / percentile(idle, 0.95)
    print(f"all: {described(idle)} idle, {described(flooded)} beside the flood; p95 {ratio:.2f} times the idle one")


def described(times: list[float]) -> str:
    return f"{percentile(times, 0.5):.0f} · {percentile(times, 0.95):.0f} ms (of {len(times)})"


def main() -> None:
    parser = argparse.ArgumentParser(description="Whether one person starves another.")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--turns", type=int, default=40)
    parser.add_argument("--searches", type=int, default=60)
    parser.add_argument("--seconds", type=float, default=20)
    parser.add_argument("--pause", type=float, default=30)
    parser.add_argument("--flood", nargs=5, help="internal: URL, key, cookie, turns, searches")
    options = parser.parse_args()
    if options.flood:
        url, key, cookie, turns, searches = options.flood
        asyncio.run(flood(url, key, cookie, int(turns), int(searches)))
        return
    print(machine())
    with stage(people=OTHERS + 1, pace=0.02, deltas=100, ONECLAW_TITLES="no") as served:
        from oneclaw.models import User
        from oneclaw.people import keys

        _, key = keys.make(User.objects.get(email=f"person{OTHERS}@example.org"), "Flood", "never")
        asyncio.run(measure(served, key, options))


if __name__ == "__main__":
    main()
