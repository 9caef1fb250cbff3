"""Define the tool memory_search, by which the model searches memory, and the text that a reading tool shows."""

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.conf import settings
from django.utils.translation import gettext_lazy as _

from chat.context.results import READ_MAX_CHARS, WHOLE_MAX_CHARS
from chat.extensions import Tool, ToolCall, ToolError, ToolResult
from chat.turns.tools import parameter_missing
from memory.access.decided import MemoryAccess
from memory.access.load import access_of
from memory.access.sources import sources_of
from memory.access.transcripts import shared_conversations
from memory.models import MemoryDocument, TranscriptChunk
from memory.notes.coverage import DAILY_LOG_PATH
from memory.policy.addresses import address_in
from memory.policy.paths import CURATED
from memory.prompt.items import name_in_prompt
from memory.search.manager import HybridSearchManager
from memory.search.passage import MessageOrigin, Passage
from memory.text.terms import terms_of
from memory.tools import citing
from memory.tools.citing import with_marks_explained
from memory.tools.saved import first_line
from oneclaw.models import Space
from oneclaw.reasons import Reason

# A line that is longer is cut.
LINE_MAX_CHARS = 20_000
# The line above a message of a conversation (memory/index/transcripts.py), and the mark of a list item.
LABEL = re.compile(r"\(\d{4}-\d\d-\d\d \d\d:\d\d\):$")
MARK = re.compile(r"^\s*(?:[-*+•>]\s+|\d{1,3}[.)]\s+)+")


def memory_search(call: ToolCall) -> ToolResult:
    """Return the passages of memory that match the query of `call` best. Raise ToolError for a blank query."""
    query = call.input["query"]
    if not query.strip():
        raise parameter_missing("query")
    access = readable_by(call)
    passages = HybridSearchManager(access.spaces, sources_of(access)).search(
        query,
        max_results=call.input.get("max_results", settings.SEARCH.max_passages),
        min_score=call.input.get("min_score"),
        today=call.user.day(),
    )
    by_passage = in_shared_spaces(passages, access)
    found = [
        call.with_mark("m", number, result_of(passage, by_passage.get(passage)))
        for number, passage in enumerate(passages, 1)
    ]
    lines = [
        card_line(query, passage, by_passage[passage].memory if passage in by_passage else "") for passage in passages
    ]
    ways = [{"by": list(passage.found_by), "score": round(passage.score, 3)} for passage in passages]
    summary = Reason("memory.found", {"number": len(found)}) if found else Reason("memory.found_nothing")
    addresses = [passage.address for passage in passages]
    content = with_marks_explained({"results": found})
    return ToolResult(content, summary, lines, addresses=addresses, kept={"found": ways})


@dataclass(frozen=True)
class SharedSource:
    """The place of a search result in a shared space: the path by which memory_get finds it, and the space's name."""

    path: str
    memory: str


def in_shared_spaces(passages: Sequence[Passage], access: MemoryAccess) -> dict[Passage, SharedSource]:
    """Return where those of `passages` are that are of a shared space that the conversation reads."""
    if all(space.is_private for space in access.spaces):
        return {}
    # In a shared conversation there is no other memory to tell it from.
    is_alone = access.person is None
    return {
        each: SharedSource(
            each.path if is_alone or each.document_id is None else address_in(space, each.path),
            name_in_prompt(space.name),
        )
        for each, space in shared_spaces_of(passages).items()
    }


def shared_spaces_of(passages: Sequence[Passage]) -> dict[Passage, Space]:
    """Return the shared spaces that `passages` are from; those of private ones are left out."""
    rows = MemoryDocument.objects.filter(pk__in=[each.document_id for each in passages if each.document_id])
    rows = rows.exclude(space__kind__in=Space.PRIVATE).select_related("space").only("space")
    by_document = {row.pk: row.space for row in rows}
    said = [UUID(each.conversation.removeprefix("/c/")) for each in passages if each.document_id is None]
    by_path = {f"/c/{pk}": space for pk, space in shared_conversations(said).items()} if said else {}
    found = (
        (each, by_document.get(each.document_id) if each.document_id else by_path.get(each.conversation))
        for each in passages
    )
    return {each: space for each, space in found if space is not None}


def readable_by(call: ToolCall) -> MemoryAccess:
    """Return what the person whose turn it is may read. Raise ToolError when that is nothing of the memory of a shared
    conversation any more."""
    access = access_of(call.session, call.user)
    if not access.may_ask:
        message = "The person is not a member of this space any more, so its memory cannot be read."
        raise ToolError("not_a_member", message, Reason("memory.not_a_member"))
    return access


def result_of(passage: Passage, shared: SharedSource | None) -> dict[str, Any]:
    """Return `passage` as the model is sent it; `shared` says of which shared space it is."""
    return {
        "path": shared.path if shared else passage.path,
        "start_line": passage.start_line,
        "end_line": passage.end_line,
        "score": round(passage.score, 3),
        "snippet": passage.snippet,
        **({"memory": shared.memory} if shared else {}),
        **conversation_labels(passage.origin),
    }


def conversation_labels(origin: MessageOrigin | None) -> dict[str, str]:
    """Return the fields of a search result about the conversation, or the file there, that it comes from; {} for a
    document."""
    if origin is None:
        return {}
    by = {"by": origin.name} if origin.name else {}
    day = origin.at.date().isoformat()
    if origin.role == TranscriptChunk.OF_FILE:
        return {"source": "file", "title": origin.title, "date": day}
    return {"source": "conversation", "title": origin.title, "date": day, "role": origin.role, **by}


def card_line(query: str, passage: Passage, memory: str = "") -> Reason:
    """Return a search result as the person's card shows it: what was found, and where it is from; `memory` is the name
    of a shared space."""
    text = best_line(passage.snippet, query)
    if memory and passage.origin is None:
        return Reason("memory.found_in_space", {"text": text, "space": memory, "path": passage.path})
    if passage.origin is not None:
        title, day = passage.origin.title, passage.origin.at.date().isoformat()
        return Reason("memory.found_in_conversation", {"text": text, "title": title, "day": day})
    if passage.path == CURATED:
        return Reason("memory.found_saved", {"text": text})
    if DAILY_LOG_PATH.fullmatch(passage.path) and passage.day is not None:
        return Reason("memory.found_in_notes", {"text": text, "day": passage.day.isoformat()})
    return Reason("memory.found_in_file", {"text": text, "path": passage.path})


def best_line(snippet: str, query: str) -> str:
    """Return the line of `snippet` with the most words of `query`, without the marks of Markdown; the first of equals.

    Headings and the labels above the messages of a conversation count only if there is nothing else.
    """
    wanted = set(terms_of(query))
    said = [line for line in snippet.split("\n") if line.strip() and not LABEL.search(line) and line[0] != "#"]
    best = max(said, key=lambda line: len(wanted & set(terms_of(line))), default=snippet)
    return first_line(MARK.sub("", best))


@dataclass(frozen=True)
class ReadText:
    """Lines of a file as one result of a tool has them: their text, how many they are, and whether the last one was
    cut."""

    text: str
    lines: int
    is_cut: bool

    @classmethod
    def of(cls, lines: Sequence[str], max_chars: int) -> "ReadText":
        """Return the text of the first of `lines` that fit into `max_chars` of JSON, whole ones. There is always one,
        of at most LINE_MAX_CHARS."""
        left, kept = max_chars, 0
        for line in lines:
            left -= len(json.dumps(line, ensure_ascii=False))
            if left < 0 and kept:
                break
            kept += 1
        text = "\n".join(lines[:kept])
        return cls(text[:LINE_MAX_CHARS], kept, kept == 1 and len(text) > LINE_MAX_CHARS)

    @property
    def fields(self) -> dict[str, Any]:
        """Return what the model is sent of it."""
        return {**({"cut": True} if self.is_cut else {}), "text": self.text}


def read_max_chars() -> int:
    """Return the characters of JSON that one call of a reading tool shows of a text."""
    return READ_MAX_CHARS if settings.COMPACT_RESULTS else WHOLE_MAX_CHARS


SEARCH = Tool(
    "memory_search",
    "Search everything remembered about the person: saved facts, notes of past conversations, and these conversations "
    "with their files (what was said then, not what holds now).",
    {
        "type": "object",
        "properties": {
            "query": {"type": "string", "description": "In natural words and with names."},
            "max_results": {"type": "integer", "minimum": 1, "maximum": 60},
            "min_score": {"type": "number", "minimum": 0, "maximum": 1},
        },
        "required": ["query"],
    },
    memory_search,
    offered=lambda session: access_of(session).may_search,
    only_reads=True,
    for_spaces=True,
    about_memory=True,
    passages=citing.found_in_memory,
    label=_("Search memory"),
    headings={"running": _("Searching memory …"), "done": _("Searched memory"), "failed": _("Could not search memory")},
    field_labels={"query": _("Question"), "max_results": _("At most"), "min_score": _("Least score")},
)
