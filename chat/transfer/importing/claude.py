"""Claude's export: messages in order (`chat_messages`), each of content blocks; newer ones name the one before them.

The format is documented nowhere; this follows the files that people have got. What it does not know is shown as it is,
or counted.
"""

from collections.abc import Mapping
from typing import Any

from chat.transfer.importing.conversation import (
    ARCHIVED_KEYS,
    ID_MAX_CHARS,
    MEMORY_TOOLS,
    PINNED_KEYS,
    Conversation,
    Left,
    Said,
    attached,
    branch,
    fenced,
    is_set,
    joined,
    listing,
    mapping,
    moment,
    newest,
    plain,
    spoken,
    threaded,
    unique,
    words,
    words_of,
)

ROLES = {"human": "user", "user": "user", "assistant": "assistant"}
# Kinds of blocks that the program does not show as words.
HIDDEN_KINDS = {"thinking", "redacted_thinking", "token_budget"}
MESSAGE_KEYS = ("sender", "content", "attachments", "files", "files_v2")


def conversation(value: Mapping[str, Any]) -> Conversation:
    """Return the conversation of `value`, one element of conversations.json."""
    listed = [each for each in value["chat_messages"] if isinstance(each, dict)]
    ids = unique(words(each.get("uuid")) for each in listed)
    named = any(words(each.get("parent_message_uuid")) in ids for each in listed)
    parents: dict[str, str | None] = {}
    for number, each in enumerate(listed):
        before = ids[number - 1] if number else None
        parents[ids[number]] = words(each.get("parent_message_uuid")) if named else before
    by_id = dict(zip(ids, listed, strict=True))
    left = Left()
    left.others(value, ("name", "chat_messages"))
    model = words(value.get("model"), 100)
    messages, indexes = threaded(parents, lambda key: message(by_id[key], left, model))
    last = indexes.get(words(value.get("current_leaf_message_uuid")))
    return Conversation(
        origin=f"claude:{words(value.get('uuid'), ID_MAX_CHARS)}",
        title=words(value.get("name")),
        messages=messages,
        shown=branch(messages, newest(messages) if last is None else last),
        created_at=moment(value.get("created_at")),
        active_at=moment(value.get("updated_at")),
        archived=is_set(value, ARCHIVED_KEYS),
        pinned=is_set(value, PINNED_KEYS),
        left_out=left.parts,
        hidden=left.hidden,
    )


def message(value: Mapping[str, Any], left: Left, model: str) -> Said | None:
    """Return a message without its parent; None for an empty one, and for one of the system, which is counted."""
    role = ROLES.get(words(value.get("sender") or value.get("role")))
    if role is None:
        left.others(value, ())
        return None
    content = value.get("content")
    blocks = [block_of(block, left) for block in listing(content)] or [plain(content)]
    text = left.said([*files_of(value, left), joined(blocks) or plain(value.get("text"))])
    left.others(value, MESSAGE_KEYS, text)
    if not text.strip():
        return None
    return Said(
        role=role,
        parent=None,
        content=spoken(text),
        created_at=moment(value.get("created_at")),
        finished_at=moment(value.get("updated_at")),
        model=(words(value.get("model"), 100) or model) if role == "assistant" else "",
    )


def block_of(block: object, left: Left) -> str:
    """Return a content block as Markdown; "" for thoughts and for hidden blocks, which are counted."""
    about = mapping(block)
    kind, name = about.get("type"), words(about.get("name"), 60)
    if name in MEMORY_TOOLS or kind in HIDDEN_KINDS:
        left.others({"block": block}, ())
        return ""
    if kind == "text":
        left.others(about, ("text",))
        return plain(about.get("text"))
    if kind not in ("tool_use", "tool_result"):
        return left.unknown(block)
    if kind == "tool_result":
        shown = result_of(about.get("content"), left)
    else:
        document = left.document(about.get("input")) if name == "artifacts" else ""
        shown = document or left.call(name, about.get("input"))
    left.others(about, ("input", "content"), shown)
    return shown


def result_of(content: object, left: Left) -> str:
    """Return what a tool has brought as Markdown: pages as quotations, anything else as blocks of code."""
    if not isinstance(content, list):
        return left.result(joined([plain(content)] if isinstance(content, str) else words_of(content)))
    pages = [left.quoted(each) for each in content if mapping(each).get("url")]
    texts = [plain(mapping(each).get("text")) for each in content if not mapping(each).get("url")]
    others = [left.unknown(each) for each in content if not mapping(each).get("url") and not mapping(each).get("text")]
    return joined([left.result("\n".join(text for text in texts if text)), *others, *pages])


def files_of(value: Mapping[str, Any], left: Left) -> list[str]:
    """Return the text or name of each attachment; files without a text are counted."""
    parts = []
    for each in map(mapping, listing(value.get("attachments"))):
        text = fenced(each.get("extracted_content"))
        parts.append(joined([attached(each.get("file_name")), text]))
        left.parts += not text
    for each in listing(value.get("files")) or listing(value.get("files_v2")):
        parts.append(attached(mapping(each).get("file_name")))
        left.parts += 1
    return parts
