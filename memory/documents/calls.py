"""Relate tool calls of the model to the revisions and suggestions that they made."""

import hashlib
from dataclasses import dataclass
from typing import Any, Literal

from chat.models import Message
from memory.models import MemoryRevision


@dataclass(frozen=True)
class Made:
    """Name what a call of save_memory has made: a revision, or a suggestion that waits for a yes."""

    kind: Literal["revision", "suggestion"]
    pk: int

    @classmethod
    def of_card(cls, number: int) -> "Made":
        """Return what the card with `number` says was made: on stored cards, the number of a suggestion is negative."""
        return cls("revision", number) if number > 0 else cls("suggestion", -number)

    @property
    def on_card(self) -> int:
        """Return the number that the card of the call stores (`ToolResult.made`)."""
        return self.pk if self.kind == "revision" else -self.pk


def operation_key(message_id: int | None, call_id: str) -> str:
    """Return the idempotency key of the tool call `call_id` in the message `message_id`."""
    return f"tool:{message_id}:{hashlib.sha256(call_id.encode()).hexdigest()[:32]}"


def call_of(revision: MemoryRevision) -> dict[str, Any] | None:
    """Return the tool_use block of the model's API that made `revision`; None when there is none or its message is
    deleted."""
    message = revision.message
    if message is None:
        return None
    keys = {operation_key(message.pk, use["id"]): use for use in message.tool_uses()}
    return keys.get(revision.operation_key or "")


def use_that_made(answer: Message, made: Made) -> str | None:
    """Return the tool_use id of the call of `answer` that made `made`; None without one."""
    for meta in Message.objects.filter(parent=answer, role=Message.Role.TOOL).values_list("meta", flat=True):
        for id, card in meta.get("cards", {}).items():
            if card.get("made") == made.on_card:
                return str(id)
    return None
