"""The quiet line of memory under an answer: what it says is found when the answer ends, and stored with it."""

import logging
from collections.abc import Mapping, Sequence
from typing import Any

from chat import extensions
from chat.context import per_message
from chat.extensions import MEMORY_NAME, ContextItem, FinishedAnswer, FinishedCall
from chat.models import ChatSession, Message
from chat.rendering.answer_lines import ANSWER_LINES_KEY
from chat.rendering.citations import SOURCES_KEY

logger = logging.getLogger(__name__)

# The rows before an answer among which its question is.
READ_MAX_ROWS = 200


def line_meta(
    session: ChatSession,
    prompt: Message,
    prompt_items: Mapping[str, Sequence[ContextItem]],
    calls: Sequence[FinishedCall],
    text: str,
    cited: frozenset[str],
) -> dict[str, Any]:
    """Return what the Message.meta of an answer of `session` gets for its line. An error of memory is logged.

    `prompt` is the person's message, `prompt_items` are the items in the system text by the name of their extension,
    `calls` the tool calls of the answer, `text` all that it says, and `cited` the marks in it.
    """
    items = per_message.items_of(prompt.meta, MEMORY_NAME)
    ended = FinishedAnswer(prompt.text, text, prompt_items.get(MEMORY_NAME, []), items, calls, cited)
    try:
        line = extensions.memory().answer_line(ended, session)
    except Exception:
        # A bug in the line must not keep an answer from being stored.
        logger.exception("The line of memory under an answer could not be made.")
        return {}
    return {ANSWER_LINES_KEY: {MEMORY_NAME: dict(line)}} if line else {}


def finished_answer(message: Message) -> FinishedAnswer | None:
    """Return the answer that ends with `message`, with what memory gave to the model for it; None when its question is
    gone. Sync."""
    rows = message.session.messages.filter(seq__lte=message.seq).order_by("-seq")[:READ_MAX_ROWS]
    by_id = {row.pk: row for row in rows}
    parts: list[Message] = []
    at: Message | None = message
    while at is not None and at.role != Message.Role.USER:
        parts.insert(0, at)
        at = by_id.get(at.parent_id or 0)
    if at is None:
        return None
    text = "\n\n".join(part.text for part in parts if part.role == Message.Role.ASSISTANT)
    items = message.session.context.get(MEMORY_NAME, [])
    # Of what an answer may cite, its meta keeps what it cites when it ends.
    cited = frozenset(mark for part in parts for mark in part.meta.get(SOURCES_KEY) or {})
    return FinishedAnswer(at.text, text, items, per_message.items_of(at.meta, MEMORY_NAME), calls_in(parts), cited)


def calls_in(parts: Sequence[Message]) -> list[FinishedCall]:
    """Return the tool calls of an answer, whose rows are `parts`, with their results."""
    uses = {use["id"]: use for part in parts for use in part.tool_uses()}
    found = []
    for part in parts:
        cards = part.meta.get("cards", {})
        for block in part.content if part.role == Message.Role.TOOL else []:
            use = uses.get(block.get("tool_use_id", ""))
            if use is not None and isinstance(block.get("content"), str):
                found.append(finished_call(use, block, cards.get(use["id"], {})))
    return found


def finished_call(use: Mapping[str, Any], result: Mapping[str, Any], card: Mapping[str, Any]) -> FinishedCall:
    """Return the call of the tool_use block `use`, whose result and card these are."""
    return FinishedCall(
        name=use["name"],
        input=use["input"],
        result=result["content"],
        is_error=result.get("is_error", False),
        kept=card.get("kept", {}),
        made=card.get("made"),
    )
