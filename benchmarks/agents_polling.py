"""How long the acknowledgement of a message takes for 20 people who chat, alone and while 50 agents poll /mcp.

    python -m benchmarks.agents_polling [--minutes 5] [--seconds 10]

One web process with its worker. Each person sends a message when the last one is answered; each agent, of its own
person, calls memory_search and memory_briefing in turn, every `--seconds`. The parts alternate: alone, with agents,
alone, with agents. The goal is 1.3 × at the 95th percentile.
"""

import argparse
import asyncio
import itertools
import statistics
import time
from collections.abc import Sequence

import aiohttp

from benchmarks.stage import Stage, machine, stage
from benchmarks.watchers import Address, ask, opened

PEOPLE, AGENTS, DELTAS = 20, 50, 60


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=5, help="of each state, in two parts")
    parser.add_argument("--seconds", type=float, default=10, help="between two calls of an agent")
    options = parser.parse_args()
    print(machine())
    with stage(people=PEOPLE, deltas=DELTAS, roles=("",)) as running:
        tokens = agents()
        asyncio.run(measure(running, tokens, options.minutes * 30, options.seconds))


def agents() -> list[str]:
    """Make a person with some memory for each agent, and return their keys."""
    from memory.documents import write
    from memory.documents.write import Append, Author, Source
    from oneclaw.models import Space, User
    from oneclaw.people import keys
    from oneclaw.people.programs.grants import access_of

    tokens = []
    for number in range(AGENTS):
        person = User.objects.create_user(f"agent{number}@example.org")
        text = "".join(f"- Boat {line} of person {number} was painted on day {line}.\n" for line in range(1, 101))
        write.apply(Space.objects.own_of(person), "MEMORY.md", Append(text), Author(Source.PAGE, person))
        tokens.append(keys.make(person, "Agent", "year", access_of("read", {}, conversations=False))[1])
    return tokens


async def measure(running: Stage, tokens: Sequence[str], seconds: float, every: float) -> None:
    """Let people chat alone and with agents in turn, and print what each took."""
    taken: dict[str, list[float]] = {"alone": [], "with agents": []}
    answers: list[float] = []
    # What only the first messages and calls of a process cost is not measured.
    polling = [asyncio.create_task(poll(running, token, every, [])) for token in tokens]
    await chat(running, 2 * every)
    await ended(polling)
    for state in ("alone", "with agents") * 2:
        polling = [asyncio.create_task(poll(running, token, every, answers)) for token in tokens]
        if state == "alone":
            await ended(polling)
        taken[state] += await chat(running, seconds)
        await ended(polling)
    shown = {name: (statistics.median(each), statistics.quantiles(each, n=20)[-1]) for name, each in taken.items()}
    for name, (median, late) in shown.items():
        print(f"{name:12} {len(taken[name]):5} messages   median {median:6.1f} ms   p95 {late:6.1f} ms")
    late = statistics.quantiles(answers, n=20)[-1]
    print(f"ratio at p95 {shown['with agents'][1] / shown['alone'][1]:.2f}")
    median = statistics.median(answers)
    print(f"{len(answers)} calls of agents   median {median * 1000:.0f} ms   p95 {late * 1000:.0f} ms")


async def ended(tasks: Sequence["asyncio.Task[None]"]) -> None:
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


async def chat(running: Stage, seconds: float) -> list[float]:
    """Let everybody send messages for so long; return the milliseconds until each acknowledgement."""
    address, until, taken = Address(running.url, running.cookies), time.monotonic() + seconds, []

    async def talk(http: aiohttp.ClientSession, number: int) -> None:
        async with address.connect(http, number) as socket:
            session = await opened(socket)
            while time.monotonic() < until:
                taken.append((await ask(socket, session, DELTAS)).acknowledged)
                await asyncio.sleep(1)

    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0)) as http:
        await asyncio.gather(*(talk(http, number) for number in range(PEOPLE)))
    return taken


async def poll(running: Stage, token: str, every: float, answers: list[float]) -> None:
    """Call two tools in turn, for ever."""
    headers = {"Authorization": f"Bearer {token}", "Accept": "application/json, text/event-stream"}
    async with aiohttp.ClientSession(headers=headers) as http:
        await asyncio.sleep(every * (hash(token) % 100) / 100)
        for number in itertools.count():
            searches = number % 2 == 0
            name = "memory_search" if searches else "memory_briefing"
            arguments = {"query": f"boat {number % 100 + 1}"} if searches else {}
            params = {"name": name, "arguments": arguments}
            began = time.monotonic()
            body = {"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": params}
            async with http.post(f"{running.url}/mcp", json=body) as answer:
                assert answer.status == 200, await answer.text()
                await answer.read()
            answers.append(time.monotonic() - began)
            await asyncio.sleep(every)


if __name__ == "__main__":
    main()
