"""What lists of conversations say about each: its tokens, what they cost, its rounds and its route.

A list takes two statements, however long it is: one reads the conversations with most of it, and one adds up the usage
of all of them.
"""

import uuid
from collections.abc import Sequence
from dataclasses import dataclass

from django.conf import settings
from django.db import connection
from django.db.models import Count, IntegerField, OuterRef, Subquery
from django.db.models.functions import Coalesce

from chat.context.counted import NEWEST_COUNTED, counted_from
from chat.context.meter import Meter, counted_meters
from chat.models import ChatSession, ChatSessionQuerySet, ContextRound, ListPosition, position_of
from oneclaw.spend.prices import ABOVE, cost_of
from oneclaw.spend.usage import COUNT_MAX_TOKENS

# Copies in a fork were paid for in the conversation that they come from.
USAGE = """
    SELECT message.session_id, message.model, width_bucket({read}, %s::bigint[]) AS step,
        {sums}
    FROM chat_message AS message JOIN chat_chatsession AS session ON session.id = message.session_id
    WHERE message.session_id = ANY(%s) AND message.seq > session.copied_seq AND message.usage IS NOT NULL
    GROUP BY message.session_id, message.model, step
"""
USAGE_NAMES = ("input_tokens", "output_tokens", "cache_read_input_tokens", "cache_creation_input_tokens")
# As oneclaw.spend.usage.count_of: 0 for what is no possible number of tokens.
COUNT = """
    CASE WHEN jsonb_typeof(message.usage->'{name}') = 'number'
        AND (message.usage->>'{name}')::numeric BETWEEN 0 AND {most}
    THEN (message.usage->>'{name}')::numeric ELSE 0 END
"""
COUNTS = {name: COUNT.format(name=name, most=COUNT_MAX_TOKENS) for name in USAGE_NAMES}
SUMS = ", ".join(f"sum({count})::bigint" for count in COUNTS.values())
READ = "(" + " + ".join(count for name, count in COUNTS.items() if name != "output_tokens") + ")::bigint"


@dataclass(frozen=True)
class SessionTokens:
    """The tokens of a conversation: what its next request takes of the window, and those of all its requests.

    `cost` is in US dollars, None without a price of each of its models.
    """

    used: int
    window: int
    read: int
    written: int
    cached: int
    cost: float | None


@dataclass(frozen=True)
class Used:
    """The sums of the usage of those requests to one model that have one price: that of so many tokens of input."""

    model: str
    sums: dict[str, int]
    input_tokens: int


@dataclass(frozen=True)
class ListedTotals:
    """A conversation in a list with what the list says about it."""

    session: ChatSession
    position: ListPosition
    # How often its model was sent a summary or shortened results in place of messages.
    rounds: int
    tokens: SessionTokens


def read_totals(sessions: ChatSessionQuerySet) -> list[ListedTotals]:
    """Read `sessions`, which are `placed`, with their agents, routes and totals. Two statements."""
    rounds = ContextRound.objects.filter(session=OuterRef("pk"), status=ContextRound.Status.DONE, undone_at=None)
    number = rounds.order_by().values("session").annotate(number=Count("pk")).values("number")
    made = Coalesce(Subquery(number, output_field=IntegerField()), 0)
    found = sessions.select_related("agent", "route").annotate(counted=NEWEST_COUNTED, rounds_made=made)
    rows = list(found)
    usage = usage_of([row.pk for row in rows])
    meters = counted_meters([(row, counted_from(row.counted)) for row in rows])
    return [
        ListedTotals(row, position_of(row), row.rounds_made, added_up(meters[row.pk], usage[row.pk])) for row in rows
    ]


def usage_of(session_ids: Sequence[uuid.UUID]) -> dict[uuid.UUID, list[Used]]:
    """Return what the requests of each of these conversations used. One statement."""
    # The least numbers of tokens of input at which another price begins.
    steps = sorted({int(above) + 1 for name in settings.PRICES if (above := name.partition(ABOVE)[2])}) or [2**62]
    with connection.cursor() as cursor:
        cursor.execute(USAGE.format(sums=SUMS, read=READ), [steps, list(session_ids)])
        rows = cursor.fetchall()
    usage: dict[uuid.UUID, list[Used]] = {session_id: [] for session_id in session_ids}
    for session_id, model, step, *sums in rows:
        input_tokens = steps[step - 1] if step else 0
        usage[session_id].append(Used(model, dict(zip(USAGE_NAMES, sums, strict=True)), input_tokens))
    return usage


def added_up(meter: Meter, usage: Sequence[Used]) -> SessionTokens:
    """Return the tokens of a conversation from its `meter` and what its requests used."""

    def total(name: str) -> int:
        return sum(used.sums[name] for used in usage)

    costs = [cost_of(used.model, used.sums, settings.PRICES, used.input_tokens) for used in usage]
    known = [cost for cost in costs if cost is not None]
    return SessionTokens(
        used=meter.used_tokens,
        window=meter.window_tokens,
        # As in the details of a message, what was read from the cache is not counted here.
        read=total("input_tokens") + total("cache_creation_input_tokens"),
        written=total("output_tokens"),
        cached=total("cache_read_input_tokens"),
        cost=sum(known) if len(known) == len(costs) else None,
    )
