"""The handler of messages from outside, which name where they come from instead of a conversation."""

import asyncio
import time
import uuid
import weakref
from collections.abc import Callable
from dataclasses import dataclass

from django.conf import settings

from chat.conversations import transcript
from chat.conversations.keys import Sender
from chat.conversations.pasted import within
from chat.live.frames import MessageFrameFields
from chat.live.handle import Stored
from chat.live.publisher import TurnPublisher
from chat.routes import deliver, identities
from chat.turns import commands, start
from oneclaw.models import User
from oneclaw.threads import in_database

# How often a message that waits for the answer before it looks whether that is complete.
BUSY_POLL_SECONDS = 0.2
# One lock for each sender with messages that wait, by event loop and person.
_lines: weakref.WeakValueDictionary[tuple[int, int, Sender], asyncio.Lock] = weakref.WeakValueDictionary()


@dataclass(frozen=True)
class Delivered:
    """What a message from outside has done: `session_id` is the conversation of its route then, if there is one.

    `ended` is the reason of a command that has ended the one before, and `notice` what to say of any other command.
    """

    session_id: uuid.UUID | None
    stored: Stored | None = None
    ended: str | None = None
    notice: str | None = None


async def handle_routed(user: User, sender: Sender, message: MessageFrameFields) -> Delivered:
    """Store the message from `sender` in the conversation of its route and answer it, or carry out its command.

    Raise one of chat.live.errors.CLIENT_ERRORS when it is refused.
    """
    if code := identities.code_in(message.text):
        await in_database(identities.prove, user, sender, code)
        return Delivered(None, notice=str(identities.LINKED))
    command = commands.context_command_in(message.text) if not message.files else None
    if command is not None:
        session = await in_database(deliver.current_session, user, sender, message.choice)
        session_id = session.pk if session else uuid.uuid4()
        said = await in_database(commands.carry_out, user, session_id, message.client_id, command)
        return Delivered(session.pk if session else None, notice=str(said))
    ending = commands.ending_in(message.text)
    if ending is not None and not ending.text and not message.files:
        ended = await in_database(deliver.end_current, user, sender, message.client_id, ending.reason, message.choice)
        return Delivered(ended.follower_id if ended else None, ended=ending.reason)
    return await _deliver(user, sender, message, ending if ending and ending.text else None)


async def _in_turn(
    user: User, incoming: deliver.Incoming, accept: Callable[[uuid.UUID], transcript.AcceptedMessage]
) -> transcript.AcceptedMessage:
    """Store the message when the answer to the one before it is complete; those of one sender in their order.

    Raise SessionBusyError when that takes longer than TURN_TIMEOUT, and the errors of `start.send_by`.
    """
    line = _lines.setdefault((id(asyncio.get_running_loop()), user.pk, incoming.sender), asyncio.Lock())
    give_up = time.monotonic() + settings.TURN_TIMEOUT
    async with line:
        while True:
            try:
                return await start.send_by(user, incoming.client_id, accept, TurnPublisher)
            except transcript.SessionBusyError:
                while await in_database(deliver.is_busy, user, incoming):
                    if time.monotonic() > give_up:
                        raise
                    await asyncio.sleep(BUSY_POLL_SECONDS)


async def _deliver(
    user: User, sender: Sender, message: MessageFrameFields, ending: commands.EndCommand | None
) -> Delivered:
    text = ending.text if ending else message.text
    incoming = deliver.Incoming(
        sender,
        message.client_id,
        text,
        message.mode,
        message.choice,
        message.files,
        within(message.pasted or (), ending.start if ending else 0),
    )
    reason = ending.reason if ending else ""

    def accept(holder: uuid.UUID) -> transcript.AcceptedMessage:
        return deliver.accept(user, incoming, holder, ends_by=reason)

    accepted = await _in_turn(user, incoming, accept)
    return Delivered(accepted.message.session_id, Stored(accepted.message, accepted.duplicate), reason or None)
