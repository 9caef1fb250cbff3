"""How long memory_search takes through /mcp, against the same search over the HTTP API, alternating in one run.

    python benchmarks/mcp.py [--lines 2000] [--searches 300]

The product runs as `./oneclaw.sh run` starts it. Prints milliseconds at the median and the 95th percentile, and the
ratios; the goal is 1.5 at the 95th percentile.
"""

import argparse
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path

from stage import Stage, stage

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
SUBJECTS = ("garden", "boat", "recipe", "journey", "budget", "school", "choir", "bicycle", "server", "contract", "flat")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--lines", type=int, default=2000)
    parser.add_argument("--searches", type=int, default=300)
    options = parser.parse_args()
    with stage(people=1, roles=("",), ONECLAW_SEARCHES_PER_MINUTE="0", ONECLAW_API_REQUESTS_PER_MINUTE="0") as running:
        measure(running, options.lines, options.searches)


def measure(running: Stage, lines: int, searches: int) -> None:
    import httpx2

    from memory.documents import write
    from memory.documents.write import Append, Author, Source
    from memory.models import MemoryDocument
    from oneclaw.models import Space, User
    from oneclaw.people import keys
    from oneclaw.people.programs.grants import access_of

    user = User.objects.get()
    seen = (f"- The {SUBJECTS[n % len(SUBJECTS)]} number {n} was seen on day {n % 28 + 1}.\n" for n in range(lines))
    text = "".join(seen)
    write.apply(Space.objects.own_of(user), "MEMORY.md", Append(text), Author(Source.PAGE, user))
    while MemoryDocument.objects.to_index().exists():
        time.sleep(0.2)
    _key, token = keys.make(user, "Agent", "year", access_of("read", {}, conversations=False))
    headers = {"Authorization": f"Bearer {token}", "Accept": "application/json, text/event-stream"}
    with httpx2.Client(base_url=running.url, headers=headers, timeout=30) as client:

        def over_api(query: str) -> None:
            answer = client.get("/api/v1/memory/search", params={"q": query, "limit": 6})
            assert answer.status_code == 200, answer.text

        def over_mcp(query: str) -> None:
            params = {"name": "memory_search", "arguments": {"query": query}}
            answer = client.post("/mcp", json={"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params})
            assert answer.json()["result"]["structuredContent"]["results"], answer.text

        ways = {"HTTP API": over_api, "/mcp": over_mcp}
        taken: dict[str, list[float]] = {name: [] for name in ways}
        for way in ways.values():
            way("Where is the garden?")
        for number in range(searches):
            for name, way in ways.items():
                taken[name].append(timed(way, f"When was the {SUBJECTS[number % len(SUBJECTS)]} number {number} seen?"))
    shown = {name: (statistics.median(each), statistics.quantiles(each, n=20)[-1]) for name, each in taken.items()}
    for name, (median, late) in shown.items():
        print(f"{name:9} median {median * 1000:6.1f} ms   p95 {late * 1000:6.1f} ms")
    (median, late), (floor, late_floor) = shown["/mcp"], shown["HTTP API"]
    print(f"ratio     median {median / floor:6.2f}      p95 {late / late_floor:6.2f}")


def timed(call: Callable[[str], None], query: str) -> float:
    """Return the seconds that `call` takes."""
    began = time.perf_counter()
    call(query)
    return time.perf_counter() - began


if __name__ == "__main__":
    main()
