"""The passages that the model is sent and an answer may cite: which they are, and their form in a request.

A model that cites by itself is sent them as search results, from the first time on, as the results of tools say
(Message.meta[META_KEY]["cited"]); every other model writes their marks.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Any, cast

from chat import extensions
from chat.context import per_message
from chat.models import Message
from oneclaw.llm import Block, cached_facts
from oneclaw.llm.citations import search_result


def sources_of_prompt(prompt: Message) -> dict[str, Any]:
    """Return what was sent with a person's message: {mark: title, as chat.rendering.citations stores it}."""
    found: dict[str, Any] = {}
    for each in extensions.installed():
        items = per_message.items_of(prompt.meta, each.name)
        if each.message_context and items:
            found |= {passage.mark: passage.title.as_json for passage in each.message_context.passages(items)}
    return found


def sources_of_results(uses: Sequence[Block], results: Mapping[str, Block]) -> dict[str, Any]:
    """Return what the results of the calls `uses` have, by the mark."""
    return {
        passage.mark: passage.title.as_json
        for use in uses
        for passage in extensions.passages_of_result(use["name"], _text_of(results[use["id"]]))
    }


def cited_calls(uses: Sequence[Block], results: Mapping[str, Block], shares: Mapping[str, Any], model: str) -> Any:
    """Return {tool_use id: name of the tool} of the results that `model` is sent as search results: also of those of
    which it is sent fewer, by their `shares`, but not of those that are cut."""
    if not cached_facts(model).cites:
        return {}
    return {
        use["id"]: use["name"]
        for use in uses
        if "edges" not in shares.get(use["id"], {})
        and extensions.passages_of_result(use["name"], _text_of(results[use["id"]]))
    }


def with_search_results(content: Sequence[Block], cited: Mapping[str, str]) -> list[Block]:
    """Return the results of tools with search results in place of the text of those that are `cited`. Pure."""
    return [
        _as_search_results(block, cited[block["tool_use_id"]]) if block.get("tool_use_id") in cited else block
        for block in content
    ]


def _as_search_results(block: Block, name: str) -> Block:
    text = _text_of(block)
    passages = [each for each in extensions.passages_of_result(name, text) if each.text.strip()]
    if not passages:
        return block
    others = {key: value for key, value in json.loads(text).items() if key not in ("results", extensions.MARKS_KEY)}
    notes = [{"type": "text", "text": json.dumps(others, ensure_ascii=False)}] if others else []
    blocks = [search_result(each.mark, each.label, each.text) for each in passages]
    return cast(Block, {**block, "content": [*notes, *blocks]})


def _text_of(block: Block) -> str:
    content: Any = block.get("content")
    return content if isinstance(content, str) else ""
