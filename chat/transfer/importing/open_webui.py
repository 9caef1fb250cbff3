"""Open WebUI's export: a tree of messages by id (`chat.history`) and the end of the branch that is shown (`currentId`).

The format is documented nowhere; this follows the files that people have got, and passes over what it does not know.
"""

import html
import json
import re
from collections.abc import Mapping
from typing import Any

from chat.transfer.importing.conversation import (
    ID_MAX_CHARS,
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

# Thoughts, calls of tools, and code that was run are folded parts in the text of an answer.
START_TAG, END_TAG = re.compile(r"<details\b([^<>]*)>"), "</details>"
ATTRIBUTE = re.compile(r'\b(\w+)="([^"]*)"')


def conversation(value: Mapping[str, Any]) -> Conversation:
    """Return the conversation of `value`, one element of the export."""
    chat = mapping(value["chat"])
    history = mapping(chat.get("history"))
    by_id = {key: each for key, each in mapping(history.get("messages")).items() if isinstance(each, dict)}
    parents: dict[str, str | None] = {key: words(each.get("parentId")) or None for key, each in by_id.items()}
    messages: list[Said] = []
    indexes: dict[str, int | None] = {}
    left_out = 0
    for key in in_order(parents):
        parent = indexes.get(parents[key] or "")
        said = message(by_id[key])
        if said is None:
            indexes[key] = parent
            continue
        said.parent, indexes[key] = parent, len(messages)
        messages.append(said)
        left_out += len(listing(by_id[key].get("files")))
    last = indexes.get(words(history.get("currentId")))
    return Conversation(
        origin=f"open-webui:{words(value.get('id'), ID_MAX_CHARS)}",
        title=words(value.get("title")) or words(chat.get("title")),
        messages=messages,
        shown=branch(messages, newest(messages) if last is None else last),
        created_at=moment(value.get("created_at")),
        active_at=moment(value.get("updated_at")),
        archived=value.get("archived") is True,
        pinned=value.get("pinned") is True,
        left_out=left_out,
    )


def message(value: Mapping[str, Any]) -> Said | None:
    """Return a message without its parent; None for one that is empty or of the system."""
    role = value.get("role")
    if role not in ("user", "assistant"):
        return None
    text = plain(value.get("content"))
    if role == "assistant":
        steps = [step(mapping(each)) for each in listing(value.get("output"))]
        text = joined(steps) or unfolded(text)
    text = joined([*(attached(mapping(file).get("name")) for file in listing(value.get("files"))), text])
    if not text.strip():
        return None
    return Said(
        role=role,
        parent=None,
        content=spoken(plain(text)),
        created_at=moment(value.get("timestamp")),
        status="interrupted" if value.get("done") is False else "complete",
        model=words(value.get("model"), 100) if role == "assistant" else "",
        rating=rating_of(mapping(value.get("annotation"))),
    )


def step(item: Mapping[str, Any]) -> str:
    """Return a part of a newer answer as Markdown; "" for thoughts."""
    kind = item.get("type")
    if kind == "message":
        return joined([plain(mapping(each).get("text")) for each in listing(item.get("content"))])
    if kind == "function_call":
        return call(words(item.get("name"), 60), plain(item.get("arguments")), "")
    if kind == "function_call_output":
        return fenced(shortened("\n".join(plain(mapping(each).get("text")) for each in listing(item.get("output")))))
    return ""


def unfolded(text: str) -> str:
    """Return the text of an older answer without thoughts, and with its other folded parts as plain Markdown."""
    parts, end = [], 0
    while start_tag := START_TAG.search(text, end):
        end_tag = text.find(END_TAG, start_tag.end())
        if end_tag < 0:
            break
        attributes = {name: html.unescape(value) for name, value in ATTRIBUTE.findall(start_tag[1])}
        parts += [text[end : start_tag.start()], folded(attributes, text[start_tag.end() : end_tag])]
        end = end_tag + len(END_TAG)
    return joined([each.strip("\n") for each in (*parts, text[end:])])


def folded(attributes: Mapping[str, str], inside: str) -> str:
    """Return a folded part as Markdown; "" for thoughts."""
    if attributes.get("type") == "reasoning":
        return ""
    if attributes.get("type") == "tool_calls":
        arguments, result = (unquoted(attributes.get(name)) for name in ("arguments", "result"))
        return call(attributes.get("name", ""), arguments, result)
    return inside.partition("</summary>")[2] or inside


def call(name: str, arguments: str, result: str) -> str:
    """Return a tool call as Markdown, like those of other programs."""
    return joined([f"*{name}*" if name else "", fenced(shortened(arguments), "json"), fenced(shortened(result))])


def unquoted(text: str | None) -> str:
    """Return the text that was packed into a string of JSON once more; anything else as it is."""
    try:
        value = json.loads(text or '""')
    except ValueError:
        return text or ""
    return value if isinstance(value, str) else text or ""


def rating_of(annotation: Mapping[str, Any]) -> tuple[bool, str] | None:
    """Return whether an answer was found good, and why; None when it was not rated."""
    rating = annotation.get("rating")
    if rating not in (1, -1, "1", "-1"):
        return None
    return int(rating) == 1, words(annotation.get("comment")) or words(annotation.get("reason"))
