"""Find the text that memory has sent to the model in a conversation, so that it is not noted again."""

import json
from collections.abc import Iterator
from typing import Any

from chat.context import per_message
from chat.extensions import ContextItem
from chat.models import ChatSession, Message
from memory.prompt.items import NAME, REMOVED

# Tools whose results are text from memory.
READING_TOOLS = ("memory_search", "memory_get")


def text_sent(session: ChatSession) -> str:
    """Return all text from memory that the model was sent: in the system prompt, with messages, and by tools."""
    read = (str(value.get("snippet") or value.get("text") or "") for value in _results(session))
    items = (item["text"] for item in _items(session) if item["kind"] != REMOVED)
    return "\n".join([*items, *read])


def _items(session: ChatSession) -> list[ContextItem]:
    """Return the pieces of documents in the system prompt and with messages."""
    metas = session.messages.filter(role=Message.Role.USER).values_list("meta", flat=True)
    with_messages = [item for meta in metas for item in per_message.items_of(meta, NAME)]
    return [*session.context.get(NAME, []), *with_messages]


def _results(session: ChatSession) -> Iterator[dict[str, Any]]:
    """Yield each passage in the results of memory's tools in the conversation."""
    reading: set[str] = set()
    rows = session.messages.exclude(role=Message.Role.USER).order_by("seq").values_list("content", flat=True)
    for block in (block for content in rows for block in content):
        if block["type"] == "tool_use" and block["name"] in READING_TOOLS:
            reading.add(block["id"])
        elif block["type"] == "tool_result" and block.get("tool_use_id") in reading:
            yield from _passages(block.get("content"))


def _passages(content: object) -> Iterator[dict[str, Any]]:
    try:
        value = json.loads(content) if isinstance(content, str) else None
    except ValueError:
        return
    if isinstance(value, dict):
        found = value.get("results", [value])
        yield from (passage for passage in found if isinstance(passage, dict))
