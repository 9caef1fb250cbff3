"""What reading the model costs: processor time of llm.stream for each 1,000 deltas, with many streams at once.

    python benchmarks/upstream.py [--streams 40] [--rate 50] [--seconds 8] [--render]

The scripted model runs in a process of its own; only this process is measured. `--render` adds Markdown to HTML, at
twenty looks a second.
"""

import argparse
import asyncio
import os
import subprocess
import sys
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(HERE))
os.environ.setdefault("DJANGO_SETTINGS_MODULE", "oneclaw.settings")

SIZE = 8


async def measure(streams: int, render: bool) -> tuple[int, float, float]:
    """(deltas, seconds of processor time, seconds until the slowest first event) of `streams` answers at once."""
    from chat.rendering.incremental import GrowingText
    from oneclaw import llm
    from oneclaw.models import Spend
    from oneclaw.spend.calls import Payer, Spending

    request = llm.Request("benchmark", [], [{"role": "user", "content": "Go."}])
    payer, first = Payer(Spend.Purpose.ANSWER, None), list[float]()

    async def one() -> int:
        began, characters, growing, next_look = time.perf_counter(), 0, GrowingText(), 0.0
        async for event in llm.stream(request, Spending(payer)):
            if isinstance(event, llm.TextDelta):
                if not characters:
                    first.append(time.perf_counter() - began)
                characters += len(event.text)
                if render:
                    growing.append(event.text)
                    if time.perf_counter() >= next_look:
                        next_look = time.perf_counter() + 0.08
                        growing.changes()
        return characters

    await llm.warm_up()
    async for _ in llm.stream(request, Spending(payer)):
        break
    used = time.process_time()
    characters = await asyncio.gather(*(one() for _ in range(streams)))
    return sum(characters) // SIZE, time.process_time() - used, max(first)


def main() -> None:
    import uvloop
    from django.conf import settings

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--streams", type=int, default=40)
    parser.add_argument("--rate", type=float, default=50, help="deltas a second of one stream")
    parser.add_argument("--seconds", type=float, default=8)
    parser.add_argument("--render", action="store_true")
    chosen = parser.parse_args()
    length = int(chosen.seconds * chosen.rate) * SIZE
    command = [sys.executable, "-m", "tests.scripted", "--pace", str(1 / chosen.rate), "--size", str(SIZE)]
    with subprocess.Popen([*command, "--length", str(length)], stdout=subprocess.PIPE, text=True, cwd=HERE) as server:
        try:
            assert server.stdout is not None
            settings.ANTHROPIC_API_KEY, settings.ANTHROPIC_BASE_URL = "benchmark", server.stdout.readline().strip()
            # The event loop that uvicorn takes.
            with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
                deltas, used, first = runner.run(measure(chosen.streams, chosen.render))
        finally:
            server.terminate()
    print(f"{chosen.streams} streams at {chosen.rate:g} deltas a second, {deltas} deltas in all")
    print(f"processor time for 1,000 deltas: {used / deltas * 1e6:.1f} ms")
    print(f"slowest first event of {chosen.streams} at once: {first * 1000:.0f} ms")


if __name__ == "__main__":
    main()
