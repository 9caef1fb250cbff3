"""Find what of memory an answer has used, from the data that is stored with it. Pure.

Passages that were recalled for the message, or found by memory_search, were looked at. Those that probably answer the
question, that the answer cites, or of which it says something, were used. The curated memory is in every prompt, and
memory_get returns many lines: of those, a line counts when the answer says something of it.
"""

import hashlib
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from chat.extensions import AnswerLine, ContextItem, FinishedAnswer, FinishedCall
from memory.documents.calls import Made
from memory.policy.addresses import is_of_others
from memory.policy.same_words import words_of
from memory.policy.tombstones import BLANK
from memory.prompt.items import ADDED, CURATED, DOCUMENT, OF_DOCUMENTS, RECALLED, SPACE_ADDED, SPACE_CURATED, shown
from memory.search.likely import LIKELY_MIN_SCORE
from memory.text.terms import terms_of

SAVE_TOOL, SEARCH_TOOL, GET_TOOL = "save_memory", "memory_search", "memory_get"
FILE_SEARCH_TOOL, FILE_GET_TOOL = "documents_search", "documents_get"
# How a piece came to the model: with the message, by a search, in the prompt, by reading a file,
# or because the person added its document to the message.
RECALL, SEARCH, PROMPT, READ, ATTACHED = "recall", "search", "prompt", "read", "attached"
# What the receipt of an answer shows of a document that the person added to the message.
ATTACHED_MAX_CHARS = 1_000
# An answer says something of a line when it and the question have at least this share of the line's terms, and the
# answer has one of them that the question has not.
SAID_MIN_SHARE = 0.5
HEADING = re.compile(r" {0,3}#{1,6}(?:\s|$)")


@dataclass(frozen=True)
class UsedMemory:
    """A piece of memory that went into an answer: its text as the model read it, from a document or, with the path
    `/c/…`, a conversation. `question` is what it was found for."""

    path: str
    text: str
    how: str
    question: str
    found_by: tuple[str, ...] = ()
    # How likely it answers the question, from 0 to 1; None when it was not searched for.
    score: float | None = None
    # Of a conversation: its title; of a file of a library: its name.
    title: str = ""
    # Of a file: its id, the page of the passage (0: none), its first and last line, and whether it is all of the file.
    file_id: int = 0
    page: int = 0
    lines: tuple[int, int] = (0, 0)
    is_whole: bool = False
    # By which the answer may cite it; "" if it may not.
    mark: str = ""
    # Whether the answer rests on it; it was only looked at otherwise.
    is_used: bool = True
    # Whether the answer cites it, and whether it says something of it.
    is_cited: bool = False
    is_said: bool = False

    @property
    def id(self) -> str:
        """Return an identifier that is the same whenever the answer is looked at."""
        return hashlib.sha256(f"{self.path}\0{self.text}".encode()).hexdigest()[:16]

    @property
    def is_of_conversation(self) -> bool:
        """Return whether it was said in a conversation."""
        return self.path.startswith("/c/")

    @property
    def is_of_document(self) -> bool:
        """Return whether it is of a document of memory, neither of a conversation nor of a file of a library."""
        return not self.is_of_conversation and not self.is_attached and not self.file_id

    @property
    def is_attached(self) -> bool:
        """Return whether it is of a file that was attached to a message."""
        return self.path.startswith("/files/")


def count(answer: FinishedAnswer) -> AnswerLine:
    """Return how many memories and passages of documents `answer` has used, how many it has only looked at, and what it
    saved; {} for nothing."""
    found, saved = used_in(answer), saved_in(answer)
    used = [each for each in found if each.is_used]
    line, of_files = AnswerLine(), sum(1 for each in used if each.file_id)
    if len(used) > of_files:
        line["used"] = len(used) - of_files
    if of_files:
        line["files"] = of_files
    if len(found) > len(used):
        line["looked"] = len(found) - len(used)
    if saved:
        line |= {"saved": len(saved), "made": saved}
    return line


def best_used(answer: FinishedAnswer) -> UsedMemory | None:
    """Return what `answer` rests on most: what it cites before what it says something of, and that before what only
    probably answers the question; None when it used nothing."""
    used = [each for each in used_in(answer) if each.is_used]
    return max(used, key=lambda each: (each.is_cited, each.is_said, each.score or 0.0), default=None)


def used_in(answer: FinishedAnswer) -> list[UsedMemory]:
    """Return what `answer` has used or looked at, each text once: first what was found for it, then what it says of
    other lines."""
    asked, said = frozenset(terms_of(answer.question)), frozenset(terms_of(answer.answer))
    found: dict[str, UsedMemory] = {}
    for each in (*_recalled(answer), *_searched(answer), *_read_files(answer), *_said(answer, asked, said)):
        if words_of(each.text) and BLANK not in each.text:
            # What was likely enough counts as used although the answer says nothing of it in its words.
            is_likely = each.score is None or each.score >= LIKELY_MIN_SCORE
            is_cited, says = each.mark in answer.cited, is_said(frozenset(terms_of(each.text)), asked, said)
            known = replace(each, is_cited=is_cited, is_said=says, is_used=is_likely or is_cited or says)
            found.setdefault(words_of(each.text), known)
    return list(found.values())


def marked_in(answer: FinishedAnswer) -> dict[str, UsedMemory]:
    """Return what was sent for `answer` with a mark, by the mark."""
    found = {item["mark"]: _of_item(item, answer) for item in answer.message_items if "mark" in item}
    for call in answer.calls:
        for number, result in _results_of(call):
            if "mark" in result:
                found[result["mark"]] = _of_result(call, number, result)
    return found


def saved_in(answer: FinishedAnswer) -> list[int]:
    """Return the ids of the revisions that `answer` has made by saving."""
    saves = (call.made for call in answer.calls if call.name == SAVE_TOOL and not call.is_error)
    made = [Made.of_card(number) for number in saves if number is not None]
    return [each.pk for each in made if each.kind == "revision"]


def _recalled(answer: FinishedAnswer) -> Iterator[UsedMemory]:
    yield from (_of_item(item, answer) for item in answer.message_items if item["kind"] == RECALLED)
    yield from (_of_document(item, answer) for item in answer.message_items if item["kind"] in OF_DOCUMENTS)


def _of_item(item: ContextItem, answer: FinishedAnswer) -> UsedMemory:
    found_by, title = tuple(item.get("found_by", ())), item.get("heading", "")
    return UsedMemory(
        path=item["path"],
        text=shown(item),
        how=RECALL,
        question=answer.question,
        found_by=found_by,
        score=item.get("score"),
        title=title,
        mark=item.get("mark", ""),
    )


def _of_document(item: ContextItem, answer: FinishedAnswer) -> UsedMemory:
    """Return a document that the person added to the message, or a passage of it."""
    first, last = item["lines"] or (0, 0)
    return UsedMemory(
        path=item["path"],
        text=shown(item)[:ATTACHED_MAX_CHARS],
        how=ATTACHED,
        question=answer.question,
        title=item.get("heading", ""),
        file_id=int(item["path"].removeprefix("/d/")),
        lines=(first, last),
        is_whole=item["kind"] == DOCUMENT,
    )


def _searched(answer: FinishedAnswer) -> Iterator[UsedMemory]:
    for call in answer.calls:
        if call.name in (SEARCH_TOOL, FILE_SEARCH_TOOL):
            yield from (_of_result(call, number, result) for number, result in _results_of(call))


def _read_files(answer: FinishedAnswer) -> Iterator[UsedMemory]:
    for call in answer.calls:
        if call.name in (FILE_GET_TOOL, GET_TOOL):
            yield from (_of_result(call, number, result) for number, result in _results_of(call))


def _results_of(call: FinishedCall) -> list[tuple[int, dict[str, Any]]]:
    """Return what a call found or read, numbered from 0."""
    if call.is_error or call.name not in (SEARCH_TOOL, GET_TOOL, FILE_SEARCH_TOOL, FILE_GET_TOOL):
        return []
    found = _json_of(call)
    if call.name in (GET_TOOL, FILE_GET_TOOL):
        # Of a document of memory, the lines count that the answer says something of.
        return [(0, found)] if "document" in found else []
    return list(enumerate(found.get("results", [])))


def _of_result(call: FinishedCall, number: int, result: Mapping[str, Any]) -> UsedMemory:
    ways = call.kept.get("found", [])
    way = ways[number] if number < len(ways) else {}
    of_file = "document" in result
    return UsedMemory(
        path=f"/d/{result['document']}" if of_file else result["path"],
        text=result["text" if of_file else "snippet"],
        how=READ if call.name in (GET_TOOL, FILE_GET_TOOL) else SEARCH,
        question=str(call.input.get("query", "")),
        found_by=tuple(way.get("by", ())),
        score=way.get("score", result.get("score")),
        title=result.get("file", "") if of_file else result.get("title", ""),
        file_id=result["document"] if of_file else 0,
        page=result.get("page", 0) if of_file else 0,
        lines=(result.get("start_line", 0), result.get("end_line", 0)),
        is_whole=bool(result.get("whole")),
        mark=result.get("mark", ""),
    )


def _said(answer: FinishedAnswer, asked: frozenset[int], said: frozenset[int]) -> Iterator[UsedMemory]:
    """Yield the lines that the answer says something of, among those that the model was sent for another reason."""
    for how, path, text in _read(answer):
        for line in text.split("\n"):
            if not HEADING.match(line) and is_said(frozenset(terms_of(line)), asked, said):
                yield UsedMemory(path, line, how, answer.question)


def is_said(line: frozenset[int], asked: frozenset[int], said: frozenset[int]) -> bool:
    """Return whether an answer with the terms `said` to a question with the terms `asked` says something of a line."""
    return bool((line & said) - asked) and len(line & (asked | said)) >= SAID_MIN_SHARE * len(line)


def _read(answer: FinishedAnswer) -> Iterator[tuple[str, str, str]]:
    """Yield how, path and text of what the model read without a search."""
    pieces: Iterable[ContextItem] = (*answer.prompt_items, *answer.message_items)
    yield from (
        (PROMPT, item["path"], shown(item))
        for item in pieces
        if item["kind"] in (CURATED, ADDED, SPACE_CURATED, SPACE_ADDED)
    )
    for call in answer.calls:
        found = _json_of(call) if call.name == GET_TOOL and not call.is_error else {}
        if found and not found["path"].startswith("/c/") and not is_of_others(found["path"]):
            yield READ, found["path"], found["text"]


def _json_of(call: FinishedCall) -> dict[str, Any]:
    """Return the result of a call as the tool made it; {} when a hook has changed it."""
    try:
        found = json.loads(call.result)
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}
