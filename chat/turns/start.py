"""How a turn begins, whichever door the message came through: its rows are written, and this process runs it.

Both happen or neither does: a socket that breaks in between stops nothing, and when only the answer to a commit was
lost, the same holder finds its own turn again.
"""

import asyncio
import uuid
from collections.abc import Coroutine, Sequence
from typing import Any, TypeVar

from chat.conversations import branches, transcript
from chat.conversations.model_choice import NO_CHOICE, Choice
from chat.live import rooms
from chat.models import Message
from chat.turns import loop, retry
from oneclaw.models import User

R = TypeVar("R")

# Held here, because the event loop itself holds tasks only weakly.
_beginning: set[asyncio.Task[Any]] = set()


async def send(
    user: User,
    session_id: uuid.UUID,
    client_id: uuid.UUID,
    text: str,
    mode: str | None = None,
    choice: Choice = NO_CHOICE,
    files: Sequence[uuid.UUID] = (),
) -> transcript.Accepted:
    """A person's message is stored once, and answered. Raises as `transcript.accept`."""
    return await _to_its_end(_send(user, session_id, client_id, text, mode, choice, files))


async def edit(
    user: User, message_id: int, client_id: uuid.UUID, text: str, choice: Choice = NO_CHOICE
) -> transcript.Accepted:
    """A message of the person's own is said anew, once, and answered. Raises as `branches.edit`."""
    return await _to_its_end(_edit(user, message_id, client_id, text, choice))


async def again(user: User, message_id: int, kind: str, choice: Choice = NO_CHOICE) -> Message:
    """Another attempt at the answer `message_id` begins; returns its placeholder. Raises as `attempts.again`."""
    return await _to_its_end(_again(user, message_id, kind, choice))


async def _send(
    user: User,
    session_id: uuid.UUID,
    client_id: uuid.UUID,
    text: str,
    mode: str | None,
    choice: Choice,
    files: Sequence[uuid.UUID],
) -> transcript.Accepted:
    written = (user, session_id, client_id, text, uuid.uuid4(), mode, choice, files)
    return _run(user, await loop.persist(transcript.accept, *written))


async def _edit(user: User, message_id: int, client_id: uuid.UUID, text: str, choice: Choice) -> transcript.Accepted:
    return _run(user, await loop.persist(branches.edit, user, message_id, client_id, text, uuid.uuid4(), choice))


def _run(user: User, accepted: transcript.Accepted) -> transcript.Accepted:
    if accepted.turn is not None and accepted.answer is not None:
        room = rooms.room_of(user.pk, accepted.message.session_id)
        room.settled_seq = room.settled_seq or accepted.message.seq - 1
        room.publish(rooms.message_frame(accepted.message))
        loop.start(accepted.turn, accepted.answer)
    return accepted


async def _again(user: User, message_id: int, kind: str, choice: Choice) -> Message:
    turn, answer = await loop.persist(retry.again, user, message_id, kind, uuid.uuid4(), choice)
    loop.start(turn, answer)
    return answer


async def _to_its_end(beginning: Coroutine[Any, Any, R]) -> R:
    """What it returns; it goes on even if whoever waits for it is cancelled."""
    task = asyncio.create_task(beginning)
    _beginning.add(task)
    task.add_done_callback(_beginning.discard)
    return await asyncio.shield(task)
