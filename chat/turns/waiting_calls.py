"""Calls of tools whose results take long: how they are awaited together, and what a page shows meanwhile."""

import asyncio
import logging
from collections.abc import Mapping, Sequence

from django.db import transaction

from chat.conversations import transcript
from chat.extensions import ToolError, ToolResult
from chat.models import Message, Turn
from chat.rendering.cards import Card
from chat.turns.tools import WaitingCall, failed
from oneclaw.text import replace_unstorable_in_json

logger = logging.getLogger(__name__)

# A call, and what is awaited for its result.
BegunCall = tuple[WaitingCall, "asyncio.Future[ToolResult]"]


@transaction.atomic
def store_cards(turn: Turn, results: Message, cards: Mapping[str, Card]) -> None:
    """Store the cards of calls of which some still run, for pages that are opened meanwhile. Raise LeaseLostError."""
    transcript.lock_held_session(turn)
    transcript.update_message(results, meta={**results.meta, "cards": replace_unstorable_in_json(cards)})


async def until_done(waiting: Sequence[BegunCall]) -> None:
    """Return when all calls have a result; cancelled, it gives them up."""
    try:
        await asyncio.wait([task for _, task in waiting])
    finally:
        for _, task in waiting:
            task.cancel()


def result_of(call: WaitingCall, task: "asyncio.Future[ToolResult]") -> ToolResult:
    """Return the result of a call that was awaited by `task`; what it has until then, if that was given up."""
    if not task.done() or task.cancelled():
        task.cancel()
        return call.pending.meanwhile
    error = task.exception()
    if error is None:
        return task.result()
    if isinstance(error, ToolError):
        return failed(error)
    # Any app can add a tool, and a bug in it must not end the turn.
    logger.error("The tool %s failed.", call.use["name"], exc_info=error)
    return call.pending.meanwhile
