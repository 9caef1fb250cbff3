"""Read the results of tools in every form in which the product sends them. Pure.

They are JSON, search results, the JSON of single passages, or the text of a hook. JSON may be cut anywhere, because
long results are shortened: whole objects in it are read, and what was cut is not.
"""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

# The name of a search result: its path, its lines, and what else is said of it.
TITLE = re.compile(r"(?P<path>[^\n]+?):\d{1,9}(?:-\d{1,9})?(?=$|[ ,])")
# A sentence of the product in place of a result.
NOTICE = re.compile(r"\[[^\]]*\]")
DECODER = json.JSONDecoder()


@dataclass(frozen=True)
class FoundPassage:
    """A passage that a search found: where it is from ("" when that is not said), and its text."""

    path: str
    text: str


def text_of(result: Mapping[str, Any]) -> str:
    """Return the text of a `tool_result` block, without its search results."""
    content = result.get("content") or ""
    if isinstance(content, str):
        return content
    return "\n".join(block["text"] for block in content if block.get("type") == "text")


def fields_of(result: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of a result that is one JSON object; {} for any other."""
    try:
        fields = json.loads(text_of(result))
    except ValueError:
        return {}
    return fields if isinstance(fields, dict) else {}


def passages_of(result: Mapping[str, Any]) -> list[FoundPassage]:
    """Return the passages in a result of a search, in whichever form it was sent."""
    content = result.get("content") or ""
    blocks = [] if isinstance(content, str) else [block for block in content if block.get("type") == "search_result"]
    text = text_of(result)
    objects = list(_objects_in(text))
    found = [
        *(_of_search_result(block) for block in blocks),
        *(passage for each in objects for passage in _passages_in(each)),
    ]
    if not found and not objects and text and not NOTICE.fullmatch(text.strip()):
        return [FoundPassage("", text)]
    return found


def _of_search_result(block: Mapping[str, Any]) -> FoundPassage:
    text = "\n".join(part.get("text", "") for part in block.get("content") or [])
    return FoundPassage(_path_in(str(block.get("title", ""))), text)


def _objects_in(text: str) -> Iterator[dict[str, Any]]:
    """Yield the whole JSON objects in `text`, the outer ones first where they are whole."""
    at = text.find("{")
    while at >= 0:
        try:
            found, end = DECODER.raw_decode(text, at)
        except (ValueError, RecursionError):
            end = at + 1
        else:
            yield found
        at = text.find("{", end)


def _passages_in(found: Mapping[str, Any]) -> Iterator[FoundPassage]:
    """Yield the passages in one JSON object: a list of results, or one of them."""
    results = found.get("results", [found])
    for each in results if isinstance(results, list) else []:
        text = (each.get("snippet") or each.get("text")) if isinstance(each, dict) else None
        if isinstance(text, str):
            yield FoundPassage(str(each.get("path") or _path_in(str(each.get("title", "")))), text)


def _path_in(title: str) -> str:
    named = TITLE.match(title)
    return named["path"] if named else title
