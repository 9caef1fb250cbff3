"""The frames that the server sends: their types and constructors (docs/protocol.md)."""

import json
import uuid
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal, NotRequired, TypedDict

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from chat.conversations.pasted import Ranges
from chat.conversations.shared.queue import Waiting
from chat.models import Message
from chat.rendering.cards import Card
from chat.rendering.messages import card_html, messages_html
from chat.rendering.shown import Participant, ShownMessage
from oneclaw.llm import Block, ModelRequestError
from oneclaw.text import replace_unstorable


class ReadyFrame(TypedDict):
    type: Literal["ready"]
    session: str
    seq: int
    reset: bool


class AckFrame(TypedDict):
    type: Literal["ack"]
    client_id: str
    message: str
    seq: int
    duplicate: bool


class EndedFrame(TypedDict):
    type: Literal["ended"]
    client_id: str
    session: str
    reason: str
    # The conversation with which it goes on, if it is stored already.
    next: str | None


class CommandFrame(TypedDict):
    type: Literal["command"]
    client_id: str
    session: str
    command: str
    text: str


class MessageFrame(TypedDict):
    type: Literal["message"]
    seq: int
    id: str
    html: str


class BlockFrame(TypedDict):
    type: Literal["block"]
    message: str
    index: int
    revision: int
    html: str
    # The revision that `html` continues, and how much of that stays, in UTF-16 units; without them, `html` is all.
    base: NotRequired[int]
    keep: NotRequired[int]


class ToolFrame(TypedDict):
    type: Literal["tool"]
    message: str
    id: str
    name: str
    state: str
    html: str


class DoneFrame(TypedDict):
    type: Literal["done"]
    message: str
    status: str
    usage: dict[str, Any] | None
    final: bool


class NoticeFrame(TypedDict):
    type: Literal["notice"]
    kind: Literal["retrying", "waiting", "budget", "sessions", "rounds", "shared"]
    html: str


class ErrorFrame(TypedDict):
    type: Literal["error"]
    code: str
    text: str
    retry_after: float | None
    # Of the message that is refused.
    client_id: NotRequired[str]
    # The answer that failed.
    message: NotRequired[str]


class QueuedFrame(TypedDict):
    type: Literal["queued"]
    client_id: str
    session: str


class WaitingMessage(TypedDict):
    client_id: str
    person: str
    name: str
    initials: str
    text: str
    files: int
    pasted: Ranges


class QueueFrame(TypedDict):
    type: Literal["queue"]
    # The next one first.
    waiting: list[WaitingMessage]


class PresentPerson(TypedDict):
    person: str
    name: str
    initials: str
    writing: bool


class PresenceFrame(TypedDict):
    type: Literal["presence"]
    people: list[PresentPerson]


class PongFrame(TypedDict):
    type: Literal["pong"]


ServerFrame = (
    ReadyFrame
    | AckFrame
    | EndedFrame
    | CommandFrame
    | MessageFrame
    | BlockFrame
    | ToolFrame
    | DoneFrame
    | NoticeFrame
    | ErrorFrame
    | QueuedFrame
    | QueueFrame
    | PresenceFrame
    | PongFrame
)

PONG: PongFrame = {"type": "pong"}
SESSIONS_CHANGED: NoticeFrame = {"type": "notice", "kind": "sessions", "html": ""}
ROUNDS_CHANGED: NoticeFrame = {"type": "notice", "kind": "rounds", "html": ""}
# Who sees the conversation has changed.
SHARING_CHANGED: NoticeFrame = {"type": "notice", "kind": "shared", "html": ""}


ENCODER = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"))


def encode(frame: ServerFrame) -> str:
    """Return `frame` as compact JSON."""
    return ENCODER.encode(frame)


def ready_frame(session_id: uuid.UUID, seq: int, *, reset: bool) -> ReadyFrame:
    """Return the frame that a session is open; with `reset` the page must fetch its messages and open it again."""
    return {"type": "ready", "session": str(session_id), "seq": seq, "reset": reset}


def ack_frame(message: Message, *, duplicate: bool) -> AckFrame:
    return {
        "type": "ack",
        "client_id": str(message.client_id),
        "message": str(message.pk),
        "seq": message.seq,
        "duplicate": duplicate,
    }


def ended_frame(session_id: uuid.UUID, client_id: uuid.UUID, reason: str, follower_id: uuid.UUID | None) -> EndedFrame:
    """Return the frame that a command has ended the conversation, which goes on in `follower_id`, if that is known."""
    return {
        "type": "ended",
        "client_id": str(client_id),
        "session": str(session_id),
        "reason": reason,
        "next": str(follower_id) if follower_id else None,
    }


def command_frame(session_id: uuid.UUID, client_id: uuid.UUID, command: str, sentence: str) -> CommandFrame:
    """Return the frame that a command about what the model is sent was carried out; `sentence` says what it did."""
    return {
        "type": "command",
        "client_id": str(client_id),
        "session": str(session_id),
        "command": command,
        "text": sentence,
    }


def message_frame(shown: ShownMessage, cards: Mapping[str, Card]) -> MessageFrame:
    """Return the frame of a message; `cards` are those of its tool calls, by tool_use id."""
    message = shown.message
    return {"type": "message", "seq": message.seq, "id": str(message.pk), "html": messages_html([shown], cards)}


def tool_frame(answer: Message, use: Block, card: Card) -> ToolFrame:
    """Return the frame of the card of the tool_use block `use` of `answer`."""
    return {
        "type": "tool",
        "message": str(answer.pk),
        "id": use["id"],
        "name": use["name"],
        "state": card["state"],
        "html": card_html(use, card),
    }


def done_frame(message: Message, *, final: bool) -> DoneFrame:
    """Return the frame that an answer has ended; with `final` its whole turn."""
    return {
        "type": "done",
        "message": str(message.pk),
        "status": message.status,
        "usage": message.usage,
        "final": final,
    }


def retrying_frame(failure: ModelRequestError, seconds: float) -> NoticeFrame:
    """Return the notice that the request to the model is retried after `seconds`."""
    html = _("%(failure)s Retrying in %(seconds)d s.") % {
        "failure": failure.sentence,
        "seconds": max(1, round(seconds)),
    }
    return {"type": "notice", "kind": "retrying", "html": html}


def making_room_frame() -> NoticeFrame:
    """Return the notice that the answer waits for a summary of earlier messages."""
    return {"type": "notice", "kind": "retrying", "html": _("Summarising earlier messages …")}


def waiting_frame(is_waiting: bool) -> NoticeFrame:
    """Return the notice that an answer waits for others; without text, that it does not wait any more."""
    html = _("Many answers are being written. Yours begins as soon as one of them has ended.") if is_waiting else ""
    return {"type": "notice", "kind": "waiting", "html": html}


# Most of a budget is used: whose, and of which period.
BUDGET_WARNINGS = {
    ("person", "day"): gettext_lazy("%(percent)d %% of your budget for today is used."),
    ("person", "month"): gettext_lazy("%(percent)d %% of your budget for this month is used."),
    ("group", "day"): gettext_lazy("%(percent)d %% of your group’s budget for today is used."),
    ("group", "month"): gettext_lazy("%(percent)d %% of your group’s budget for this month is used."),
    ("all", "day"): gettext_lazy("%(percent)d %% of this server’s budget for today is used."),
    ("all", "month"): gettext_lazy("%(percent)d %% of this server’s budget for this month is used."),
}


def budget_frame(hint: Mapping[str, Any]) -> NoticeFrame:
    """Return the notice that most of a budget is used, from the hint that says so (chat/turns/admission.py)."""
    sentence = BUDGET_WARNINGS[hint["scope"], hint["period"]] % {"percent": hint["percent"]}
    return {"type": "notice", "kind": "budget", "html": str(sentence)}


def queued_frame(session_id: uuid.UUID, client_id: uuid.UUID) -> QueuedFrame:
    """Return the frame that a message waits for the running answer of a shared conversation."""
    return {"type": "queued", "client_id": str(client_id), "session": str(session_id)}


def queue_frame(waiting: Sequence[Waiting]) -> QueueFrame:
    """Return the frame with the messages that wait in a shared conversation."""
    return {
        "type": "queue",
        "waiting": [
            {
                "client_id": str(each.client_id),
                "person": str(each.author.id),
                "name": each.author.name,
                "initials": each.author.initials,
                "text": each.text,
                "files": each.files,
                "pasted": each.pasted,
            }
            for each in waiting
        ],
    }


def presence_frame(here: Iterable[tuple[Participant, bool]]) -> PresenceFrame:
    """Return the frame with the people who have a shared conversation open, each with whether they are writing."""
    return {
        "type": "presence",
        "people": [
            {"person": str(each.id), "name": each.name, "initials": each.initials, "writing": writing}
            for each, writing in here
        ],
    }


def failure_frame(answer: Message, failure: ModelRequestError) -> ErrorFrame:
    """Return the error frame of an answer that failed."""
    return {
        "type": "error",
        "code": failure.code,
        "text": failure.sentence,
        "retry_after": failure.retry_after,
        "message": str(answer.pk),
    }


def error_frame(code: str, sentence: str, client_id: object = None, retry_after: float | None = None) -> ErrorFrame:
    """Return the error frame for a refused client frame; `client_id` is that frame's, of any type."""
    frame: ErrorFrame = {"type": "error", "code": code, "text": sentence, "retry_after": retry_after}
    if isinstance(client_id, str):
        frame["client_id"] = replace_unstorable(client_id[:64])
    return frame
