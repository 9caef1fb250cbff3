"""What memory gave to a conversation: it is known already, and never learnt again from there."""

import json
import re
from collections.abc import Iterator
from typing import Any

from chat.context import per_message
from chat.models import ChatSession, Message
from memory.models import MemoryDocument
from memory.policy.access import own_space
from memory.policy.same_words import stands_in

# How a quotation in the prompt names its file.
QUOTED = re.compile(r'^<(?:recalled|memory|file) (?:file|name)="([^"]+)"', re.MULTILINE)
# Tools whose results are memory.
READING = ("memory_search", "memory_get")


def text_given(session: ChatSession) -> str:
    """Every text that memory put into the conversation's prompt: at its start, beside messages and by its tools."""
    read = (str(value.get("snippet") or value.get("text") or "") for value in _results(session))
    return "\n".join([_told(session), *read])


def place_of(content: str, session: ChatSession) -> str | None:
    """The path at which `content` stands in the same words, among the documents of which the conversation was given
    something."""
    paths = {str(value["path"]) for value in _results(session) if "path" in value}
    told = _told(session)
    if stands_in(content, told):
        paths |= set(QUOTED.findall(told))
    documents = MemoryDocument.objects.present().filter(space=own_space(session), path__in=paths)
    return next((document.path for document in documents if stands_in(content, document.content)), None)


def _told(session: ChatSession) -> str:
    """What memory said by itself: at the start, and beside messages."""
    recalled = session.messages.filter(role=Message.Role.USER).values_list(f"meta__{per_message.KEY}", flat=True)
    return "\n".join([session.system_prompt or "", *filter(None, recalled)])


def _results(session: ChatSession) -> Iterator[dict[str, Any]]:
    """Each passage that memory's tools brought into the conversation."""
    reading: set[str] = set()
    rows = session.messages.exclude(role=Message.Role.USER).order_by("seq").values_list("content", flat=True)
    for block in (block for content in rows for block in content):
        if block["type"] == "tool_use" and block["name"] in READING:
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
