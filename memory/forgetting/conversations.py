"""What memory has left in conversations: what was recalled for messages, calls and results of its tools, prompts.

When a line is forgotten, it is blanked there. What people and the assistant said in their own words stays: it is the
person's conversation, and is deleted with it.
"""

import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any

from django.db.models import QuerySet

from chat.context import per_message
from chat.conversations.transcript import kept_html
from chat.extensions import ContextItem
from chat.models import ChatSession, Message, MessageQuerySet
from memory.policy.tombstones import BLANK, Known
from memory.prompt.items import NAME, blanked
from oneclaw.models import Space

TOOLS = ("save_memory", "memory_search", "memory_get")
# Characters that a text in a tool's result has at least before it is cut.
CUT_TEXT_MIN_CHARS = 100
COLUMNS = ("id", "session_id", "seq", "role", "content", "meta", "text", "html_version")

# Whether a line is the beginning of a forgotten one.
IsBeginning = Callable[[str], bool]


@dataclass
class Matches:
    """What was found: conversations whose system prompt holds it, messages with the columns that they are to have, and
    the conversations in which it was said."""

    prompts: set[Any] = field(default_factory=set)
    messages: dict[int, dict[str, Any]] = field(default_factory=dict)
    sessions: set[Any] = field(default_factory=set)
    said_in: set[Any] = field(default_factory=set)


def sessions_of(space: Space) -> QuerySet[ChatSession]:
    """Return the conversations that read the space, deleted ones included."""
    if space.kind == Space.Kind.OWN:
        return ChatSession.objects.filter(owner=space.owner)
    if space.kind == Space.Kind.AGENT:
        return ChatSession.objects.filter(owner=space.owner, agent__memories__space=space)
    return ChatSession.objects.filter(space=space)


def find(sessions: QuerySet[ChatSession], known: Known, is_beginning: IsBeginning = lambda line: False) -> Matches:
    """Return where what is `known` stands in these conversations. Changes nothing."""
    found = Matches()
    eraser = Eraser(known, is_beginning)
    with_items = sessions.filter(system_context__has_key=NAME).values_list("pk", "system_context")
    for pk, context in with_items.iterator(chunk_size=200):
        if any(eraser.is_in_prompt(item) for item in context[NAME]):
            found.prompts.add(pk)
            found.sessions.add(pk)
    rows: MessageQuerySet = Message.objects.filter(session__in=sessions).settled()
    ordered = rows.order_by("session_id", "seq").only(*COLUMNS).iterator(chunk_size=500)
    for session_id, messages in groupby(ordered, key=lambda message: message.session_id):
        _find_in(session_id, messages, eraser, found)
    return found


def blank(matches: Matches) -> None:
    """Write what `find` found. The conversations' rows are locked."""
    # The prompt is built anew, from what is remembered then, with the next message.
    ChatSession.objects.filter(pk__in=matches.prompts).update(system_prompt=None, system_context={})
    for pk, columns in matches.messages.items():
        Message.objects.filter(pk=pk).update(**columns)


@dataclass(frozen=True)
class Eraser:
    """Takes what is known out of pieces of documents and out of values of JSON."""

    known: Known
    is_beginning: IsBeginning

    def is_in_prompt(self, item: ContextItem) -> bool:
        """Return whether a piece in a system prompt holds it, or may hold a part of it."""
        return item.get("cut", False) or self.item(item) is not item

    def item(self, item: ContextItem) -> ContextItem:
        """Return the piece with a mark in place of what is known; the piece itself when it holds nothing of it."""
        return blanked(item, self.known.is_in, self.is_beginning)

    def text(self, text: str) -> str:
        """Return the text with a mark in place of each line that is known, or that is cut and begins like one."""
        lines = self.known.blanked(text).split("\n")
        if len(text) >= CUT_TEXT_MIN_CHARS and self.is_beginning(lines[-1].rstrip("…")):
            lines[-1] = BLANK
        return "\n".join(lines)

    def value(self, value: Any) -> Any:
        """Return the value with every text in it blanked."""
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, list):
            return [self.value(part) for part in value]
        if isinstance(value, dict):
            return {name: self.value(part) for name, part in value.items()}
        return value

    def result(self, content: Any) -> Any:
        """Return the content of a tool's result, which is JSON in a text, with every text in it blanked."""
        try:
            value = json.loads(content) if isinstance(content, str) else None
        except ValueError:
            value = None
        if value is None:
            return self.value(content)
        kept = self.value(value)
        return content if kept == value else json.dumps(kept, ensure_ascii=False)


def _find_in(session_id: Any, messages: Iterable[Message], eraser: Eraser, found: Matches) -> None:
    calls: dict[str, Message] = {}
    shown: dict[int, Message] = {}
    cards: dict[str, Any] = {}
    for message in messages:
        if message.role != Message.Role.TOOL and eraser.known.unsaid(message.text) != message.text:
            found.said_in.add(session_id)
        columns = _columns(message, calls, eraser)
        cards |= message.meta.get("cards", {})
        calls |= {use["id"]: message for use in _uses(message)}
        if columns:
            found.messages[message.pk] = columns
            found.sessions.add(session_id)
            answers = [calls[block["tool_use_id"]] for block in _results(message) if block["tool_use_id"] in calls]
            shown |= {answer.pk: answer for answer in answers or [message] if answer.role == Message.Role.ASSISTANT}
    for answer in shown.values():
        if answer.html_version:
            found.messages.setdefault(answer.pk, {}).update(kept_html(answer.content, cards))


def _columns(message: Message, calls: dict[str, Message], eraser: Eraser) -> dict[str, Any]:
    """Return the columns of a message that change; the message has them already."""
    columns: dict[str, Any] = {}
    items = per_message.items_of(message.meta, NAME)
    fresh_items = [eraser.item(item) for item in items]
    if fresh_items != items:
        message.meta = columns["meta"] = per_message.with_items(message.meta, NAME, fresh_items)
    for use in _uses(message):
        arguments = eraser.value(use["input"])
        if arguments != use["input"]:
            use["input"] = arguments
            columns["content"] = message.content
    cards = dict(message.meta.get("cards", {}))
    for block in _results(message):
        if block["tool_use_id"] not in calls:
            continue
        result, card = eraser.result(block.get("content")), cards.get(block["tool_use_id"], {})
        lines = eraser.value(card.get("lines", []))
        if result != block.get("content") or lines != card.get("lines", []):
            block["content"] = result
            columns["content"] = message.content
            # A line of a card may be cut anywhere.
            fresh = {"lines": [BLANK] if lines else [], "undo": "", "result": BLANK if card.get("result") else ""}
            cards[block["tool_use_id"]] = {**card, **fresh}
            message.meta = columns["meta"] = {**message.meta, "cards": cards}
    return columns


def _uses(message: Message) -> Iterator[dict[str, Any]]:
    return (block for block in message.content if block["type"] == "tool_use" and block["name"] in TOOLS)


def _results(message: Message) -> Iterator[dict[str, Any]]:
    return (block for block in message.content if block["type"] == "tool_result" and "tool_use_id" in block)
