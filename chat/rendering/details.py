"""The details of a message: who wrote it, when, what it cost, and what of memory went into it."""

import datetime as dt
from collections.abc import Sequence
from dataclasses import dataclass

from django.db.models import Q

from chat import extensions
from chat.extensions import Detail
from chat.models import Message
from chat.rendering.shown import ShownMessage
from oneclaw import llm
from oneclaw.spend.prices import cost_of
from oneclaw.spend.usage import count_of, counts_of


@dataclass(frozen=True)
class Tokens:
    """The tokens of all requests for one answer. `cost` is in US dollars, None without a price."""

    read: int
    cached: int
    written_to_cache: int
    written: int
    cost: float | None


@dataclass(frozen=True)
class Details:
    message: Message
    # The tokens and seconds of an answer; of a person's own message none.
    tokens: Tokens | None
    seconds: float | None
    attempt: int
    from_memory: list[Detail]


def details_of(shown: ShownMessage) -> Details:
    """Return the details of a message whose session, agent and turn are loaded."""
    message = shown.message
    session, turn = message.session, message.turn
    prompt = message if turn is None else turn.prompt
    rounds = [message]
    if turn is not None:
        own = Q(turn=turn, role=Message.Role.ASSISTANT)
        rounds = list(
            session.messages.filter(own, seq__lte=message.seq)
            .order_by("seq")
            .only("usage", "model", "meta", "created_at")
        )
    used = [each for each in rounds if each.usage]
    began, ended = rounds[0].created_at, message.finished_at
    by_person = message.role == Message.Role.USER
    known = (by_person or turn is not None) and not shown.hides_memory
    return Details(
        message=message,
        tokens=tokens_of(used) if used else None,
        seconds=None if by_person or ended is None else max(0.0, (ended - began) / dt.timedelta(seconds=1)),
        attempt=turn.attempt if turn else 0,
        from_memory=extensions.memory().details(session, prompt) if known else [],
    )


def tokens_of(answers: Sequence[Message]) -> Tokens:
    """Add up the requests, each at the price of the server that has answered."""

    def total(name: str) -> int:
        return sum(count_of(answer.usage, name) for answer in answers)

    costs = [
        cost_of(each.model, counts_of(each.usage), llm.prices_on(each.meta.get(Message.UPSTREAM_KEY, "")))
        for each in answers
    ]
    known = [cost for cost in costs if cost is not None]
    return Tokens(
        read=total("input_tokens"),
        cached=total("cache_read_input_tokens"),
        written_to_cache=total("cache_creation_input_tokens"),
        written=total("output_tokens"),
        cost=sum(known) if len(known) == len(costs) else None,
    )
