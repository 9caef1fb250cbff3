"""The frames that a client sends, as pydantic models, and their validation (docs/protocol.md)."""

import json
import uuid
from collections.abc import Mapping
from dataclasses import replace
from typing import Annotated, Any, Literal, TypeVar

from django.conf import settings
from django.utils.translation import gettext as _
from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    PlainValidator,
    TypeAdapter,
    ValidationError,
    ValidationInfo,
)
from pydantic.functional_validators import field_validator

from chat.attachments import store
from chat.conversations.model_choice import Choice
from chat.conversations.pasted import BadRangesError, Ranges, checked
from chat.live.errors import FrameError
from oneclaw.text import InvalidTextError, formatted_number, validated_text

FRAME_MAX_BYTES = 64 * 1024
MESSAGE_ID_MAX_DIGITS = 18


def message_id(value: object) -> object:
    """Return the message id in the string `value` as a number. Raise ValueError when it is no id of a message."""
    if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) <= MESSAGE_ID_MAX_DIGITS:
        return int(value)
    raise ValueError


def space_id(value: object) -> object:
    """Return the id of a space, a number or its digits, as a number; None for "". Raise ValueError when it is no id."""
    if value == "" or value is None:
        return None
    return message_id(str(value)) if isinstance(value, str | int) and not isinstance(value, bool) else message_id(None)


SpaceId = Annotated[int | None, BeforeValidator(space_id)]
MessageId = Annotated[int, BeforeValidator(message_id)]
Name = Annotated[str, Field(max_length=100)]


def ranges_of_text(value: object, info: ValidationInfo) -> Ranges | None:
    """Return the ranges of the field `text`, declared before, that were pasted; None when the client does not say so.
    `value` is a list or, from a form, its JSON. Raise ValueError when they are not of the text."""
    text = info.data.get("text")
    # Of an invalid text, the text is what is said to be wrong.
    if value in (None, "") or not isinstance(text, str):
        return None
    try:
        return checked(json.loads(value) if isinstance(value, str) else value, text)
    except RecursionError:
        # It is nested too deep.
        raise BadRangesError from None


Pasted = Annotated[Ranges | None, PlainValidator(ranges_of_text)]


class FrameOfClient(BaseModel):
    """The base of every frame that a client sends. Fields that are not known are ignored."""

    model_config = ConfigDict(frozen=True)


class FrameWithChoice(FrameOfClient):
    """The base of frames that may name an agent, a model, an effort and which memory is read."""

    agent: Name | None = None
    model: Name | None = None
    effort: Name | None = None
    memory: Name | None = None

    @property
    def choice(self) -> Choice:
        return Choice(self.agent or None, self.model, self.effort, memory=self.memory or None)


class OpenFrame(FrameOfClient):
    """Show `session`, a new one when it is None, to a page that has everything up to `last_seq`."""

    type: Literal["open"] = "open"
    session: uuid.UUID | None = None
    last_seq: int = Field(0, strict=True, ge=0)
    # The id of the person for whom the page was made.
    person: Any = None
    # Whether the page understands blocks of which only what follows is sent.
    appends: Annotated[bool, BeforeValidator(lambda value: value is True)] = False


class MessageFrameFields(FrameWithChoice):
    """A message to store and answer. `text` may be "" when there are files."""

    client_id: uuid.UUID
    # Declared before `text`, whose validator reads it.
    files: tuple[uuid.UUID, ...] = ()
    text: str = Field(default=None, validate_default=True)
    # What of it was pasted.
    pasted: Pasted = None
    mode: Literal["agent", "chat", "temporary"] | None = None
    # In which a new conversation begins.
    space: SpaceId = None

    @property
    def choice(self) -> Choice:
        return replace(super().choice, space=self.space)

    @field_validator("files", mode="plain")
    @classmethod
    def _checked_files(cls, value: object) -> tuple[uuid.UUID, ...]:
        return tuple(store.checked_ids(value)) if value is not None else ()

    @field_validator("text", mode="plain")
    @classmethod
    def _checked_text(cls, value: object, info: ValidationInfo) -> str:
        text = validated_text(value, max_chars=settings.MESSAGE_LENGTH, may_be_blank=bool(info.data.get("files")))
        return text if text.strip() else ""


class SendFrame(MessageFrameFields):
    """Store a message in the conversation `session`, and answer it."""

    type: Literal["send"] = "send"
    session: uuid.UUID


class EditFrame(FrameWithChoice):
    """Store another version of the person's message `message` and answer it."""

    type: Literal["edit"] = "edit"
    client_id: uuid.UUID
    message: MessageId
    text: str = Field(default=None, validate_default=True)
    pasted: Pasted = None

    @field_validator("text", mode="plain")
    @classmethod
    def _checked_text(cls, value: object) -> str:
        return validated_text(value, max_chars=settings.MESSAGE_LENGTH)


class ShowFrame(FrameOfClient):
    """Show the branch through `message`."""

    type: Literal["show"] = "show"
    message: MessageId


class StopFrame(FrameOfClient):
    """Stop the turn of `message`, or the running turn of the session that the client shows."""

    type: Literal["stop"] = "stop"
    message: MessageId | None = None


class TakeBackFrame(FrameOfClient):
    """Take the person's waiting message `client_id` out of the queue of a shared conversation."""

    type: Literal["take_back"] = "take_back"
    client_id: uuid.UUID


class WritingFrame(FrameOfClient):
    """Say that the person is writing in the shared conversation that the client shows."""

    type: Literal["writing"] = "writing"


class RetryFrame(FrameWithChoice):
    """Answer the same user message again, or continue the answer `message`."""

    type: Literal["retry", "continue"]
    message: MessageId


class PingFrame(FrameOfClient):
    """Ask for a `pong`."""

    type: Literal["ping"] = "ping"


# What chat/live/handle.py does for every transport; the others need a socket.
Action = SendFrame | EditFrame | ShowFrame | StopFrame | RetryFrame | TakeBackFrame
ClientFrame = OpenFrame | PingFrame | WritingFrame | Action
F = TypeVar("F", bound=FrameOfClient)

_client_frames: TypeAdapter[ClientFrame] = TypeAdapter(Annotated[ClientFrame, Field(discriminator="type")])

UNKNOWN_TYPE = "This frame has no known type."
# The sentence about an invalid field, in English, because only a faulty program sends one.
SENTENCES = {
    "client_id": "client_id must be a UUID.",
    "session": "session must be a UUID.",
    "message": "message must be the id of a message.",
    "last_seq": "last_seq must be a whole number.",
    "pasted": "pasted must be ranges [start, end] of text, in ascending order.",
    "mode": "mode must be agent, chat or temporary.",
    "agent": "agent and model must be names.",
    "model": "agent and model must be names.",
    "space": "space must be the id of a space.",
    "effort": "effort must be the name of a level.",
    "memory": "memory must be all, own, space or none.",
}


def decoded(text: str | None) -> dict[str, Any]:
    """Return the JSON object in `text`. Raise FrameError when it is no JSON object, or larger than FRAME_MAX_BYTES."""
    if text is None:
        raise FrameError("bad_frame", "Frames are JSON text.")
    size = len(text.encode(errors="surrogatepass"))
    if size > FRAME_MAX_BYTES:
        words = _("This is too large to send: it has %(size)s bytes, at most %(most)s are possible.")
        raise FrameError(
            "too_large", words % {"size": formatted_number(size), "most": formatted_number(FRAME_MAX_BYTES)}
        )
    try:
        fields = json.loads(text)
    except (ValueError, RecursionError):
        raise FrameError("bad_frame", "This frame is not JSON.") from None
    if not isinstance(fields, dict):
        raise FrameError("bad_frame", UNKNOWN_TYPE)
    return fields


def client_frame(fields: Mapping[str, Any]) -> ClientFrame:
    """Return the validated frame with these `fields`. Raise FrameError or InvalidTextError when one is invalid."""
    try:
        return _client_frames.validate_python(fields)
    except ValidationError as error:
        raise first_fault(error) from None


def frame_of(kind: type[F], **fields: object) -> F:
    """Return a frame of class `kind` with these `fields`. Raise FrameError or InvalidTextError when one is invalid."""
    try:
        return kind.model_validate(fields)
    except ValidationError as error:
        raise first_fault(error) from None


def first_fault(error: ValidationError) -> FrameError | InvalidTextError:
    """Return the first error of a frame as an error of the protocol."""
    fault = error.errors(include_url=False, include_input=False)[0]
    cause = fault.get("ctx", {}).get("error")
    if isinstance(cause, InvalidTextError):
        return cause
    field = str(fault["loc"][-1]) if fault["loc"] else ""
    return FrameError("bad_frame", SENTENCES.get(field, UNKNOWN_TYPE))
