"""The handler of client frames, shared by socket, POST, form and HTTP API."""

import uuid
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import assert_never, overload

from chat.conversations import branches, transcript
from chat.conversations.pasted import within
from chat.conversations.shared import queue, stopping
from chat.live.frames import Action, EditFrame, RetryFrame, SendFrame, ShowFrame, StopFrame, TakeBackFrame
from chat.live.publisher import TurnPublisher, begin_next
from chat.live.server_frames import (
    PONG,
    AckFrame,
    CommandFrame,
    EndedFrame,
    MessageFrame,
    PongFrame,
    QueuedFrame,
    ReadyFrame,
    ack_frame,
    command_frame,
    ended_frame,
    message_frame,
    queued_frame,
    ready_frame,
)
from chat.models import Message, QueuedMessage
from chat.rendering.shown import ShownMessage
from chat.turns import commands, start
from chat.turns.commands import EndCommand
from oneclaw.models import User
from oneclaw.reasons import Reason
from oneclaw.threads import in_database


@dataclass(frozen=True)
class Stored:
    """The message is stored and being answered."""

    message: Message
    duplicate: bool

    def frame(self) -> AckFrame:
        return ack_frame(self.message, duplicate=self.duplicate)


@dataclass(frozen=True)
class Ended:
    """The text was a command that ended the conversation, which goes on in `follower_id`, if that is stored already.

    `first` is the first message there, of a command with a text.
    """

    session_id: uuid.UUID
    client_id: uuid.UUID
    reason: str
    follower_id: uuid.UUID | None = None
    first: Stored | None = None

    def frame(self) -> EndedFrame:
        return ended_frame(self.session_id, self.client_id, self.reason, self.follower_id)


@dataclass(frozen=True)
class Commanded:
    """The text was a command about what the model is sent; `reason` is what to tell the person."""

    session_id: uuid.UUID
    client_id: uuid.UUID
    command: str
    reason: Reason

    def frame(self) -> CommandFrame:
        return command_frame(self.session_id, self.client_id, self.command, str(self.reason))


@dataclass(frozen=True)
class CarriedOut:
    """The request is carried out, and nothing but its reply is to be said of it."""

    frame: Callable[[], ReadyFrame | MessageFrame | PongFrame]


@dataclass(frozen=True)
class Queued:
    """The message waits for the running answer of a shared conversation."""

    session_id: uuid.UUID
    client_id: uuid.UUID

    def frame(self) -> QueuedFrame:
        return queued_frame(self.session_id, self.client_id)


Sent = Stored | Ended | Commanded | Queued
# `frame()` is the reply to a client without a socket. A socket gets all but those of Sent through its room.
Outcome = Sent | CarriedOut


@overload
async def handle(user: User, frame: SendFrame, session_id: uuid.UUID | None = None) -> Sent: ...
@overload
async def handle(user: User, frame: Action, session_id: uuid.UUID | None = None) -> Outcome: ...
async def handle(user: User, frame: Action, session_id: uuid.UUID | None = None) -> Outcome:
    """Carry out a frame of `user` and return the outcome. `session_id` is the session that the client shows, if any.

    Raise one of chat.live.errors.CLIENT_ERRORS when the request is refused.
    """
    match frame:
        case SendFrame():
            return await _send(user, frame)
        case EditFrame():
            written = (frame.message, frame.client_id, frame.text, frame.choice)
            edited = await start.edit(user, *written, pasted=frame.pasted, listen=TurnPublisher)
            return Stored(edited.message, edited.duplicate)
        case ShowFrame():
            session = await in_database(branches.show, user, frame.message)
            return CarriedOut(partial(ready_frame, session.pk, session.last_seq, reset=True))
        case StopFrame():
            await in_database(stopping.request_stop, user, session_id, frame.message)
            return CarriedOut(lambda: PONG)
        case TakeBackFrame():
            await in_database(queue.take_back, user, session_id, frame.client_id)
            return CarriedOut(lambda: PONG)
        case RetryFrame():
            answer = await start.repeat(user, frame.message, frame.type, frame.choice, TurnPublisher)
            if frame.type == "continue":
                return CarriedOut(partial(message_frame, ShownMessage(answer), {}))
            return CarriedOut(partial(ready_frame, answer.session_id, answer.seq, reset=True))
    assert_never(frame)


async def _send(user: User, frame: SendFrame) -> Sent:
    ending = commands.ending_in(frame.text)
    if ending is not None and ending.text:
        return await _begin_anew(user, frame, ending)
    if ending is not None and not frame.files:
        follower_id = await in_database(commands.end_conversation, user, frame.session, ending.reason)
        return Ended(frame.session, frame.client_id, ending.reason, follower_id)
    command = commands.context_command_in(frame.text) if not frame.files else None
    if command is not None:
        said = await in_database(commands.carry_out, user, frame.session, frame.client_id, command)
        return Commanded(frame.session, frame.client_id, command.word, said)
    accepted = await start.send(
        user,
        frame.session,
        frame.client_id,
        frame.text,
        mode=frame.mode,
        choice=frame.choice,
        files=frame.files,
        pasted=frame.pasted or (),
        listen=TurnPublisher,
    )
    if isinstance(accepted, QueuedMessage):
        # The answer that was running may have ended meanwhile.
        await begin_next(frame.session)
        return Queued(frame.session, frame.client_id)
    return Stored(accepted.message, accepted.duplicate)


async def _begin_anew(user: User, frame: SendFrame, ending: EndCommand) -> Ended:
    """End the conversation by a command with a text, which becomes the first message of a new one."""
    follower_id = uuid.uuid5(frame.session, str(frame.client_id))

    def accept(holder: uuid.UUID) -> transcript.AcceptedMessage:
        written = (frame.client_id, holder, frame.mode, frame.choice, frame.files)
        rest = within(frame.pasted or (), ending.start)
        return commands.begin_anew(user, frame.session, follower_id, ending, *written, pasted=rest)

    accepted = await start.send_by(user, frame.client_id, accept, TurnPublisher)
    first = Stored(accepted.message, accepted.duplicate)
    return Ended(frame.session, frame.client_id, ending.reason, follower_id, first)
