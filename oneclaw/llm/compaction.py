"""Ask the model's server for a summary of a conversation: its on-demand compaction.

    made = compact_sync(Request(model, system, messages, tools, max_tokens=8_192, compaction="Summarise …"), payer)
    later = [{"role": "assistant", "content": [made.block]}, *messages_after, …]

From the provider's pages "Compaction on demand" and "Compaction and preserved thinking": the block takes the place of
exactly the messages that were sent, is first in every later request, and goes back as it came, without its text edited.
Signed thinking after it stays valid when the request had the model, system text and tools of the conversation, and the
first message after the block has another role than the last message before the cut.
"""

import asyncio
from dataclasses import dataclass, replace
from typing import Any

from oneclaw.llm.blocks import Block
from oneclaw.llm.budgets import refuse_if_used_up
from oneclaw.llm.client import FAILED_ENDINGS, stream
from oneclaw.llm.events import BlockFinished, Finished
from oneclaw.llm.facts import Refusal, learn
from oneclaw.llm.failures import (
    CompactionUnsupportedError,
    EmptyAnswerError,
    TruncatedAnswerError,
    UnreadableAnswerError,
)
from oneclaw.llm.request import Request
from oneclaw.llm.upstreams.routes import home_of
from oneclaw.spend.calls import Payer, Spending, paid_by
from oneclaw.spend.usage import whole_usage
from oneclaw.text import replace_unstorable_in_json

# The stop reason of an answer that is the block of a summary.
COMPACTION = "compaction"


@dataclass(frozen=True, slots=True)
class Compaction:
    """A summary that the model's server made of all messages of a request."""

    # As the server sent it; any change of it is refused later.
    block: Block
    # The words of the summary, to be read.
    text: str
    # Tokens of the call, by the names of an answer's usage.
    usage: dict[str, Any]


def compact_sync(request: Request, payer: Payer) -> Compaction:
    """Return the summary of all messages of `request`, for sync code such as a task, and store what it has cost.

    Raise a ModelRequestError, which may be BudgetUsedUpError; RuntimeError when an event loop runs in this thread.
    """
    if not payer.is_in_turn:
        refuse_if_used_up(payer.user_id)
    with paid_by(payer) as spending:
        return asyncio.run(compact(request, spending))


async def compact(request: Request, spending: Spending) -> Compaction:
    """Return the summary of all messages of `request`, made by the instructions in `request.compaction`.

    Raise a ModelRequestError when no block came: then the messages stay as they are. CompactionUnsupportedError says
    that the model on this server makes none, which is remembered for a day; `retryable` failures may pass by
    themselves. A cut summary is asked for once more with twice the room, and then raises TruncatedAnswerError.
    """
    wanted = replace(request, compaction=request.compaction or "")
    try:
        return await _compact(wanted, spending)
    except TruncatedAnswerError:
        if wanted.max_tokens is None:
            raise
    return await _compact(replace(wanted, max_tokens=2 * wanted.max_tokens), spending)


async def _compact(request: Request, spending: Spending) -> Compaction:
    blocks: list[Block] = []
    usage: dict[str, Any] = {}
    reason = ""
    async for event in stream(request, spending):
        if isinstance(event, BlockFinished):
            blocks.append(event.block)
        elif isinstance(event, Finished):
            reason, usage = event.stop_reason, event.usage
    summary = next((block for block in blocks if block["type"] == COMPACTION), None)
    if summary is not None and reason == COMPACTION:
        return Compaction(summary, _text_of(summary), whole_usage(usage))
    if blocks and summary is None:
        # A summary that fails has no blocks at all: this server does not know the field, and has answered.
        await learn(home_of(request.model), Refusal("compacts"))
        raise CompactionUnsupportedError(f"an answer instead of a summary, stop reason {reason}")
    if ending := FAILED_ENDINGS.get(reason):
        raise ending(f"no summary, stop reason {reason}")
    raise EmptyAnswerError(f"no summary, stop reason {reason}")


def _text_of(block: Block) -> str:
    """Return the words of a summary. Raise a ModelRequestError when it has none or cannot be stored unchanged."""
    text = block.get("content")
    if not isinstance(text, str) or not text.strip():
        raise EmptyAnswerError("a compaction block without a summary")
    if replace_unstorable_in_json(block) != block:
        raise UnreadableAnswerError("a summary with characters that cannot be stored")
    return text
