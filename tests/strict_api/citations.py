"""Search results in a request, and the citations of an answer that rest on them.

From the page "Search results": source, title and content are required; the content is one or more texts, none of them
empty; results of tools hold them, or messages; citations are on for all of them or for none. An answer says with each
text which results it rests on: by the number of the result among all of the request, and the range of its texts. Those
models that the page lists know them, and newer ones (assumed). What an answer cited is sent back with it, and not
checked again (assumed).
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from tests.replies import ReplyBlock
from tests.strict_api.models import ModelRules
from tests.strict_api.parts import blocks_of
from tests.strict_api.refusals import invalid

SEARCH_RESULT = "search_result"


def check_search_results(body: Mapping[str, Any], facts: ModelRules) -> None:
    """Raise RefusedError when the model knows no search results, or these break a rule."""
    settings: set[bool] = set()
    for path, block in _results(body):
        if not facts.described:
            raise invalid(f"{path}: `{SEARCH_RESULT}` blocks are not supported by this model")
        if not block["content"] or any(not part.get("text", "").strip() for part in block["content"]):
            raise invalid(f"{path}.{SEARCH_RESULT}.content: text content blocks must be non-empty")
        settings.add(bool((block.get("citations") or {}).get("enabled")))
    if len(settings) > 1:
        raise invalid("messages: citations must be enabled for all search results or for none of them")


def with_citations(blocks: Sequence[ReplyBlock], body: Mapping[str, Any]) -> list[ReplyBlock]:
    """Return the blocks of an answer to `body`, each text with its citations of what the request holds."""
    found = {block["source"]: (number, block) for number, (_, block) in enumerate(_results(body))}
    return [
        replace(block, citations=tuple(_citation(*found[source]) for source in block.cites if _is_cited(found, source)))
        if block.cites
        else block
        for block in blocks
    ]


def _is_cited(found: Mapping[str, tuple[int, Mapping[str, Any]]], source: str) -> bool:
    return source in found and bool((found[source][1].get("citations") or {}).get("enabled"))


def _citation(number: int, block: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "type": "search_result_location",
        "cited_text": "".join(part["text"] for part in block["content"]),
        "source": block["source"],
        "title": block["title"],
        "search_result_index": number,
        "start_block_index": 0,
        "end_block_index": len(block["content"]),
    }


def _results(body: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield the search results of a request with their paths, in the order in which they are numbered."""
    for i, message in enumerate(body["messages"]):
        for j, block in enumerate(blocks_of(message.get("content") or [])):
            path = f"messages.{i}.content.{j}"
            if block["type"] == SEARCH_RESULT:
                yield path, block
            elif block["type"] == "tool_result" and isinstance(block.get("content"), list):
                for k, inner in enumerate(block["content"]):
                    if inner.get("type") == SEARCH_RESULT:
                        yield f"{path}.content.{k}", inner
