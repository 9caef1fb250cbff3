"""Relate tool calls of the model to the revisions that they made."""

import hashlib
from typing import Any

from chat.models import Message
from memory.models import MemoryRevision


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


def use_that_made(answer: Message, made: int) -> str | None:
    """Return the tool_use id of the call of `answer` whose card has the number `made`; None without one."""
    for meta in Message.objects.filter(parent=answer, role=Message.Role.TOOL).values_list("meta", flat=True):
        for id, card in meta.get("cards", {}).items():
            if card.get("made") == made:
                return str(id)
    return None
