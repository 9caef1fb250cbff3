"""The lag with which the members of a space follow one stream in a shared conversation, on one web process.

python benchmarks/shared.py
"""

import asyncio
import statistics
import sys
import time
import uuid
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import aiohttp

from benchmarks.stage import Stage, machine, stage
from benchmarks.watchers import Address, Watched, ask, follow

PEOPLE, DELTAS, GOAL_MILLISECONDS = 20, 500, 150


def shared_session() -> str:
    """Store a conversation that the first person has shared with all others; return its id."""
    from django.utils import timezone

    from chat.conversations.keys import conversation_key
    from chat.models import ChatSession, default_agent
    from oneclaw.models import Space, SpaceMember, User

    people = list(User.objects.order_by("pk"))
    space = Space.objects.create(owner=people[0], kind=Space.Kind.TEAM, name="All of us")
    SpaceMember.objects.bulk_create(
        SpaceMember(space=space, user=person, role="owner" if person == people[0] else "editor") for person in people
    )
    pk, agent = uuid.uuid4(), default_agent()
    key = conversation_key(agent.slug, people[0].pk, pk)
    fields = {"pk": pk, "key": key, "owner": people[0], "agent": agent, "title": "Together"}
    ChatSession.objects.create(**fields, space=space, shared_at=timezone.now())
    return str(pk)


async def watch(running: Stage, session: str) -> list[Watched]:
    """Let one person ask, and return what each of all people saw of the answer."""
    address = Address(running.url, running.cookies)
    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0)) as http:
        sockets = [await address.connect(http, number) for number in range(PEOPLE)]
        for socket in sockets:
            await socket.send_json({"type": "open", "session": session, "last_seq": 0})
        await asyncio.sleep(3)
        following = [asyncio.create_task(follow(socket, time.time())) for socket in sockets[1:]]
        asked = await ask(sockets[0], session, DELTAS)
        seen = [asked, *await asyncio.gather(*following)]
        await asyncio.gather(*(socket.close() for socket in sockets))
        return seen


if __name__ == "__main__":
    print(machine())
    with stage(people=PEOPLE, deltas=DELTAS) as running:
        # What only the first answer of a process costs is not measured.
        first, measured = shared_session(), shared_session()
        asyncio.run(watch(running, first))
        seen = asyncio.run(watch(running, measured))
    lags = sorted(lag for each in seen for lag in each.lags)
    p95 = lags[int(len(lags) * 0.95)]
    complete = sum(each.is_complete for each in seen)
    print(
        f"{complete} of {PEOPLE} people saw the whole answer; {len(lags)} lags, median {statistics.median(lags):.0f} ms"
    )
    print(f"p95 {p95:.0f} ms  goal ≤ {GOAL_MILLISECONDS} ms  {'reached' if p95 <= GOAL_MILLISECONDS else 'missed'}")
