"""Claude's export: messages in order (`chat_messages`), each of content blocks; newer ones name the one before them.

The format is documented nowhere; this follows the files that people have got, and passes over what it does not know.
"""

import json
from collections.abc import Mapping
from typing import Any

from chat.transfer.importing.conversation import (
    ID_MAX_CHARS,
    MEMORY_TOOLS,
    Conversation,
    Said,
    attached,
    branch,
    fenced,
    in_order,
    joined,
    listing,
    mapping,
    moment,
    newest,
    plain,
    shortened,
    spoken,
    words,
)

ROLES = {"human": "user", "user": "user", "assistant": "assistant"}


def conversation(value: Mapping[str, Any]) -> Conversation:
    """Return the conversation of `value`, one element of conversations.json."""
    listed = [each for each in value["chat_messages"] if isinstance(each, dict)]
    ids = [words(each.get("uuid")) or f"#{number}" for number, each in enumerate(listed)]
    named = any(words(each.get("parent_message_uuid")) in ids for each in listed)
    parents: dict[str, str | None] = {}
    for number, each in enumerate(listed):
        before = ids[number - 1] if number else None
        parents[ids[number]] = words(each.get("parent_message_uuid")) if named else before
    by_id = dict(zip(ids, listed, strict=True))
    messages: list[Said] = []
    indexes: dict[str, int | None] = {}
    left_out = 0
    for key in in_order(parents):
        parent = indexes.get(parents[key] or "")
        said, left = message(by_id[key])
        if said is None:
            indexes[key] = parent
            continue
        said.parent, indexes[key] = parent, len(messages)
        messages.append(said)
        left_out += left
    last = indexes.get(words(value.get("current_leaf_message_uuid")))
    return Conversation(
        origin=f"claude:{words(value.get('uuid'), ID_MAX_CHARS)}",
        title=words(value.get("name")),
        messages=messages,
        shown=branch(messages, newest(messages) if last is None else last),
        created_at=moment(value.get("created_at")),
        active_at=moment(value.get("updated_at")),
        left_out=left_out,
    )


def message(value: Mapping[str, Any]) -> tuple[Said | None, int]:
    """Return a message without its parent, and the number of files left out; None for an empty message."""
    role = ROLES.get(words(value.get("sender")))
    if role is None:
        return None, 0
    text = joined([block_of(mapping(block)) for block in listing(value.get("content"))]) or plain(value.get("text"))
    files, left_out = files_of(value)
    text = joined([*files, text])
    if not text.strip():
        return None, 0
    said = Said(
        role=role,
        parent=None,
        content=spoken(plain(text)),
        created_at=moment(value.get("created_at")),
        finished_at=moment(value.get("updated_at")),
    )
    return said, left_out


def block_of(block: Mapping[str, Any]) -> str:
    """Return a content block as Markdown; "" for thoughts and for hidden blocks."""
    kind, name = block.get("type"), words(block.get("name"), 60)
    if name in MEMORY_TOOLS:
        return ""
    if kind == "text":
        return plain(block.get("text"))
    if kind == "tool_use":
        return call_of(name, mapping(block.get("input")))
    if kind == "tool_result":
        texts = [plain(mapping(each).get("text")) for each in listing(block.get("content"))]
        return fenced(shortened("\n".join(text for text in texts if text)))
    return ""


def call_of(name: str, arguments: Mapping[str, Any]) -> str:
    """Return a tool call with its input as Markdown; for an artifact its content."""
    if name == "artifacts":
        title = words(arguments.get("title"))
        kind = words(arguments.get("type"))
        language = words(arguments.get("language")) or ("markdown" if "markdown" in kind else "")
        return joined([f"**{title}**" if title else "", fenced(arguments.get("content"), language)])
    shown = json.dumps(arguments, ensure_ascii=False, indent=2) if arguments else ""
    return joined([f"*{name}*" if name else "", fenced(shortened(shown), "json")])


def files_of(value: Mapping[str, Any]) -> tuple[list[str], int]:
    """Return the text or name of each attachment, and the number of files left out."""
    parts, left_out = [], 0
    for each in listing(value.get("attachments")):
        parts.append(joined([attached(mapping(each).get("file_name")), fenced(mapping(each).get("extracted_content"))]))
        left_out += not plain(mapping(each).get("extracted_content"))
    for each in listing(value.get("files")):
        parts.append(attached(mapping(each).get("file_name")))
        left_out += 1
    return parts, left_out
