"""The quiet line of memory under an answer, as it is stored and as it is shown."""

from collections.abc import Mapping
from typing import Any

from chat import extensions
from chat.answering import WITHOUT_MEMORY_KEY
from chat.extensions import MEMORY_NAME, AnswerLine, WordedLine
from chat.models import Message
from chat.rendering.cards import Card

# The key in Message.meta of the lines under an answer, by the name of their extension.
ANSWER_LINES_KEY = "answer_lines"
# Above so much text, the card that says what was saved is hardly on the screen together with the line: about a
# telephone's screen.
CARD_IN_VIEW_MAX_CHARS = 700


def answer_lines(message: Message, results: Mapping[str, Card]) -> list[WordedLine]:
    """Return the line that memory has under the answer, [] without one. `results` are cards of tool calls by id."""
    line = line_of(message.meta)
    # Without memory, what was stored with its question before was not sent.
    if not line or WITHOUT_MEMORY_KEY in message.meta:
        return []
    worded = extensions.memory().worded_line(
        line, message.pk, undone_of(line, results) if says_saves(message) else None
    )
    return [worded] if worded else []


def says_saves(message: Message) -> bool:
    """Return whether the line under an answer says what was saved: a card does, which long text moves away."""
    return len(message.text) > CARD_IN_VIEW_MAX_CHARS


def undone_of(line: AnswerLine, results: Mapping[str, Card]) -> set[int]:
    """Return what of the things that the answer saved cannot be undone any more, by the cards of its calls."""
    made = set(line.get("made", ()))
    cards = (card for card in results.values() if card.get("made") in made)
    return {int(card["made"] or 0) for card in cards if (since := card.get("since")) and not since["can_undo"]}


def line_of(meta: Mapping[str, Any]) -> AnswerLine:
    """Return the line that is stored in `meta`, a Message.meta; an empty one without."""
    found: AnswerLine | None = meta.get(ANSWER_LINES_KEY, {}).get(MEMORY_NAME)
    return found or {}


def quoted_address(message: Message) -> str:
    """Return the address of what the line under the answer quotes; "" when it is of the own memory, or nothing."""
    quote = line_of(message.meta).get("quote")
    return quote["path"] if quote else ""


def without_quote(meta: Mapping[str, Any]) -> dict[str, Any]:
    """Return `meta`, a Message.meta, with a line that quotes nothing."""
    line = {name: value for name, value in line_of(meta).items() if name != "quote"}
    return {**meta, ANSWER_LINES_KEY: {**meta.get(ANSWER_LINES_KEY, {}), MEMORY_NAME: line}}
