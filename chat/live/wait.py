"""Waiting for an answer that any process may write: a hint says that rows have changed, and the rows are read again."""

import asyncio
import contextlib
from collections import Counter
from typing import Any

from chat.models import Message, Turn
from oneclaw import pubsub
from oneclaw.models import User
from oneclaw.threads import in_database

# The rows are read this often also without a hint, because a hint may be lost.
POLL_SECONDS = 1.0
# Limit of the requests of one person that wait in this process at the same time: each holds a thread.
USER_MAX_WAITS = 20
_waiting: Counter[int] = Counter()


async def until_answered(user: User, message: Message, seconds: float) -> Turn | None:
    """Return the newest attempt to answer `message`, once it has ended or after `seconds`; None when there is none.

    Holds no database connection meanwhile. Above WAITS_PER_USER it returns at once.
    """
    changed, turn, owner = asyncio.Event(), None, user.pk
    if _waiting[owner] >= USER_MAX_WAITS:
        return await in_database(newest_attempt, message)

    def hinted(_: dict[str, Any]) -> None:
        changed.set()

    unsubscribe = pubsub.subscribe(f"session:{message.session_id}", hinted)
    _waiting[owner] += 1
    try:
        async with asyncio.timeout(seconds):
            while True:
                changed.clear()
                turn = await in_database(newest_attempt, message)
                if turn is not None and turn.status != Turn.Status.RUNNING:
                    return turn
                with contextlib.suppress(TimeoutError):
                    await asyncio.wait_for(changed.wait(), POLL_SECONDS)
    except TimeoutError:
        return turn
    finally:
        unsubscribe()
        _waiting[owner] -= 1
        if not _waiting[owner]:
            del _waiting[owner]


def newest_attempt(message: Message) -> Turn | None:
    """Return the newest turn that answers `message`."""
    return message.attempts.order_by("-attempt").first()
