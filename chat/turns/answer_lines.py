"""The quiet line of memory under an answer: its numbers are counted when it ends, and stored with it."""

import logging
from collections.abc import Mapping, Sequence
from typing import Any

from chat import extensions
from chat.context import per_message
from chat.extensions import MEMORY_NAME, ContextItem, FinishedAnswer, FinishedCall
from chat.models import Message
from chat.rendering.messages import ANSWER_LINES_KEY

logger = logging.getLogger(__name__)

# The rows before an answer among which its question is.
READ_MAX_ROWS = 200


def counted(
    prompt: Message, prompt_items: Mapping[str, Sequence[ContextItem]], calls: Sequence[FinishedCall], text: str
) -> dict[str, Any]:
    """Return what the Message.meta of an answer gets for its line. Without a query; an error of memory is logged.

    `prompt` is the person's message, `prompt_items` are the items in the system text by the name of their extension,
    `calls` the tool calls of the answer, and `text` all that it says.
    """
    items = per_message.items_of(prompt.meta, MEMORY_NAME)
    ended = FinishedAnswer(prompt.text, text, prompt_items.get(MEMORY_NAME, []), items, calls)
    try:
        numbers = extensions.memory().count_used(ended)
    except Exception:
        # A bug in the line must not keep an answer from being stored.
        logger.exception("The line of memory under an answer could not be counted.")
        return {}
    return {ANSWER_LINES_KEY: {MEMORY_NAME: dict(numbers)}} if numbers else {}


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
    return FinishedAnswer(at.text, text, items, per_message.items_of(at.meta, MEMORY_NAME), calls_in(parts))


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
