"""Search results in requests, and what a model cites of them: blocks of the Messages API, and their plain form. Pure.

A server that knows these blocks splits its answer into texts, and says with each which results it rests on.
"""

import json
from typing import Any, cast

from oneclaw.llm.blocks import ApiMessage, ApiTextMessage, Block

SEARCH_RESULT, LOCATION = "search_result", "search_result_location"


def search_result(source: str, title: str, text: str) -> Block:
    """Return the block of one search result; the model names it by `source` when it cites it."""
    block = {
        "type": SEARCH_RESULT,
        "source": source,
        "title": title,
        "content": [{"type": "text", "text": text}],
        "citations": {"enabled": True},
    }
    return cast(Block, block)


def cited_sources(block: Block) -> list[str]:
    """Return the sources that a text of an answer cites, each once."""
    citations = block.get("citations") or []
    found = (each.get("source") for each in citations if isinstance(each, dict) and each.get("type") == LOCATION)
    return list(dict.fromkeys(source for source in found if isinstance(source, str)))


def uncited(block: Block) -> Block:
    """Return `block` without what it cites, which holds the text of the passages."""
    return cast(Block, {name: value for name, value in block.items() if name != "citations"})


def without_citations(message: ApiMessage | ApiTextMessage) -> ApiMessage | ApiTextMessage:
    """Return `message` as a server is sent it that knows no search results: these as JSON, and texts without what they
    cite."""
    content = message["content"]
    if isinstance(content, str) or not any(_has_any(block) for block in content):
        return message
    return {"role": message["role"], "content": [_plain(block) for block in content]}


def _has_any(block: Block) -> bool:
    if block["type"] == "text":
        return "citations" in block
    return any(inner.get("type") == SEARCH_RESULT for inner in _inside(block))


def _inside(block: Block) -> list[dict[str, Any]]:
    content: Any = block.get("content")
    return content if isinstance(content, list) else []


def _plain(block: Block) -> Block:
    if not _has_any(block):
        return block
    if block["type"] == "text":
        return uncited(block)
    return {**block, "content": "\n\n".join(_text_of(inner) for inner in _inside(block))}


def _text_of(inner: dict[str, Any]) -> str:
    if inner["type"] != SEARCH_RESULT:
        return str(inner.get("text", ""))
    text = "\n".join(each["text"] for each in inner["content"])
    said = {"mark": inner["source"], "title": inner["title"], "text": text}
    return json.dumps(said, ensure_ascii=False)
