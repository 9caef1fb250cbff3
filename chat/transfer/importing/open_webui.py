"""Open WebUI's export: a tree of messages by id (`chat.history`) and the end of the branch that is shown (`currentId`),
or a list of messages, as many other programs write it.

The format is documented nowhere; this follows the files that people have got. What it does not know is shown as it is,
or counted.
"""

import html
from collections.abc import Mapping
from typing import Any

from chat.transfer.importing.conversation import (
    ARCHIVED_KEYS,
    ID_MAX_CHARS,
    PINNED_KEYS,
    Conversation,
    Left,
    Said,
    attached,
    branch,
    is_set,
    joined,
    listing,
    mapping,
    moment,
    newest,
    parsed,
    plain,
    spoken,
    threaded,
    words,
)
from chat.transfer.importing.folded import FoldedPart, parts_of

MESSAGE_KEYS = (
    "role",
    "content",
    "output",
    "files",
    "annotation",
    "id",
    "parentId",
    "childrenIds",
    "model",
    "modelName",
)
# What many programs call the sides.
ROLES = {"user": "user", "human": "user", "assistant": "assistant", "model": "assistant", "ai": "assistant"}


def conversation(value: Mapping[str, Any]) -> Conversation:
    """Return the conversation of `value`, one element of the export."""
    chat = mapping(value.get("chat")) or value
    history = mapping(chat.get("history"))
    by_id = {key: each for key, each in mapping(history.get("messages")).items() if isinstance(each, dict)}
    parents: dict[str, str | None] = {key: words(each.get("parentId")) or None for key, each in by_id.items()}
    before = None
    # The list has the shown branch once more, or is all there is.
    for each in (each for each in listing(chat.get("messages")) if isinstance(each, dict)):
        key = words(each.get("id")) or f"#{len(by_id)}"
        if key not in by_id:
            by_id[key], parents[key] = each, words(each.get("parentId")) or before
        before = key
    left = Left()
    left.others(value, ("chat", "title", "messages", "history"))
    left.others(chat if chat is not value else {}, ("title", "messages", "history"))
    models = listing(chat.get("models"))
    model = words(models[0], 100) if len(models) == 1 else ""
    messages, indexes = threaded(parents, lambda key: message(by_id[key], left, model))
    last = indexes.get(words(history.get("currentId")))
    identity = words(value.get("id"), ID_MAX_CHARS) or words(chat.get("id"), ID_MAX_CHARS)
    return Conversation(
        origin=f"open-webui:{identity}",
        title=words(value.get("title")) or words(chat.get("title")),
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
    """Return a message without its parent; None for one that is empty, and for one of the system, which is counted."""
    role = ROLES.get(words(value.get("role")).lower(), "")
    if value.get("role") == "tool":
        text = left.result(content_of(value.get("content"), left))
    elif not role:
        left.others(value, ())
        return None
    elif role == "user":
        text = content_of(value.get("content"), left)
    else:
        text = answer_of(value, left)
    files = listing(value.get("files"))
    left.parts += len(files)
    text = left.said([*(attached(mapping(file).get("name")) for file in files), text])
    left.others(value, MESSAGE_KEYS, text)
    if not text.strip():
        return None
    models = listing(value.get("models"))
    named = words(value.get("model"), 100) or (words(models[0], 100) if len(models) == 1 else model)
    return Said(
        role=role or "assistant",
        parent=None,
        content=spoken(text),
        created_at=moment(value.get("timestamp") or value.get("created_at")),
        status="interrupted" if value.get("done") is False else "complete",
        model="" if role == "user" else named,
        rating=rating_of(mapping(value.get("annotation"))),
    )


def content_of(content: object, left: Left) -> str:
    """Return what a message holds: a text, or parts of several kinds."""
    return plain(content) if isinstance(content, str) else joined([part_of(each, left) for each in listing(content)])


def part_of(part: object, left: Left) -> str:
    text = mapping(part).get("text")
    return plain(part) or plain(text if isinstance(text, str) else mapping(part).get("content")) or left.unknown(part)


def answer_of(value: Mapping[str, Any], left: Left) -> str:
    """Return the text of an answer: its parts in newer versions, or its text, in which folded parts are calls of tools
    and thoughts."""
    text = joined([shown_of(part, left).strip("\n") for part in parts_of(content_of(value.get("content"), left))])
    steps = joined([step(each, left) for each in listing(value.get("output"))])
    left.hidden += bool(steps) and bool(text.strip()) and "".join(text.split()) not in "".join(steps.split())
    failed = mapping(value.get("error")).get("content")
    return steps or text or plain(failed)


def step(item: object, left: Left) -> str:
    """Return a part of a newer answer as Markdown; "" for thoughts, which are counted."""
    about = mapping(item)
    kind = about.get("type")
    if kind == "message":
        return content_of(about.get("content"), left)
    if kind == "function_call":
        return left.call(words(about.get("name"), 60), about.get("arguments"))
    if kind == "function_call_output":
        return left.result(content_of(about.get("output"), left))
    if kind == "reasoning":
        left.hidden += 1
        return ""
    return left.unknown(item)


def shown_of(part: str | FoldedPart, left: Left) -> str:
    """Return a part of the text of an older answer as Markdown; "" for thoughts, which are counted."""
    if isinstance(part, str):
        return part
    attributes = {name: html.unescape(value) for name, value in part.attributes.items()}
    inside = part.inside.partition("</summary>")[2].strip("\n")
    if part.kind == "reasoning":
        left.hidden += 1
        return ""
    if part.kind == "tool_calls":
        arguments, result = parsed(attributes.get("arguments", "")), parsed(attributes.get("result", ""))
        shown = result if isinstance(result, str) and result else attributes.get("result") or html.unescape(inside)
        return left.call(attributes.get("name", ""), arguments, shown)
    output = parsed(attributes.get("output", ""))
    shown = output if isinstance(output, str) else attributes.get("output", "")
    return joined([inside, left.result(plain(shown))])


def rating_of(annotation: Mapping[str, Any]) -> tuple[bool, str] | None:
    """Return whether an answer was found good, and why; None when it was not rated."""
    rating = annotation.get("rating")
    if rating not in (1, -1, "1", "-1"):
        return None
    return int(rating) == 1, words(annotation.get("comment")) or words(annotation.get("reason"))
