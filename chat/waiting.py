"""To wait for an answer, whichever process writes it: a hint says that rows have changed, and the rows say the rest."""

import asyncio
import contextlib
from typing import Any

from chat.models import Message, Turn
from oneclaw import hints
from oneclaw.crossing import in_database

# Seconds after which the rows are read also without a hint, for a hint may be lost.
LOOKED_EVERY = 1.0


async def until_answered(message: Message, seconds: float) -> Turn | None:
    """The newest attempt to answer this person's message, ended or as it is after `seconds`; None when nothing has
    answered it yet. Holds neither a thread nor a connection meanwhile."""
    changed, turn = asyncio.Event(), None

    def hinted(_: dict[str, Any]) -> None:
        changed.set()

    unsubscribe = hints.subscribe(f"session:{message.session_id}", hinted)
    try:
        async with asyncio.timeout(seconds):
            while True:
                changed.clear()
                turn = await in_database(newest_attempt, message)
                if turn is not None and turn.status != Turn.Status.RUNNING:
                    return turn
                with contextlib.suppress(TimeoutError):
                    await asyncio.wait_for(changed.wait(), LOOKED_EVERY)
    except TimeoutError:
        return turn
    finally:
        unsubscribe()


def newest_attempt(message: Message) -> Turn | None:
    return message.attempts.order_by("-attempt").first()
