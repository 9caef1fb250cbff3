"""The answer as the API would send it: with signed thinking, within its limits, and with usage.

Thinking counts toward max_tokens. An answer that is too long ends there: with `max_tokens`, or with
`model_context_window_exceeded` when the window ends first.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from tests.replies import Reply, ReplyBlock, thinking
from tests.strict_api.models import ModelRules
from tests.strict_api.prefix import Prefix, advance
from tests.strict_api.tokens import text_tokens


@dataclass(frozen=True)
class AnswerRoom:
    """How much an answer may say, and why it ends when that is not enough."""

    tokens: int
    stop_reason: str

    @staticmethod
    def of(max_tokens: int, input_tokens: int, window_tokens: int) -> "AnswerRoom":
        """Return the room of an answer after `input_tokens`."""
        left = window_tokens - input_tokens
        return (
            AnswerRoom(max_tokens, "max_tokens")
            if max_tokens <= left
            else AnswerRoom(left, "model_context_window_exceeded")
        )


def finish(
    reply: Reply, body: Mapping[str, Any], facts: ModelRules, prefix: Prefix, room: AnswerRoom, thinking_tokens: int
) -> Reply:
    """Return the scripted reply as this request gets it; `thinking_tokens` is 0 when the model does not think."""
    blocks = [_listed(block) for block in reply.blocks]
    if thinking_tokens and (not blocks or not _is_thinking(blocks[0])):
        # Without text, as it is sent unless a script brings one: pages of tests show answers alone.
        blocks.insert(0, thinking(""))
    left = room.tokens - thinking_tokens
    kept, output, cut = _within(blocks, max(0, left))
    if facts.described and any(map(_is_thinking, kept)):
        kept = _signed(kept, prefix, thinking_tokens, shows_text=_shows_text(body, facts))
    output = min(room.tokens, thinking_tokens + output)
    details = {"output_tokens_details": {"thinking_tokens": min(thinking_tokens, output)}} if thinking_tokens else {}
    usage = {"output_tokens": max(1, output), **details, **reply.usage}
    stop_reason = room.stop_reason if cut or left <= 0 else reply.stop_reason
    return replace(reply, blocks=tuple(kept), stop_reason=stop_reason, usage=usage)


def _listed(block: ReplyBlock) -> ReplyBlock:
    """Return the block with its deltas as a list, unless they are made while they are sent."""
    return replace(block, deltas=list(block.deltas)) if isinstance(block.deltas, Sequence) else block


def _is_thinking(block: ReplyBlock) -> bool:
    return block.key == "thinking"


def _shows_text(body: Mapping[str, Any], facts: ModelRules) -> bool:
    display = (body.get("thinking") or {}).get("display")
    return facts.summarized if display is None else display == "summarized"


def _within(blocks: Sequence[ReplyBlock], room: int) -> tuple[list[ReplyBlock], int, bool]:
    """Return the blocks that fit, their tokens, and whether something did not fit. Thinking has its own tokens."""
    kept: list[ReplyBlock] = []
    used = 0
    for block in blocks:
        if _is_thinking(block) or not isinstance(block.deltas, list):
            kept.append(block)
            continue
        tokens = text_tokens("".join(block.deltas))
        if used + tokens <= room:
            kept.append(block)
            used += tokens
            continue
        if deltas := _cut(block.deltas, room - used):
            kept.append(replace(block, deltas=deltas))
        return kept, room, True
    return kept, used, False


def _cut(deltas: Sequence[str], room: int) -> list[str]:
    """Return the deltas, the last one shortened, that have at most `room` tokens."""
    kept: list[str] = []
    said = ""
    for delta in deltas:
        while delta and text_tokens(said + delta) > room:
            delta = delta[:-1]
        if not delta:
            break
        kept.append(delta)
        said += delta
    return kept


def _signed(blocks: Sequence[ReplyBlock], prefix: Prefix, tokens: int, *, shows_text: bool) -> list[ReplyBlock]:
    signed: list[ReplyBlock] = []
    last = max(index for index, block in enumerate(blocks) if _is_thinking(block))
    for index, block in enumerate(blocks):
        if _is_thinking(block):
            words = "".join(block.deltas) if shows_text else ""
            deltas = list(block.deltas) if shows_text else []
            signed.append(replace(block, deltas=deltas, signature=prefix.sign(words, tokens)))
            tokens = 0
        else:
            # Thinking after it is bound to it.
            block = replace(block, deltas=list(block.deltas)) if index < last else block
            if index < last:
                advance(prefix, [_content(block)])
            signed.append(block)
    return signed


def _content(block: ReplyBlock) -> dict[str, Any]:
    words = "".join(block.deltas)
    if block.key == "partial_json":
        return {**block.start, "input": json.loads(words or "{}")}
    cited = {"citations": list(block.citations)} if block.citations else {}
    return {**block.start, block.key: words, **cited}
