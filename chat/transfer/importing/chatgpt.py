"""ChatGPT's export: a tree of nodes (`mapping`) and the end of the branch that is shown (`current_node`).

The format is documented nowhere; this follows the files that people have got. What it does not know is shown as it is,
or counted.
"""

import re
from collections import Counter
from collections.abc import Mapping
from typing import Any

from chat.transfer.importing.conversation import (
    ARCHIVED_KEYS,
    ID_MAX_CHARS,
    MEMORY_TOOLS,
    PICTURE,
    PINNED_KEYS,
    Conversation,
    Left,
    Said,
    attached,
    branch,
    fenced,
    in_order,
    is_set,
    joined,
    listing,
    mapping,
    moment,
    newest,
    plain,
    spoken,
    words,
)
from chat.transfer.importing.reasons import MAX_MESSAGES, NotImportableError

# Kinds of content between the program and its model, which are not shown to the person.
HIDDEN_KINDS = {"thoughts", "reasoning_recap", "user_editable_context", "model_editable_context"}
# Kinds of content that come from outside.
PAGE_KINDS = {"tether_quote", "tether_browsing_display", "sonic_webpage"}
# The tools that write documents, up to the first dot.
DOCUMENT_TOOL = "canmore"
# References to sources, in characters that no font has.
CITATION = re.compile("\ue200[^\ue200\ue201]*\ue201|[\ue200-\ue206]")
# Steps of answers and hidden messages are nodes as well.
MAX_NODES = 5 * MAX_MESSAGES
# The keys of messages that are read, or are no words.
MESSAGE_KEYS = ("id", "author", "create_time", "update_time", "content", "status", "recipient", "channel", "metadata")


def conversation(value: Mapping[str, Any]) -> Conversation:
    """Return the conversation of `value`, one element of conversations.json. Raise NotImportableError."""
    if len(value["mapping"]) > MAX_NODES:
        raise NotImportableError("too_many")
    nodes = {key: node for key, node in value["mapping"].items() if isinstance(node, dict)}
    parents = {key: node.get("parent") if isinstance(node.get("parent"), str) else None for key, node in nodes.items()}
    messages: list[Said] = []
    left = Left()
    left.others(value, ("mapping", "title"))
    model = words(value.get("default_model_slug"), 100)
    # The index in `messages` of each node, or of the nearest shown one before it.
    indexes: dict[str, int | None] = {}
    order = in_order(parents)
    sisters = Counter(parents.values())
    # Nodes that are the only continuation of the last shown message.
    alone: set[str] = set()
    hidden: set[str] = set()
    # The texts of answers in several steps, by index.
    steps: dict[int, list[str]] = {}
    for key in order:
        before_it = parents[key] or ""
        parent = indexes.get(before_it)
        said = message(mapping(nodes[key].get("message")), left, model)
        if sisters[parents[key]] == 1 and (before_it not in hidden or before_it in alone):
            alone.add(key)
        if said is None:
            indexes[key] = parent
            hidden.add(key)
            continue
        before = messages[parent] if parent is not None else None
        if before and before.role == said.role == "assistant" and key in alone and parent == len(messages) - 1:
            # One answer in several steps: calls of tools, what they brought, and words.
            steps.setdefault(parent, [before.text]).append(said.text)
            before.finished_at, before.status = said.finished_at, said.status
            before.model = before.model or said.model
            indexes[key] = parent
            continue
        said.parent, indexes[key] = parent, len(messages)
        messages.append(said)
    current = value.get("current_node")
    last = indexes.get(current) if isinstance(current, str) else None
    for index, texts in steps.items():
        messages[index].content = spoken(left.said(texts))
    identity = words(value.get("conversation_id"), ID_MAX_CHARS) or words(value.get("id"), ID_MAX_CHARS)
    return Conversation(
        origin=f"chatgpt:{identity}",
        title=words(value.get("title")),
        messages=messages,
        shown=branch(messages, newest(messages) if last is None else last),
        created_at=moment(value.get("create_time")),
        active_at=moment(value.get("update_time")),
        archived=is_set(value, ARCHIVED_KEYS),
        pinned=is_set(value, PINNED_KEYS),
        left_out=left.parts,
        hidden=left.hidden,
    )


def message(value: Mapping[str, Any], left: Left, default_model: str) -> Said | None:
    """Return a message without its parent; None for a hidden one, which is counted, and for an empty one."""
    author, about = mapping(value.get("author")), mapping(value.get("metadata"))
    role, recipient = author.get("role"), words(value.get("recipient")) or "all"
    content: Mapping[str, Any] = mapping(value.get("content")) or {"parts": [value.get("content")]}
    is_hidden = about.get("is_visually_hidden_from_conversation") or about.get("is_user_system_message")
    is_memory = not MEMORY_TOOLS.isdisjoint(name.partition(".")[0] for name in (recipient, words(author.get("name"))))
    if (
        role not in ("user", "assistant", "tool")
        or is_hidden
        or is_memory
        or content.get("content_type") in HIDDEN_KINDS
    ):
        left.others({"content": content}, ())
        return None
    text = text_of(content, role, recipient, left)
    left.others(value, MESSAGE_KEYS)
    unread = {key: content[key] for key in content if key != "parts" and (key != "text" or content.get("parts"))}
    left.others({"content": unread, "metadata": {**about, "attachments": None}}, (), text)
    if role == "user":
        files = [attached(mapping(file).get("name")) for file in listing(about.get("attachments"))]
        # Pictures are in the content as well.
        pictures = text.count(PICTURE)
        text = left.said([*files, text.replace(PICTURE, "").strip("\n") if files else text])
        left.parts += max(len(files) - pictures, 0)
    else:
        text = left.said([CITATION.sub("", text)])
    if not text.strip():
        return None
    at = moment(value.get("create_time"))
    return Said(
        role="user" if role == "user" else "assistant",
        parent=None,
        content=spoken(text),
        created_at=at,
        finished_at=moment(value.get("update_time")) or at,
        status="interrupted" if value.get("status") == "in_progress" else "complete",
        model=(words(about.get("model_slug"), 100) or default_model) if role == "assistant" else "",
    )


def text_of(content: Mapping[str, Any], role: str, recipient: str, left: Left) -> str:
    """Return the text of a message as Markdown. What a tool has brought is the text of outsiders."""
    kind, language = content.get("content_type"), words(content.get("language")).replace("unknown", "")
    parts = listing(content.get("parts"))
    if role == "assistant" and recipient != "all":
        # The input of a tool.
        code = plain(content.get("text")) or "\n".join(part for part in parts if isinstance(part, str))
        tool = recipient.partition(".")[0]
        found = left.document(code) if tool == DOCUMENT_TOOL else ""
        return found or fenced(code, language or tool) or joined([part_of(part, left) for part in parts])
    if kind == "code" and content.get("text"):
        return fenced(content.get("text"), language)
    if kind in ("execution_output", "system_error") and content.get("text"):
        return left.result(plain(content.get("text")))
    if role == "tool" or kind in PAGE_KINDS or content.get("url"):
        pictures = [part_of(part, left) for part in parts if is_media(part)]
        texts = [part for part in parts if not is_media(part)]
        return joined([*pictures, left.quoted({**content, "parts": texts})])
    if parts:
        return joined([part_of(part, left) for part in parts])
    return plain(content.get("text")) or left.unknown({key: content[key] for key in content if key != "parts"})


def is_media(part: object) -> bool:
    kind = words(mapping(part).get("content_type"))
    return any(word in kind for word in ("image", "audio", "video"))


def part_of(part: object, left: Left) -> str:
    """Return a part of a message as Markdown."""
    if isinstance(part, str):
        return plain(part)
    if mapping(part).get("content_type") == "audio_transcription" or not is_media(part):
        return left.unknown(part)
    left.parts += 1
    # A recording comes with its transcription.
    return PICTURE if "image" in words(mapping(part).get("content_type")) else ""
