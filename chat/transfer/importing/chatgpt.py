"""ChatGPT's export: a tree of nodes (`mapping`) and the end of the branch that is shown (`current_node`).

The format is documented nowhere; this follows the files that people have got, and passes over what it does not know.
"""

import re
from collections import Counter
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
    spoken,
    words,
)
from chat.transfer.importing.reasons import MAX_MESSAGES, NotImportableError

# Kinds of content between the program and its model, which are not shown to the person.
HIDDEN_KINDS = {"thoughts", "reasoning_recap", "user_editable_context", "model_editable_context"}
# References to sources, in characters that no font has.
CITATION = re.compile("\ue200[^\ue200\ue201]*\ue201|[\ue200-\ue206]")
# Steps of answers and hidden messages are nodes as well.
MAX_NODES = 5 * MAX_MESSAGES
PICTURE = "*A picture was here.*"


def conversation(value: Mapping[str, Any]) -> Conversation:
    """Return the conversation of `value`, one element of conversations.json. Raise NotBrought when it is invalid."""
    if len(value["mapping"]) > MAX_NODES:
        raise NotImportableError("too_many")
    nodes = {key: node for key, node in value["mapping"].items() if isinstance(node, dict)}
    parents = {key: node.get("parent") if isinstance(node.get("parent"), str) else None for key, node in nodes.items()}
    messages: list[Said] = []
    left_out = 0
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
        said, left = message(mapping(nodes[key].get("message")))
        if sisters[parents[key]] == 1 and (before_it not in hidden or before_it in alone):
            alone.add(key)
        if said is None:
            indexes[key] = parent
            hidden.add(key)
            continue
        left_out += left
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
        messages[index].content = spoken(plain(joined(texts)))
    identity = words(value.get("conversation_id"), ID_MAX_CHARS) or words(value.get("id"), ID_MAX_CHARS)
    return Conversation(
        origin=f"chatgpt:{identity}",
        title=words(value.get("title")),
        messages=messages,
        shown=branch(messages, newest(messages) if last is None else last),
        created_at=moment(value.get("create_time")),
        active_at=moment(value.get("update_time")),
        archived=value.get("is_archived") is True,
        left_out=left_out,
    )


def message(value: Mapping[str, Any]) -> tuple[Said | None, int]:
    """Return a message without its parent, and the number of files left out; None for a hidden message."""
    author, about = mapping(value.get("author")), mapping(value.get("metadata"))
    role, recipient = author.get("role"), words(value.get("recipient")) or "all"
    content = mapping(value.get("content"))
    hidden = about.get("is_visually_hidden_from_conversation") or about.get("is_user_system_message")
    if role not in ("user", "assistant", "tool") or hidden or content.get("content_type") in HIDDEN_KINDS:
        return None, 0
    if recipient.partition(".")[0] in MEMORY_TOOLS or words(author.get("name")).partition(".")[0] in MEMORY_TOOLS:
        return None, 0
    text, left_out = text_of(content, recipient if role == "assistant" else "all")
    if role == "user":
        files = [attached(mapping(file).get("name")) for file in listing(about.get("attachments"))]
        # Pictures are in the content as well.
        text = joined([*files, plain(text.replace(PICTURE, "")) if files else text])
        left_out = max(left_out, len(files))
    else:
        text = CITATION.sub("", text)
    if not text.strip():
        return None, 0
    at = moment(value.get("create_time"))
    said = Said(
        role="user" if role == "user" else "assistant",
        parent=None,
        content=spoken(plain(text)),
        created_at=at,
        finished_at=moment(value.get("update_time")) or at,
        status="interrupted" if value.get("status") == "in_progress" else "complete",
        model=words(about.get("model_slug"), 100) if role == "assistant" else "",
    )
    return said, left_out


def text_of(content: Mapping[str, Any], recipient: str) -> tuple[str, int]:
    """Return the text of a message as Markdown, and the number of pictures and recordings left out."""
    kind = content.get("content_type")
    if recipient != "all":
        # The input of a tool.
        code = content.get("text") or "\n".join(part for part in listing(content.get("parts")) if isinstance(part, str))
        language = words(content.get("language"))
        return fenced(code, language if language not in ("", "unknown") else recipient.partition(".")[0]), 0
    if kind == "code":
        language = words(content.get("language"))
        return fenced(content.get("text"), "" if language == "unknown" else language), 0
    if kind in ("execution_output", "system_error"):
        return fenced(content.get("text")), 0
    if kind == "tether_quote":
        quoted = plain(content.get("text")).replace("\n", "\n> ")
        return joined([f"**{words(content.get('title'))}**" if words(content.get("title")) else "", f"> {quoted}"]), 0
    if isinstance(content.get("parts"), list):
        parts = [part_of(part) for part in content["parts"]]
        return joined([text for text, _ in parts]), sum(left for _, left in parts)
    return plain(content.get("text")), 0


def part_of(part: object) -> tuple[str, int]:
    if isinstance(part, str):
        return plain(part), 0
    kind = words(mapping(part).get("content_type"))
    if kind == "audio_transcription":
        return plain(mapping(part).get("text")), 0
    if "image" in kind:
        return PICTURE, 1
    # A recording comes with its transcription.
    return ("", 1) if "audio" in kind or "video" in kind else ("", 0)
