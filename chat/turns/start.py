"""The start of a turn for every transport: its rows are written, and this process runs it.

Both happen or neither: a socket that closes in between does not cancel them, and when only the reply to a commit was
lost, the same holder gets its own turn again. `listen` makes the listener of the turn (chat/turns/listener.py).
"""

import asyncio
import uuid
from collections.abc import Callable, Coroutine, Sequence
from functools import partial
from typing import Any, TypeVar

from chat.conversations import branches, transcript, versions
from chat.conversations.model_choice import NO_CHOICE, Choice
from chat.conversations.pasted import Ranges
from chat.conversations.shared import queue
from chat.conversations.shown import just_stored
from chat.models import Message, QueuedMessage, Version
from chat.turns import retry, running
from chat.turns.admission import admit, within_budgets
from chat.turns.persist import persist
from chat.turns.running import ListenerFactory
from chat.turns.starts import starts
from oneclaw.models import User

R = TypeVar("R")

# Referenced here, because the event loop only has weak references to tasks.
_starting: set[asyncio.Task[Any]] = set()


async def send(
    user: User,
    session_id: uuid.UUID,
    client_id: uuid.UUID,
    text: str,
    *,
    mode: str | None = None,
    choice: Choice = NO_CHOICE,
    files: Sequence[uuid.UUID] = (),
    pasted: Ranges = (),
    listen: ListenerFactory,
) -> transcript.AcceptedMessage | QueuedMessage:
    """Store a person's message once per `client_id`, and answer it; in a shared conversation, in which an answer is
    running, return the message that waits.

    Raise QueueFullError, the errors of chat/turns/admission.py and those of `transcript.accept`.
    """
    written = (user, session_id, client_id, text)
    accept = partial(transcript.accept, *written, uuid.uuid4(), mode, choice, files, pasted=pasted)
    await admit(user, client_id)

    async def store() -> transcript.AcceptedMessage | QueuedMessage:
        try:
            return _run(await persist(within_budgets, user, client_id, accept), listen)
        except transcript.SessionBusyError:
            return await persist(partial(queue.add, *written, choice, files, pasted=pasted))

    return await _to_its_end(store())


async def send_by(
    user: User,
    client_id: uuid.UUID,
    accept: Callable[[uuid.UUID], transcript.AcceptedMessage],
    listen: ListenerFactory,
) -> transcript.AcceptedMessage:
    """Store a person's message by `accept`, which is given the holder of its turn, and answer it.

    `accept` is idempotent by `client_id` as `transcript.accept`. Raise the errors of chat/turns/admission.py and those
    of `accept`.
    """
    await admit(user, client_id)

    async def store() -> transcript.AcceptedMessage:
        return _run(await persist(within_budgets, user, client_id, accept, uuid.uuid4()), listen)

    return await _to_its_end(store())


async def edit(
    user: User,
    message_id: int,
    client_id: uuid.UUID,
    text: str,
    choice: Choice,
    *,
    pasted: Ranges | None = None,
    listen: ListenerFactory,
) -> transcript.AcceptedMessage:
    """Store another version of the person's message once per `client_id`, and answer it.

    Raise the errors of chat/turns/admission.py and those of `branches.edit`.
    """
    holder = uuid.uuid4()
    await admit(user, client_id)

    async def store() -> transcript.AcceptedMessage:
        stored = partial(branches.edit, user, message_id, client_id, text, holder, choice, pasted=pasted)
        accepted = await persist(within_budgets, user, client_id, stored)
        return _run(accepted, listen, await persist(versions.version_of, accepted.message))

    return await _to_its_end(store())


async def repeat(user: User, message_id: int, kind: str, choice: Choice, listen: ListenerFactory) -> Message:
    """Begin another attempt at the answer `message_id`; return its placeholder. Raise TooManyTurnsError and the
    errors of `retry.repeat`."""
    holder = uuid.uuid4()
    await admit(user, None)

    async def store() -> Message:
        turn, answer = await persist(within_budgets, user, None, retry.repeat, user, message_id, kind, holder, choice)
        running.start(turn, answer, listen, version=await persist(versions.version_of, answer))
        return answer

    return await _to_its_end(store())


def _run(
    accepted: transcript.AcceptedMessage, listen: ListenerFactory, version: Version | None = None
) -> transcript.AcceptedMessage:
    if accepted.turn is not None and accepted.answer is not None:
        running.start(
            accepted.turn,
            accepted.answer,
            listen,
            just_stored(accepted.message, version=version),
            is_first=accepted.is_first,
        )
    return accepted


async def _to_its_end(starting: Coroutine[Any, Any, R]) -> R:
    """Return the result of `starting`, which runs to its end even if the caller is cancelled."""
    task = asyncio.create_task(_counted(starting))
    _starting.add(task)
    task.add_done_callback(_starting.discard)
    return await asyncio.shield(task)


async def _counted(starting: Coroutine[Any, Any, R]) -> R:
    """Return the result of `starting`, for which other work gives way. The turn that it runs counts itself."""
    with starts.starting():
        return await starting
