"""A conversation in a plainer form, for servers that do not accept the blocks of the Messages API. Pure."""

import json
from collections.abc import Mapping, Sequence
from typing import Any, cast

from oneclaw.llm.blocks import ApiMessage, ApiTextMessage, Block
from oneclaw.llm.citations import without_citations

# Where images and files of a conversation were.
NOT_SENT = "[A file of the type {type} stood here, which you are not sent.]"
# The blocks that are left out, with nothing in their place.
UNSAID = ("thinking", "redacted_thinking")

Message = ApiMessage | ApiTextMessage


def without_cache_marks(value: Any, *, only_ttl: bool = False) -> Any:
    """Return system text, tools or messages without `cache_control`, or only without its lifetime."""
    if isinstance(value, list):
        return [without_cache_marks(each, only_ttl=only_ttl) for each in value]
    if not isinstance(value, Mapping):
        return value
    kept = {}
    for name, each in value.items():
        if name == "content":
            kept[name] = without_cache_marks(each, only_ttl=only_ttl)
        elif name != "cache_control":
            kept[name] = each
        elif only_ttl:
            kept[name] = {key: part for key, part in each.items() if key != "ttl"}
    return kept


def as_text(blocks: str | Sequence[Block]) -> str:
    """Return what `blocks` say as one text, without thinking."""
    if isinstance(blocks, str):
        return blocks
    return "\n\n".join(filter(None, (_text_of(block) for block in blocks)))


def as_plain_messages(messages: Sequence[Message]) -> list[ApiTextMessage]:
    """Return `messages` as text alone: calls of tools and their results in words, without files and thinking, roles in
    turn."""
    plain: list[ApiTextMessage] = []
    for message in messages:
        text = as_text(without_citations(message)["content"])
        if not text.strip():
            continue
        # Before the first message of the person there may only be a summary.
        role = message["role"] if plain else "user"
        if plain and plain[-1]["role"] == role:
            plain[-1]["content"] += f"\n\n{text}"
        else:
            plain.append({"role": role, "content": text})
    return plain


def without_tools(messages: Sequence[Message]) -> list[Message]:
    """Return `messages` with calls of tools and their results as text, for a model that has none."""
    return [_without_tools(message) for message in messages]


def _without_tools(message: Message) -> Message:
    content = message["content"]
    if isinstance(content, str) or not any(block["type"] in ("tool_use", "tool_result") for block in content):
        return message
    # Thinking is bound to the calls after it.
    kept = [block for block in without_citations(message)["content"] if cast(Block, block)["type"] not in UNSAID]
    return {"role": message["role"], "content": [_in_words(cast(Block, block)) for block in kept]}


def _in_words(block: Block) -> Block:
    if block["type"] not in ("tool_use", "tool_result"):
        return block
    words: Block = {"type": "text", "text": _text_of(block)}
    if "cache_control" in block:
        words["cache_control"] = block["cache_control"]
    return words


def _text_of(block: Block) -> str:
    match block["type"]:
        case "text":
            return block["text"]
        case "tool_use":
            arguments = json.dumps(block["input"], ensure_ascii=False, sort_keys=True)
            return f"[Called the tool {block['name']} with {arguments}]"
        case "tool_result":
            return f"[Result of the tool: {as_text(block.get('content') or '')}]"
        case "compaction":
            return block.get("content") or ""
        case kind if kind in UNSAID:
            return ""
    return NOT_SENT.format(type=block["type"])
