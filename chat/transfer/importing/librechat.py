"""LibreChat's export of one conversation: messages that name the one before them, or have their answers inside.

The format is documented nowhere; this follows the files that people have got, and passes over what it does not know.
"""

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

RATINGS = {"thumbsUp": True, "thumbsDown": False}


def conversation(value: Mapping[str, Any]) -> Conversation:
    """Return the conversation of `value`, the object in the file."""
    by_id: dict[str, Mapping[str, Any]] = {}
    parents: dict[str, str | None] = {}
    waiting: list[tuple[Mapping[str, Any], str | None]] = [(each, None) for each in listed(value)[::-1]]
    while waiting:
        each, above = waiting.pop()
        key = words(each.get("messageId")) or f"#{len(by_id)}"
        by_id[key] = each
        parents[key] = words(each.get("parentMessageId")) or above
        waiting += [(mapping(child), key) for child in listing(each.get("children"))[::-1]]
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
        left_out += len(files_of(by_id[key]))
    return Conversation(
        origin=f"librechat:{words(value.get('conversationId'), ID_MAX_CHARS)}",
        title=words(value.get("title")),
        messages=messages,
        shown=branch(messages, newest(messages)),
        left_out=left_out,
    )


def listed(value: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Return the messages of the file, of which those of a tree have `children`."""
    return [mapping(each) for each in listing(value.get("messagesTree")) or listing(value.get("messages"))]


def message(value: Mapping[str, Any]) -> Said | None:
    """Return a message without its parent; None for an empty one, and for one that only says that the model failed."""
    if value.get("error") is True:
        return None
    text = joined([part(mapping(each)) for each in listing(value.get("content"))]) or plain(value.get("text"))
    text = joined([*map(attached, files_of(value)), text])
    if not text.strip():
        return None
    is_person = value.get("isCreatedByUser") is True
    feedback = mapping(value.get("feedback"))
    is_good = RATINGS.get(words(feedback.get("rating")))
    return Said(
        role="user" if is_person else "assistant",
        parent=None,
        content=spoken(plain(text)),
        created_at=moment(value.get("createdAt")),
        finished_at=moment(value.get("updatedAt")),
        status="interrupted" if value.get("unfinished") is True else "complete",
        model="" if is_person else words(value.get("model"), 100),
        rating=None if is_good is None else (is_good, words(feedback.get("text"))),
    )


def part(item: Mapping[str, Any]) -> str:
    """Return a part of a message as Markdown; "" for thoughts."""
    kind = item.get("type")
    if kind == "text":
        text = item.get("text")
        return plain(text if isinstance(text, str) else mapping(text).get("value"))
    if kind == "tool_call":
        call = mapping(item.get("tool_call"))
        name = words(call.get("name"), 60)
        arguments, output = plain(call.get("args")), plain(call.get("output"))
        return joined([f"*{name}*" if name else "", fenced(shortened(arguments), "json"), fenced(shortened(output))])
    return ""


def files_of(value: Mapping[str, Any]) -> list[object]:
    """Return the names of the files of a message."""
    files = [*listing(value.get("files")), *listing(value.get("attachments"))]
    return [mapping(file).get("filename") for file in files if mapping(file).get("filename")]
