"""How the chat delivers, against a bare relay (benchmarks/relay.py) in the same run, alternating.

    python benchmarks/against_relay.py [cost|first|burst|streams …]    six minutes for all four
    python benchmarks/against_relay.py capacity N …                    streams on one process, spaced and at once
    python benchmarks/against_relay.py --soak 10                       minutes; half a minute more to start and end

cost     processor time for 1,000 deltas of 20 streams, while all are running and of whole turns of 500 deltas, and the
         worker's share
first    from a message in a new conversation to its first block, idle
burst    40 people send at the same moment
streams  the lag of shown text with 10, 40 and 160 streams on one web process, and with 300 on two
soak     both cores 70 % busy: messages and answers compared with the rows, the wait for acknowledgements, idle memory

Web processes, relay, worker, PostgreSQL, the upstream (50 deltas a second, each with the time when it was sent) and the
clients share this machine. Goals and figures are in docs/benchmarks.md.
"""

import argparse
import asyncio
import contextlib
import os
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import median

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import aiohttp
import uvloop

from benchmarks.soak import soak
from benchmarks.stage import (
    Stage,
    cpu_seconds,
    free_port,
    machine,
    percentile,
    stage,
    started,
    wait_for,
    wait_until_ready,
)
from benchmarks.watchers import Address, Watched, ask, ask_together, opened

ROUNDS = 3
STREAMS, TURN_DELTAS, DELTAS_A_SECOND = 20, 500, 50
# Starts are spread over this, and all streams run between these seconds after the first start.
SPREAD_SECONDS, STEADY_FROM, STEADY_UNTIL = 1.0, 3.0, 9.0
# Seconds in which the worker is idle after the turns, and in which it finishes what they left to do.
IDLE_SECONDS, WORKER_SECONDS = 8.0, 8.0
STREAM_DELTAS = 750
LAG_GOAL = "p95 ≤ 100 ms"


def cost(ours: Stage, relay: int, both: dict[str, Address]) -> None:
    web, worker = ours.processes[0].pid, [process.pid for process in ours.processes[2:]]
    steady: dict[str, list[float]] = {name: [] for name in both}
    whole: dict[str, list[float]] = {name: [] for name in both}
    frames: dict[str, list[float]] = {name: [] for name in both}
    work = []
    for _ in range(ROUNDS):
        for name, pid in (("OneClaw", web), ("relay", relay)):
            before, began = spent(worker), time.monotonic()
            running, turn, sent = uvloop.run(streamed(both[name], pid))
            steady[name].append(running)
            whole[name].append(turn)
            frames[name].append(sent)
            if name == "OneClaw":
                time.sleep(WORKER_SECONDS)
                work.append((spent(worker) - before, time.monotonic() - began))
    # At the end: after its start, a worker also does what the people and conversations of the warm-up left to do.
    before = spent(worker)
    time.sleep(IDLE_SECONDS)
    idle = (spent(worker) - before) / IDLE_SECONDS
    share = median(per_thousand(used - idle * elapsed, STREAMS * TURN_DELTAS) for used, elapsed in work)
    print_row("processor time per 1,000 deltas, steady", median(steady["OneClaw"]), median(steady["relay"]), 1.1)
    print_row("the same, whole turns of 500 deltas", median(whole["OneClaw"]), median(whole["relay"]), 1.5)
    print_row("the same with worker and beat", median(whole["OneClaw"]) + share, median(whole["relay"]), None)
    print_spread({"steady": steady, "whole": whole, "frames a second of a stream": frames})


async def streamed(address: Address, pid: int) -> tuple[float, float, float]:
    """Return milliseconds of processor time per 1,000 deltas, while all streams run and of the whole turns, and the
    frames of text that a stream was sent in a second: a late process sends fewer."""

    async def between() -> float:
        await asyncio.sleep(1 + STEADY_FROM)
        before = cpu_seconds(pid)
        began = time.monotonic()
        await asyncio.sleep(STEADY_UNTIL - STEADY_FROM)
        return per_thousand(cpu_seconds(pid) - before, STREAMS * DELTAS_A_SECOND * (time.monotonic() - began))

    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0)) as http:
        sockets = []
        for number in range(STREAMS):
            socket = await address.connect(http, number)
            sockets.append((socket, await opened(socket)))
        await asyncio.sleep(1)
        before = cpu_seconds(pid)
        measuring = asyncio.create_task(between())
        asking = []
        for socket, session in sockets:
            asking.append(asyncio.create_task(ask(socket, session, TURN_DELTAS)))
            await asyncio.sleep(SPREAD_SECONDS / STREAMS)
        answers = await asyncio.gather(*asking)
        await asyncio.sleep(0.5)
        whole = per_thousand(cpu_seconds(pid) - before, STREAMS * TURN_DELTAS)
        await asyncio.gather(*(socket.close() for socket, _ in sockets))
    assert all(answer.is_complete for answer in answers)
    seconds = STREAMS * TURN_DELTAS / DELTAS_A_SECOND
    return await measuring, whole, sum(answer.blocks for answer in answers) / seconds


def first(both: dict[str, Address]) -> None:
    waits = {name: uvloop.run(waited(address, 5)) and [] for name, address in both.items()}
    for _ in range(40):
        for name, address in both.items():
            waits[name] += uvloop.run(waited(address, 1))
    for share, label in ((0.5, "median"), (0.95, "p95")):
        ours, relay = (percentile(waits[name], share) for name in ("OneClaw", "relay"))
        print_row(f"send → first block, idle, {label}", ours, relay, 5)


async def waited(address: Address, times: int) -> list[float]:
    """Return the milliseconds from a message in a new conversation to its first block."""
    found = []
    async with aiohttp.ClientSession() as http:
        for number in range(times):
            async with address.connect(http, number) as socket:
                session = await opened(socket)
                await asyncio.sleep(0.05)
                found.append((await ask(socket, session, 3)).first_block)
    return found


def burst(both: dict[str, Address]) -> None:
    answers: dict[str, list[Watched]] = {"OneClaw": [], "relay": []}
    for _ in range(ROUNDS):
        for name, address in both.items():
            answers[name] += uvloop.run(ask_together([address], 40, 0, 100))
    for what, goal in (("acknowledged", 4), ("first_block", 6)):
        ours, relay = (percentile([getattr(a, what) for a in answers[name]], 0.95) for name in ("OneClaw", "relay"))
        print_row(f"40 starts at once: {what.replace('_', ' ')}, p95", ours, relay, goal)


def streams(ours: list[Address], relay: Address) -> None:
    for count in (10, 40, 160):
        print_lag(f"{count} streams, starts spaced", ours[:1], count, 5)
        print_lag(f"{count} streams of the relay, starts spaced", [relay], count, 5)
    print_lag("160 streams, starts at once", ours[:1], 160, 0)
    print_lag("300 streams on two web processes, starts spaced", ours, 300, 5)


def capacity(ours: list[Address], relay: Address, counts: Sequence[int]) -> None:
    for count in counts:
        print_lag(f"{count} streams, starts spaced", ours[:1], count, 5)
        print_lag(f"{count} streams, starts at once", ours[:1], count, 0)
        print_lag(f"{count} streams on two web processes, starts spaced", ours, count, 5)
        print_lag(f"{count} streams of the relay, starts at once", [relay], count, 0)


def print_lag(what: str, addresses: list[Address], count: int, spread: float) -> None:
    answers = uvloop.run(ask_together(addresses, count, spread, STREAM_DELTAS))
    lags = [lag for answer in answers for lag in answer.lags]
    whole = sum(answer.is_complete and len(answer.lags) == STREAM_DELTAS for answer in answers)
    middle, high = percentile(lags, 0.5), percentile(lags, 0.95)
    state = "reached" if high <= 100 else "missed"
    print(
        f"{what:55} lag p50 {middle:6.0f} ms  p95 {high:6.0f} ms  {LAG_GOAL}  {state}  whole {whole}/{count}",
        flush=True,
    )


def print_row(what: str, ours: float, relay: float, goal: float | None) -> None:
    reached = "" if goal is None else f"≤ {goal:g} ×  {'reached' if ours <= goal * relay else 'missed'}"
    print(f"{what:55} {ours:7.1f} ms  relay {relay:7.1f} ms  {ours / relay:5.2f} ×  {reached}", flush=True)


def print_spread(figures: dict[str, dict[str, list[float]]]) -> None:
    for what, found in figures.items():
        for name, values in found.items():
            print(f"    {what}, {name}: " + " ".join(f"{value:.1f}" for value in values), flush=True)


def spent(pids: list[int]) -> float:
    return sum(cpu_seconds(pid) for pid in pids)


def per_thousand(seconds: float, deltas: float) -> float:
    return seconds * 1000 / (deltas / 1000)


@contextlib.contextmanager
def both_running(people: int) -> Iterator[tuple[Stage, int, list[Address], Address]]:
    """Yield the deployment (two web processes, worker, beat), the relay's process id, and their addresses."""
    roles = ("web", "web", "worker", "beat")
    with stage(people=people, roles=roles, ONECLAW_UPSTREAM_STREAMS="900") as ours, contextlib.ExitStack() as stack:
        port = free_port()
        relay = started(stack, "benchmarks/relay.py", str(port), ours.upstream, env=os.environ)
        addresses = [Address(url, ours.cookies) for url in ours.urls]
        bare = Address(f"http://127.0.0.1:{port}")
        wait_for(bare.url)
        wait_until_ready(addresses[0].url)
        for address in (*addresses, bare):
            uvloop.run(ask_together([address], 5, 0, 10))
        yield ours, relay.pid, addresses, bare


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", nargs="*", help="cost, first, burst, streams; or capacity and numbers of streams")
    parser.add_argument("--soak", type=float, metavar="MINUTES")
    chosen = parser.parse_args()
    print(machine())
    if chosen.soak is not None:
        soak(chosen.soak * 60)
        return
    counts = [int(word) for word in chosen.what if word.isdigit()]
    parts = [word for word in chosen.what if not word.isdigit()] or ["cost", "first", "burst", "streams"]
    with both_running(people=100) as (ours, relay, addresses, bare):
        both = {"OneClaw": addresses[0], "relay": bare}
        for part in parts:
            match part:
                case "cost":
                    cost(ours, relay, both)
                case "first":
                    first(both)
                case "burst":
                    burst(both)
                case "streams":
                    streams(addresses, bare)
                case "capacity":
                    capacity(addresses, bare, counts)
                case _:
                    parser.error(f"no part {part}")


if __name__ == "__main__":
    main()
