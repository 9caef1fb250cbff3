"""The passages that an answer may cite: in results of the tools, and recalled with a message. Pure."""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from chat.extensions import MARKS_KEY, ContextItem, SentPassage
from memory.policy.addresses import located
from memory.prompt.items import shown
from oneclaw.reasons import Reason

# With results that have marks, and not where the model cites by itself.
CITE_RESULTS = (
    "End each statement of your answer that rests on a result with its mark in square brackets, such as [{mark}], and "
    "name no other source for it."
)


def with_marks_explained(content: dict[str, Any]) -> dict[str, Any]:
    """Return the content of a result with how its marks are used, if it has any."""
    mark = next((found["mark"] for found in _marked(content)), "")
    return {**content, MARKS_KEY: CITE_RESULTS.format(mark=mark)} if mark else content


def found_in_memory(result: Mapping[str, Any]) -> list[SentPassage]:
    """Return the passages of a result of memory_search that have a mark."""
    return [
        _of_memory(found["mark"], found["path"], found["start_line"], found["end_line"], found["snippet"], found)
        for found in _marked(result)
    ]


def found_in_files(result: Mapping[str, Any]) -> list[SentPassage]:
    """Return the passages of a result of documents_search, or that of documents_get, that have a mark."""
    return [
        SentPassage(found["mark"], _label_of_file(found), _title_of_file(found), found["text"])
        for found in _marked(result)
    ]


def found_by_reading(result: Mapping[str, Any]) -> list[SentPassage]:
    """Return the passage of a result of memory_get that has a mark: of a file of a library."""
    return found_in_files(result) if "document" in result else []


def sent_with_message(items: Sequence[ContextItem]) -> list[SentPassage]:
    """Return the recalled passages among `items` that have a mark."""
    return [
        _of_memory(each["mark"], each["path"], *_ends(each), shown(each), {"memory": each.get("whose", "")})
        for each in items
        if "mark" in each
    ]


def _ends(item: ContextItem) -> tuple[int, int]:
    return item["lines"][0], item["lines"][-1]


def _marked(result: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """Yield the passages of a result, or itself if it is one."""
    results = result.get("results", [result])
    return (each for each in results if isinstance(each, dict) and "mark" in each)


def _of_memory(mark: str, path: str, first: int, last: int, text: str, found: Mapping[str, Any]) -> SentPassage:
    lines, space = f"{first}-{last}" if last > first else str(first), found.get("memory", "")
    label = f"{path}:{lines}" + (f" ({space})" if space else "")
    name = located(path)[1] + (f" ({space})" if space else "")
    if path.startswith("/c/"):
        # As in the result, which has the day and the title; the title may be changed or forgotten later.
        day = found.get("date", "")
        label += "".join(f", {value}" for value in (day, plain(found.get("title", ""))) if value)
        title = Reason("source.conversation_day", {"day": day}) if day else Reason("source.conversation")
    elif last > first:
        title = Reason("source.lines", {"name": name, "first": first, "last": last})
    else:
        title = Reason("source.line", {"name": name, "line": first})
    return SentPassage(mark, label, title, text)


def _label_of_file(found: Mapping[str, Any]) -> str:
    page = f", page {found['page']}" if found.get("page") else ""
    return (
        f"{plain(found['file'])} (document {found['document']}){page}, lines {found['start_line']}-{found['end_line']}"
    )


def _title_of_file(found: Mapping[str, Any]) -> Reason:
    name = found["file"]
    if found.get("page"):
        return Reason("source.page", {"name": name, "page": found["page"]})
    if found.get("whole"):
        return Reason("source.document", {"name": name})
    return Reason("source.lines", {"name": name, "first": found["start_line"], "last": found["end_line"]})


def plain(text: str) -> str:
    """Return a name that a person chose as one short line."""
    return " ".join(re.sub(r"[\x00-\x1f]", " ", text).split())[:120]
