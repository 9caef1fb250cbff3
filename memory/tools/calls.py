"""Which call of the model made a revision, and what it said."""

import hashlib
from typing import Any

from memory.models import MemoryRevision


def operation_key(message_id: int | None, call_id: str) -> str:
    """Return the idempotency key of a call: made again, it saves nothing twice."""
    return f"tool:{message_id}:{hashlib.sha256(call_id.encode()).hexdigest()[:32]}"


def call_of(revision: MemoryRevision) -> dict[str, Any] | None:
    """Return the API's tool_use block that made this revision, while its message is there; else None."""
    message = revision.message
    if message is None:
        return None
    keys = {operation_key(message.pk, use["id"]): use for use in message.tool_uses()}
    return keys.get(revision.operation_key or "")
