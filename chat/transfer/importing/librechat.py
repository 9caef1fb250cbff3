"""LibreChat's export of one conversation: messages that name the one before them, or have their answers inside.

The format is documented nowhere; this follows the files that people have got. What it does not know is shown as it is,
or counted.
"""

import re
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
    plain,
    spoken,
    threaded,
    words,
)

RATINGS = {"thumbsUp": True, "thumbsDown": False}
MESSAGE_KEYS = ("children", "content", "files", "attachments", "feedback", "sender", "messageId", "parentMessageId")
# Thoughts that older versions wrote before an answer, up to the end when it was cut.
THOUGHTS = re.compile(r"\s*:::thinking\n.*?(?:\n:::(?:\n|\Z)|\Z)", re.DOTALL)


def conversation(value: Mapping[str, Any]) -> Conversation:
    """Return the conversation of `value`, the object in the file."""
    by_id: dict[str, Mapping[str, Any]] = {}
    parents: dict[str, str | None] = {}
    waiting: list[tuple[Mapping[str, Any], str | None]] = [(each, None) for each in listed(value)[::-1]]
    while waiting:
        each, above = waiting.pop()
        key = words(each.get("messageId"))
        key = key if key and key not in by_id else f"#{len(by_id)}"
        by_id[key] = each
        parents[key] = words(each.get("parentMessageId")) or above
        waiting += [(mapping(child), key) for child in listing(each.get("children"))[::-1]]
    left = Left()
    left.others(value, ("title", "messages", "messagesTree"))
    model = words(mapping(value.get("options")).get("model") or value.get("model"), 100)
    messages, _ = threaded(parents, lambda key: message(by_id[key], left, model))
    return Conversation(
        origin=f"librechat:{words(value.get('conversationId'), ID_MAX_CHARS)}",
        title=words(value.get("title")),
        messages=messages,
        shown=branch(messages, newest(messages)),
        created_at=moment(value.get("createdAt")),
        active_at=moment(value.get("updatedAt")),
        archived=is_set(value, ARCHIVED_KEYS),
        pinned=is_set(value, PINNED_KEYS),
        left_out=left.parts,
        hidden=left.hidden,
    )


def listed(value: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Return the messages of the file, of which those of a tree have `children`."""
    return [mapping(each) for each in listing(value.get("messagesTree")) or listing(value.get("messages"))]


def message(value: Mapping[str, Any], left: Left, model: str) -> Said | None:
    """Return a message without its parent; None for an empty one, and for one that only says that the model failed,
    which is counted."""
    if value.get("error") is True:
        left.others(value, ("children",))
        return None
    by_person = value.get("isCreatedByUser")
    is_person = by_person if isinstance(by_person, bool) else words(value.get("sender")).lower() in ("user", "you")
    content = value.get("content")
    parts = [part(each, left) for each in listing(content)]
    written = joined(parts) or plain(content) or plain(value.get("text"))
    thoughts = None if is_person else THOUGHTS.match(written)
    left.hidden += thoughts is not None
    text = written[thoughts.end() :] if thoughts else written
    text = left.said([*files_of(value, left), text])
    left.others(value, MESSAGE_KEYS if parts else (*MESSAGE_KEYS, "text"), text)
    if not text.strip():
        return None
    feedback = mapping(value.get("feedback"))
    is_good = RATINGS.get(words(feedback.get("rating")))
    return Said(
        role="user" if is_person else "assistant",
        parent=None,
        content=spoken(text),
        created_at=moment(value.get("createdAt")),
        finished_at=moment(value.get("updatedAt")),
        status="interrupted" if value.get("unfinished") is True else "complete",
        model="" if is_person else words(value.get("model"), 100) or model,
        rating=None if is_good is None else (is_good, words(feedback.get("text"))),
    )


def part(item: object, left: Left) -> str:
    """Return a part of a message as Markdown; "" for thoughts, which are counted."""
    about = mapping(item)
    kind = about.get("type")
    if kind == "think":
        left.others({"thoughts": item}, ())
        return ""
    if kind == "text":
        text = about.get("text")
        shown = plain(text if isinstance(text, str) else mapping(text).get("value")) or left.unknown(item)
        left.others(about, ("text",), shown)
        return shown
    if kind == "tool_call":
        call = mapping(about.get("tool_call"))
        left.others(call, ("args", "output", "name"))
        return left.call(words(call.get("name"), 60), call.get("args"), plain(call.get("output")))
    return left.unknown(item)


def files_of(value: Mapping[str, Any], left: Left) -> list[str]:
    """Return the Markdown in place of the files of a message, and count what is left out."""
    files = [mapping(file) for file in [*listing(value.get("files")), *listing(value.get("attachments"))]]
    named = [file for file in files if words(file.get("filename"))]
    left.parts += len(named)
    left.others({"others": [file for file in files if file not in named]}, ())
    return [attached(file["filename"]) for file in named]
