"""The token meter: how much of the model's window a conversation takes, and what takes it.

`meter_of` is for every page: it reads the usage of the newest answer and what was added since. `breakdown_of` reads
the whole conversation, and is for a person who asks.
"""

import uuid
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from django.conf import settings

from chat.context import per_message, tokens
from chat.context.counted import Counted, newest_counted, newest_counted_of
from chat.context.prompt import attachments_of, rows_of
from chat.context.results import sent_results
from chat.context.rounds import NO_ROUNDS, RoundsInView, rounds_in_view
from chat.context.tokens import ContextPart
from chat.context.view import ViewRow
from chat.conversations import model_choice
from chat.models import ChatSession, Head, Message
from chat.rendering.rounds import in_thousands
from oneclaw import llm
from oneclaw.llm.known_models import known_facts
from oneclaw.spend.usage import count_of


@dataclass(frozen=True)
class Meter:
    """The tokens of the next request as far as it is known, and those that a conversation may take."""

    used_tokens: int
    window_tokens: int

    @property
    def percent(self) -> int:
        """Return the used share of the window, at most 100."""
        return min(100, round(100 * self.used_tokens / self.window_tokens))

    @property
    def used_thousands(self) -> float:
        """Return the used tokens in thousands: whole ones from 10 on, else with one decimal."""
        return in_thousands(self.used_tokens)

    @property
    def window_thousands(self) -> int:
        """Return the window in thousands of tokens."""
        return round(self.window_tokens / 1000)


@dataclass(frozen=True)
class Breakdown:
    """The parts that take the tokens of `meter`, and how many tenths of the newest request came from the cache.

    `cached_tenths` is None before the first request.
    """

    meter: Meter
    parts: dict[ContextPart, int]
    cached_tenths: int | None

    def bars(self) -> list[tuple[ContextPart, int, int]]:
        """Return (part, tokens, share of all in percent) for each part that takes any."""
        total = max(1, self.meter.used_tokens)
        return [(part, count, round(100 * count / total)) for part, count in self.parts.items() if count]


def meter_of(session: ChatSession) -> Meter | None:
    """Return the meter of `session`, whose agent is loaded; None before its first answer. Sync."""
    return meter_after(session, newest_counted(session.pk))


def meter_after(session: ChatSession, newest: Counted | None, rows: Sequence[ViewRow] | None = None) -> Meter | None:
    """Return the meter of `session`, whose agent is loaded, from its newest counted answer; None without one. Sync.

    `rows` are its shown and finished messages, or those after the summary in use, if they are known.
    """
    if newest is None:
        return None
    rounds = rounds_after(session, newest)
    used = counted_tokens(session, newest, rounds, rows)
    if used is None:
        used = sum(estimated_parts(session, session.head, rounds).values())
    return Meter(used, tokens.window_of(facts_for(session), settings.CONTEXT))


def estimated_meter(session: ChatSession) -> Meter:
    """Return the meter of a conversation of which the provider has counted nothing, such as an imported one: all of it
    is estimated. Sync."""
    used = sum(estimated_parts(session, session.head, rounds_in_view(session)).values())
    return Meter(used, tokens.window_of(facts_for(session), settings.CONTEXT))


def counted_meters(sessions: Iterable[tuple[ChatSession, Counted | None]]) -> dict[uuid.UUID, Meter]:
    """Return the meter of each of `sessions`, which have their agents loaded, for lists: what the provider counted for
    the newest request of each and its answer, without what was added since. Sync."""
    facts: dict[str, llm.Facts] = {}
    meters = {}
    for session, newest in sessions:
        model = model_choice.model_of(session)
        if model not in facts:
            facts[model] = facts_for(session)
        used = in_tokens_of(session, tokens.tokens_after(newest.usage), newest.model) if newest else 0
        meters[session.pk] = Meter(used, tokens.window_of(facts[model], settings.CONTEXT))
    return meters


def read_meters(sessions: Sequence[ChatSession]) -> dict[uuid.UUID, Meter]:
    """Return `counted_meters` of these sessions, whose newest counted answers are read by one statement. Sync."""
    newest = newest_counted_of([session.pk for session in sessions])
    return counted_meters((session, newest[session.pk]) for session in sessions)


def breakdown_of(session: ChatSession, head: Head) -> Breakdown:
    """Return what takes the tokens of the next request of `session`, which begins with `head`. Sync."""
    newest = newest_counted(session.pk)
    rounds = rounds_in_view(session)
    parts = estimated_parts(session, head, rounds)
    used = counted_tokens(session, newest, rounds) if newest else None
    if used is None:
        used = sum(parts.values())
    meter = Meter(used, tokens.window_of(facts_for(session), settings.CONTEXT))
    return Breakdown(meter, tokens.scaled(parts, used), cached_tenths(newest.usage if newest else None))


def rounds_after(session: ChatSession, newest: Counted) -> RoundsInView:
    """Return the context rounds of the next request; without a query when none was used yet."""
    return rounds_in_view(session) if session.used_rounds or newest.rounds else NO_ROUNDS


def cached_tenths(usage: Mapping[str, Any] | None) -> int | None:
    """Return how many tenths of a request came from the cache; None without a request."""
    read = tokens.input_tokens(usage or {})
    return round(10 * count_of(usage, "cache_read_input_tokens") / read) if read else None


def counted_tokens(
    session: ChatSession, newest: Counted, rounds: RoundsInView, rows: Sequence[ViewRow] | None = None
) -> int | None:
    """Return the tokens of the next request, which begins with that of `newest` and its answer; None when it does not,
    because of other context rounds, or because earlier thinking is not sent any more. `rows` as for `meter_after`."""
    if newest.seq <= session.thinking_after_seq or newest.rounds != list(rounds.numbers):
        return None
    counted = in_tokens_of(session, tokens.tokens_after(newest.usage), newest.model)
    if newest.seq == session.last_seq:
        return counted
    later = rows_of(session, newest.seq) if rows is None else [row for row in rows if row.seq > newest.seq]
    added = estimate(session, later, facts_for(session).chars_per_token, rounds)
    return counted + sum(added.values())


def in_tokens_of(session: ChatSession, counted: int, model: str) -> int:
    """Return what `counted` tokens of `model` are in those of the model of `session`: another one counts otherwise."""
    return round(counted * known_facts(model).chars_per_token / known_facts_of(session).chars_per_token)


def estimated_parts(session: ChatSession, head: Head | None, rounds: RoundsInView) -> Counter[ContextPart]:
    """Return the estimated tokens of a request by what takes them."""
    chars_per_token = facts_for(session).chars_per_token
    found = estimate(session, rows_of(session, rounds.through_seq), chars_per_token, rounds)
    for message in rounds.replacement():
        found[ContextPart.SUMMARY] += sum(tokens.block_tokens(each, chars_per_token) for each in message["content"])
    return found + tokens.head_tokens(head, chars_per_token) if head else found


def estimate(
    session: ChatSession, rows: Sequence[ViewRow], chars_per_token: float, rounds: RoundsInView
) -> Counter[ContextPart]:
    """Return the estimated tokens of messages by what takes them."""
    found: Counter[ContextPart] = Counter()
    for parts in message_parts(session, rows, chars_per_token, rounds):
        found += parts
    return found


def message_parts(
    session: ChatSession, rows: Sequence[ViewRow], chars_per_token: float, rounds: RoundsInView
) -> Iterator[Counter[ContextPart]]:
    """Yield the estimated tokens of each message of `rows` by what takes them."""
    files = attachments_of(session, rows)
    for row in rows:
        sent = row
        if row.role == Message.Role.TOOL:
            sent = replace(row, content=rounds.pruned(sent_results(row.content, row.all_sent)))
        context = per_message.text_of(row.meta)
        yield tokens.row_tokens(sent, context, files, chars_per_token, session.thinking_after_seq)


def facts_for(session: ChatSession) -> llm.Facts:
    """Return the facts of the model of `session`; what is documented about it when no server is configured."""
    try:
        return llm.facts_of(model_choice.model_of(session))
    except llm.NoKeyError:
        return known_facts_of(session)


def known_facts_of(session: ChatSession) -> llm.Facts:
    """Return what is documented about the model of `session`."""
    return known_facts(model_choice.model_of(session))
