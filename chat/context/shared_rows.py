"""What the model is sent of the messages of a shared conversation: who wrote each, and nothing of anybody's memory."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from html import escape
from typing import Any

from chat import extensions
from chat.context import per_message
from chat.context.view import META_KEY, ViewRow, is_thinking
from chat.conversations.shared.authorship import FROM_KEY
from chat.models import ChatSession
from oneclaw.llm import Block
from oneclaw.llm.citations import uncited
from oneclaw.llm.quoting import quoted

# The tag around the text of a message, and how much of a name the model is told.
TAG = "message"
NAME_MAX_CHARS = 80


def as_sent(session: ChatSession, rows: Sequence[ViewRow]) -> list[ViewRow]:
    """Return `rows` of `session` as the model is sent them."""
    sent = [with_author(row) if FROM_KEY in row.meta else row for row in rows]
    return without_memory(sent, session.shared_seq) if session.is_shared else sent


def with_author(row: ViewRow) -> ViewRow:
    """Return a member's message with its text between tags that name who wrote it.

    The text within the tags cannot close them, and the name cannot leave its attribute. The model distinguishes people
    by the number, because a name can be anything.
    """
    who = row.meta[FROM_KEY]
    marks = {"number": str(int(who["number"])), "name": attribute(who["name"])}
    content = [
        {**block, "text": quoted(TAG, block["text"], **marks)} if block["type"] == "text" else block
        for block in row.content
    ]
    return replace(row, content=content)  # type: ignore[arg-type]


def attribute(name: str) -> str:
    """Return `name` as the value of an attribute: in one line, without the signs that could end it."""
    return escape(" ".join(name.split())[:NAME_MAX_CHARS])


def without_memory(rows: Sequence[ViewRow], through_seq: int) -> list[ViewRow]:
    """Return `rows` without what came from the owner's memory into those up to `through_seq`, before it was shared."""
    names = {block["id"]: block["name"] for row in rows for block in row.content if block["type"] == "tool_use"}
    return [cleaned(row, names) if row.seq <= through_seq else row for row in rows]


def cleaned(row: ViewRow, names: Mapping[str, str]) -> ViewRow:
    """Return `row` without thoughts, personal tool calls with their results (`names` by id), and context."""
    sent = {name: value for name, value in row.meta.get(META_KEY, {}).items() if name not in ("notes", "prefix")}
    dropped = {per_message.META_KEY, per_message.HOOK_TEXT_KEY, META_KEY}
    meta = {name: value for name, value in row.meta.items() if name not in dropped} | {META_KEY: sent}
    return replace(row, content=without_calls(row.content, names), meta=meta)


def without_calls(content: Iterable[Block], names: Mapping[str, str]) -> list[Block]:
    """Return the blocks that others may read: no thoughts, only calls of tools that read nothing personal, and nothing
    that a text cites."""
    return [uncited(block) for block in content if not is_thinking(block) and is_for_others(block, names)]


def is_for_others(block: Mapping[str, Any], names: Mapping[str, str]) -> bool:
    """Return whether others may read a block: any but a call of a personal tool, and its result."""
    match block["type"]:
        case "tool_use":
            return extensions.tool_named(block["name"]).is_for_others
        case "tool_result":
            return extensions.tool_named(names.get(block["tool_use_id"], "")).is_for_others
    return True
