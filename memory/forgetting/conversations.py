"""What memory has left in conversations: recalled text beside messages, what its tools were told and told, prompts.

When a line is forgotten, it is blanked there. What people and the assistant said in their own words stays: it is the
person's conversation, and is deleted with it.
"""

import json
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any

from django.db.models import Q, QuerySet

from chat.context import per_message as beside
from chat.conversations.transcript import kept_html
from chat.models import ChatSession, Message, MessageQuerySet
from memory.policy.tombstones import BLANK, Known
from oneclaw.models import Space

TOOLS = ("save_memory", "memory_search", "memory_get")
# Where a prompt was shortened, so that a line may stand there in part (oneclaw/llm/quoting.py).
SHORTENED = "characters are left out here"
HEADING = re.compile(r' heading="[^"]*"')
# Characters that a text has at least before it is cut.
SHORTEST_CUT = 100
COLUMNS = ("id", "session_id", "seq", "role", "content", "meta", "text", "html_version")

# Whether a line is the beginning of a forgotten one, cut off.
IsCut = Callable[[str], bool]


@dataclass
class Traces:
    """What was found: conversations whose prompt holds it, messages with the columns that they are to have, and the
    conversations in which it was said."""

    prompts: set[Any] = field(default_factory=set)
    messages: dict[int, dict[str, Any]] = field(default_factory=dict)
    sessions: set[Any] = field(default_factory=set)
    said_in: set[Any] = field(default_factory=set)


def sessions_of(space: Space) -> QuerySet[ChatSession]:
    """The conversations that read the space, deleted ones included."""
    if space.kind == Space.Kind.OWN:
        return ChatSession.objects.filter(owner=space.owner)
    if space.kind == Space.Kind.AGENT:
        return ChatSession.objects.filter(owner=space.owner, agent__memories__space=space)
    return ChatSession.objects.filter(space=space)


def find(sessions: QuerySet[ChatSession], known: Known, is_cut: IsCut = lambda line: False) -> Traces:
    """Every trace of what is `known` in these conversations. Changes nothing."""
    found = Traces()
    with_prompt = sessions.exclude(Q(system_prompt=None) | Q(system_prompt=""))
    for pk, text in with_prompt.values_list("pk", "system_prompt").iterator(chunk_size=200):
        prompt = text or ""
        if SHORTENED in prompt or known.is_in_text(prompt):
            found.prompts.add(pk)
            found.sessions.add(pk)
    rows: MessageQuerySet = Message.objects.filter(session__in=sessions).settled()
    ordered = rows.order_by("session_id", "seq").only(*COLUMNS).iterator(chunk_size=500)
    for session_id, messages in groupby(ordered, key=lambda message: message.session_id):
        _find_in(session_id, messages, Eraser(known, is_cut), found)
    return found


def blank(traces: Traces) -> None:
    """Write what `find` found. The conversations' rows are locked."""
    # It is built anew, from what is remembered then, with the next message.
    ChatSession.objects.filter(pk__in=traces.prompts).update(system_prompt=None)
    for pk, columns in traces.messages.items():
        Message.objects.filter(pk=pk).update(**columns)


@dataclass(frozen=True)
class Eraser:
    """Takes what is known out of values of JSON."""

    known: Known
    is_cut: IsCut

    def text(self, text: str) -> str:
        lines = self.known.blanked(text).split("\n")
        if self._is_cut_in(text, lines[-1].rstrip("…")):
            lines[-1] = BLANK
        return "\n".join(lines)

    def beside(self, text: str) -> str:
        """Recalled passages between their tags, which stay."""
        lines = text.split("\n")
        for at, line in enumerate(lines):
            if line.startswith("<"):
                lines[at] = HEADING.sub("", line) if self.known.is_in(line) else line
            elif self.known.is_in(line) or (lines[at + 1 : at + 2] == ["</recalled>"] and self._is_cut_in(text, line)):
                lines[at] = BLANK
        return "\n".join(lines)

    def _is_cut_in(self, text: str, line: str) -> bool:
        return len(text) >= SHORTEST_CUT and self.is_cut(line)

    def value(self, value: Any) -> Any:
        """The same value with every text in it blanked."""
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, list):
            return [self.value(part) for part in value]
        if isinstance(value, dict):
            return {name: self.value(part) for name, part in value.items()}
        return value

    def result(self, content: Any) -> Any:
        """What a tool told: JSON in a text."""
        try:
            told = json.loads(content) if isinstance(content, str) else None
        except ValueError:
            told = None
        if told is None:
            return self.value(content)
        kept = self.value(told)
        return content if kept == told else json.dumps(kept, ensure_ascii=False)


def _find_in(session_id: Any, messages: Iterable[Message], eraser: Eraser, found: Traces) -> None:
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
    """The columns of a message that change; it has them already."""
    columns: dict[str, Any] = {}
    if recalled := message.meta.get(beside.KEY):
        kept = eraser.beside(recalled)
        if kept != recalled:
            message.meta = columns["meta"] = {**message.meta, beside.KEY: kept}
    for use in _uses(message):
        told = eraser.value(use["input"])
        if told != use["input"]:
            use["input"] = told
            columns["content"] = message.content
    cards = dict(message.meta.get("cards", {}))
    for block in _results(message):
        if block["tool_use_id"] not in calls:
            continue
        told, card = eraser.result(block.get("content")), cards.get(block["tool_use_id"], {})
        lines = eraser.value(card.get("lines", []))
        if told != block.get("content") or lines != card.get("lines", []):
            block["content"] = told
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
