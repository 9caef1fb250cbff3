"""A soak of the whole deployment (`oneclaw serve`): conversations that keep both cores 70 % busy, idle sockets beside.

Run by `benchmarks/against_relay.py --soak MINUTES`. Afterwards each message and each answer is compared with the rows:
every delta of the upstream must stand in its answer once.
"""

import asyncio
import contextlib
import re
import time
from pathlib import Path

import aiohttp
import uvloop

from benchmarks.footprint import memory
from benchmarks.stage import Stage, percentile, stage
from benchmarks.watchers import Address, Watched, ask, opened
from tests.stage import everything, name_of

PEOPLE, IDLE_SOCKETS = 100, 500
# A conversation: messages, deltas of each answer, and seconds between them.
MESSAGES, DELTAS, PAUSE_SECONDS = 5, 250, 1.0
BUSY = 0.7
# A conversation may begin this often while the cores are less busy than BUSY.
STEP_SECONDS = 0.25
# Until jobs have ended and sockets are closed, before memory is read.
REST_SECONDS = 30.0
STAMP = re.compile(r"at(\d{13}\.\d)")


def soak(seconds: float) -> None:
    """Run for `seconds` and print what was lost, doubled and waited for, and the memory afterwards."""
    with stage(people=PEOPLE, roles=("",), ONECLAW_UPSTREAM_STREAMS="900", ONECLAW_PERSON_TURNS="100") as running:
        answers, busy = uvloop.run(conversations(running, seconds))
        time.sleep(REST_SECONDS)
        report(answers, busy)
        report_memory(sorted(everything(Path(running.home), running.processes[0].pid)))


async def conversations(running: Stage, seconds: float) -> tuple[list[Watched], list[float]]:
    """Return all answers, and how busy the cores were (0–1), second by second."""
    address, answers, busy = Address(running.url, running.cookies), [], []
    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0)) as http:
        idle = []
        for number in range(IDLE_SOCKETS):
            socket = await address.connect(http, number)
            await opened(socket)
            idle.append((socket, asyncio.create_task(drain(socket))))
        talking: set[asyncio.Task[None]] = set()
        deadline, number, before = time.monotonic() + seconds, 0, core_times()
        ticks = round(1 / STEP_SECONDS)
        while time.monotonic() < deadline:
            if not talking or not busy or busy[-1] < BUSY:
                task = asyncio.create_task(talk(http, address, number, answers))
                number += 1
                talking.add(task)
                task.add_done_callback(talking.discard)
            ticks -= 1
            await asyncio.sleep(STEP_SECONDS)
            if not ticks:
                now = core_times()
                busy.append(1 - (now[1] - before[1]) / (now[0] - before[0]))
                before, ticks = now, round(1 / STEP_SECONDS)
        await asyncio.gather(*talking)
        for socket, task in idle:
            task.cancel()
            await socket.close()
    return answers, busy


async def talk(http: aiohttp.ClientSession, address: Address, person: int, answers: list[Watched]) -> None:
    """Hold one conversation."""
    async with address.connect(http, person) as socket:
        session = await opened(socket)
        for _ in range(MESSAGES):
            answers.append(await ask(socket, session, DELTAS))
            await asyncio.sleep(PAUSE_SECONDS)


async def drain(socket: aiohttp.ClientWebSocketResponse) -> None:
    with contextlib.suppress(aiohttp.ClientError):
        async for message in socket:
            if message.type is aiohttp.WSMsgType.TEXT and '"sessions"' not in message.data:
                raise AssertionError(f"An idle socket was sent {message.data[:200]}")


def core_times() -> tuple[float, float]:
    """Return the time of all cores so far, and that in which they were idle, in the same unit."""
    fields = [int(field) for field in Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:9]]
    return sum(fields), fields[3] + fields[4]


def report(answers: list[Watched], busy: list[float]) -> None:
    from chat.models import Message

    sent = len(answers)
    stored = Message.objects.filter(role="user").count()
    texts = list(Message.objects.filter(role="assistant", status="complete").values_list("text", flat=True))
    stamps = [[float(stamp) for stamp in STAMP.findall(text)] for text in texts]
    lost = sum(max(0, DELTAS - len(set(found))) for found in stamps) + DELTAS * max(0, sent - len(texts))
    doubled = sum(len(found) - len(set(found)) for found in stamps)
    disordered = sum(found != sorted(found) for found in stamps)
    print(f"cores busy: {sum(busy) / len(busy):.0%} on average")
    print(f"{sent} messages, {sum(a.acks for a in answers)} acknowledged, {stored} stored,", end=" ")
    print(f"{sum(a.is_complete for a in answers)} answers complete on the page, {len(texts)} in the rows")
    print(f"messages lost {sent - stored}, doubled {max(0, stored - sent)}", end="; ")
    print(f"deltas lost {lost}, doubled {doubled}; answers in another order {disordered}")
    acks, lags = [a.acknowledged for a in answers], [lag for answer in answers for lag in answer.lags]
    high = percentile(acks, 0.95)
    print(f"acknowledged: p50 {percentile(acks, 0.5):.0f} ms, p95 {high:.0f} ms  goal p95 ≤ 150 ms", end="  ")
    print("reached" if high <= 150 else "missed")
    print(f"lag of shown text: p50 {percentile(lags, 0.5):.0f} ms, p95 {percentile(lags, 0.95):.0f} ms")


def report_memory(processes: list[int]) -> None:
    sizes = {process: memory(process)[0] / 1024 for process in processes}
    for process, size in sorted(sizes.items(), key=lambda item: -item[1])[:4]:
        print(f"    {size:5.0f} MB  {name_of(process)}")
    pss = sum(sizes.values())
    print(f"memory when idle again: {pss:.0f} MB PSS  goal ≤ 300 MB  {'reached' if pss <= 300 else 'missed'}")
