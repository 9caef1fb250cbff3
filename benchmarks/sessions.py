"""How long one worker takes for the resets of many routes that are due in the same minute, without a model.

    python benchmarks/sessions.py [--routes 10000] [--messages 4]

Each route has a conversation of one person of a hundred, with some messages; all are due for an idle reset. One
process does what a worker does in its sweep: it ends each conversation, asks for its notes, its index and its last
messages, and points the route at a new conversation. Fails when that takes more than a minute.
"""

import argparse
import contextlib
import sys
import time
import uuid
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks.stage import machine, prepared

LIMIT_SECONDS = 60
PEOPLE = 100


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--routes", type=int, default=10_000)
    parser.add_argument("--messages", type=int, default=4)
    options = parser.parse_args()
    with contextlib.ExitStack() as stack:
        prepared(stack, ONECLAW_EMBEDDINGS="none", ONECLAW_TITLES="no", ONECLAW_RESET="idle")
        print(f"{machine()}, {time.strftime('%d %B %Y %H:%M')}")
        stored(options.routes, options.messages)
        seconds, count = swept()
    print(
        f"{count} routes of {options.routes} were reset in {seconds:.1f} s, "
        f"{1000 * seconds / max(count, 1):.2f} ms each"
    )
    sys.exit(count != options.routes or seconds > LIMIT_SECONDS)


def stored(routes: int, messages: int) -> None:
    """Store the routes with their conversations, last written in a day ago."""
    import datetime as dt

    from django.utils import timezone

    from chat.conversations.keys import RouteScope, Sender, conversation_key, route_key
    from chat.models import ChatSession, Message, SessionRoute, default_agent
    from oneclaw.models import User

    agent, then = default_agent(), timezone.now() - dt.timedelta(days=1)
    people = [User.objects.create_user(f"person{number}@example.org") for number in range(PEOPLE)]
    made, sessions = [], []
    for number in range(routes):
        owner, session_id = people[number % PEOPLE], uuid.uuid4()
        key = route_key(agent.slug, owner.pk, RouteScope.PER_PEER, Sender("bench", str(number)))
        times = {"started_at": then, "last_person_at": then, "check_at": timezone.now()}
        made.append(SessionRoute(owner=owner, agent=agent, key=key, channel="bench", peer=str(number), **times))
        own_key = conversation_key(agent.slug, owner.pk, session_id)
        sessions.append(ChatSession(pk=session_id, key=own_key, owner=owner, agent=agent, last_seq=messages))
    SessionRoute.objects.bulk_create(made, batch_size=1000)
    for route, session in zip(made, sessions, strict=True):
        session.route = route
    ChatSession.objects.bulk_create(sessions, batch_size=1000)
    for route, session in zip(made, sessions, strict=True):
        route.session = session
    SessionRoute.objects.bulk_update(made, ["session"], batch_size=1000)
    for begin in range(0, routes, 1000):
        Message.objects.bulk_create(
            Message(
                session=session,
                seq=seq,
                role=Message.Role.USER if seq % 2 else Message.Role.ASSISTANT,
                text=f"Message {seq} about the harbour of {session.pk}.",
                content=[{"type": "text", "text": f"Message {seq} about the harbour of {session.pk}."}],
            )
            for session in sessions[begin : begin + 1000]
            for seq in range(1, messages + 1)
        )


def swept() -> tuple[float, int]:
    """Return the seconds until no route is due any more, and how many were reset."""
    from chat.models import SessionRoute
    from chat.routes import resets

    began, count = time.perf_counter(), 0
    while SessionRoute.objects.to_check().exists():
        count += resets.sweep()
    return time.perf_counter() - began, count


if __name__ == "__main__":
    main()
