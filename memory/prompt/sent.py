"""Find the text that memory has sent to the model in a conversation, and the summaries that replace its messages, so
that they are not noted again."""

import json
from collections.abc import Iterator
from typing import Any

from django.db.models import QuerySet

from chat.context import per_message
from chat.extensions import ContextItem
from chat.models import ChatSession, ContextRound, Message
from memory.prompt.items import NAME, REMOVED, SPACE_REMOVED

# Tools whose results are passages of memory as JSON, and the one whose results are text.
READING_TOOLS = ("memory_search", "memory_get")
SKILL_TOOL = "skill_read"
# Tools whose results are passages of the files of libraries.
LIBRARY_TOOLS = ("documents_search", "documents_get")


def text_sent(session: ChatSession, noted_seq: int | None = None) -> str:
    """Return all text that the model was sent from memory (in the system prompt, with messages, and by tools) and in
    summaries.

    With `noted_seq`, messages after it are still to be noted: the words of a summary of any of them are left out, and
    those of the conversation itself that a search brought back, because the notes of these messages may have them too.
    """
    rounds = list(_used_summaries(session))
    noted = [used for used in rounds if noted_seq is None or used.through.seq <= noted_seq]
    summaries = (text for used in noted for text in texts_of_summary(used))
    own = None if len(noted) == len(rounds) else session.get_absolute_url()
    items = (
        item["text"] for item in _items(session) if item["path"] != own and item["kind"] not in (REMOVED, SPACE_REMOVED)
    )
    results = (value for value in _results(session) if value.get("path") != own)
    read = (str(value.get("snippet") or value.get("text") or "") for value in results)
    return "\n".join([*items, *read, *summaries])


def _used_summaries(session: ChatSession) -> QuerySet[ContextRound]:
    """Return the summaries that a request was made with, also those that were replaced or undone since."""
    found: QuerySet[ContextRound] = session.context_rounds.summaries().exclude(used_at=None)
    return found.select_related("through")


def texts_of_summary(used: ContextRound) -> Iterator[str]:
    """Yield each text of a summary: its own, that of the signed block, and its supplement."""
    for value in (used.summary, used.supplement, (used.block or {}).get("content")):
        yield from strings_of(value)


def strings_of(value: Any) -> Iterator[str]:
    """Yield every string in a JSON value, without the types of blocks."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for name, part in value.items():
            if name != "type":
                yield from strings_of(part)
    elif isinstance(value, list):
        for part in value:
            yield from strings_of(part)


def _items(session: ChatSession) -> list[ContextItem]:
    """Return the pieces of documents in the system prompt and with messages."""
    metas = session.messages.filter(role=Message.Role.USER).values_list("meta", flat=True)
    with_messages = [item for meta in metas for item in per_message.items_of(meta, NAME)]
    return [*session.context.get(NAME, []), *with_messages]


def _results(session: ChatSession) -> Iterator[dict[str, Any]]:
    """Yield each passage in the results of memory's tools in the conversation."""
    reading: set[str] = set()
    reading_skills: set[str] = set()
    rows = session.messages.exclude(role=Message.Role.USER).order_by("seq").values_list("content", flat=True)
    for block in (block for content in rows for block in content):
        if block["type"] == "tool_use" and block["name"] in READING_TOOLS:
            reading.add(block["id"])
        elif block["type"] == "tool_result" and block.get("tool_use_id") in reading:
            yield from passages_of(block.get("content"))
        elif block["type"] == "tool_use" and block["name"] == SKILL_TOOL:
            reading_skills.add(block["id"])
        elif block["type"] == "tool_result" and block.get("tool_use_id") in reading_skills:
            yield {"text": block.get("content")}


def passages_of(content: object) -> Iterator[dict[str, Any]]:
    """Yield each passage in the result of a tool of memory."""
    try:
        value = json.loads(content) if isinstance(content, str) else None
    except ValueError:
        return
    if isinstance(value, dict):
        found = value.get("results", [value])
        yield from (passage for passage in found if isinstance(passage, dict))
