"""Cache breakpoints of a request: up to which block the provider may keep what it has read. Pure.

Four are allowed. They are set at the end of the system text, of the previous request, of this request, and between the
last two when more blocks lie between them than the provider looks back.
"""

import datetime as dt
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Any, Final

from chat.context.view import THINKING, ViewRow
from chat.models import Message
from oneclaw.llm import ApiMessage, Block
from oneclaw.llm.blocks import CacheControl

# The lifetime of a cache entry, by its name in the API.
SHORT: Final = "5m"
LONG: Final = "1h"
# For requests without breakpoints.
OFF: Final = "off"
SHORT_SECONDS = 300
# From a breakpoint, the provider looks back over 20 blocks for an entry; a message of ours may be split by it.
BETWEEN_MAX_BLOCKS = 15


def mark(system: list[Block], messages: Sequence[ApiMessage], lifetime: str) -> None:
    """Set the breakpoints in the blocks of `system` and `messages`, which are replaced and not changed.

    `lifetime` is SHORT or LONG.
    """
    control: CacheControl = {"type": "ephemeral"}
    if lifetime == LONG:
        control["ttl"] = LONG
    for blocks, index in [(system, len(system) - 1), *positions_in(messages)]:
        blocks[index] = {**blocks[index], "cache_control": control}


def lifetime_of(system: Sequence[Block]) -> str:
    """Return the lifetime with which the system text of a request was marked: SHORT, LONG, or OFF without a mark."""
    control: Any = system[-1].get("cache_control") if system else None
    return control.get("ttl", SHORT) if control else OFF


def positions_in(messages: Sequence[ApiMessage]) -> list[tuple[list[Block], int]]:
    """Return (blocks, index) of each breakpoint in the messages."""
    blocks = [(message["content"], index) for message in messages for index in range(len(message["content"]))]
    answers = [index for index, message in enumerate(messages) if message["role"] == "assistant"]
    found = [len(blocks) - 1]
    if answers and answers[-1]:
        previous = sum(len(message["content"]) for message in messages[: answers[-1]]) - 1
        between = [
            index
            for index in range(previous + 1, len(blocks) - 1)
            if blocks[index][0][blocks[index][1]]["type"] not in THINKING
        ]
        if len(blocks) - 1 - previous > BETWEEN_MAX_BLOCKS and between:
            found.insert(0, between[len(between) // 2])
        found.insert(0, previous)
    return [blocks[index] for index in found]


def lifetime_for(setting: str, rows: Iterable[ViewRow]) -> str:
    """Return the lifetime for the entries of a request: the setting, but LONG once the person has paused for longer
    than SHORT before answering.

    A cold request reads everything again at 12 times the price of a warm one, a longer lifetime costs 1.6 times as
    much for the new part alone; so one pause is enough.
    """
    if setting != SHORT:
        return setting
    limit = dt.timedelta(seconds=SHORT_SECONDS)
    for before, after in pairwise(rows):
        ended = before.finished_at or before.created_at
        if after.role == Message.Role.USER and after.created_at - ended > limit:
            return LONG
    return SHORT
