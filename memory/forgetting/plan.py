"""Plan a forgetting: what it would remove and what it would leave. Nothing is changed.

plan(space, ["- Ada likes tea."])
lines_with(space, "Ada likes")           # the lines to choose from
"""

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from itertools import groupby
from operator import itemgetter
from typing import Any

from django.db.models import QuerySet
from django.utils.translation import gettext_lazy

from chat.models import ChatSession
from memory.documents.diff import Hunk
from memory.forgetting import conversations
from memory.forgetting.files import files_with
from memory.library.containing import files_containing
from memory.models import (
    DocumentJob,
    Flush,
    LibraryFile,
    MemoryChunk,
    MemoryDocument,
    MemoryRevision,
    TextVector,
    TranscriptChunk,
)
from memory.notes import recent
from memory.policy.paths import RECENT_NAME
from memory.policy.tombstones import BLANK, LineMatcher, Phrase, of_phrases, of_space, words_of
from memory.text.chunking import CHUNK_MAX_CHARS, chunks_of
from memory.trust import proposals
from memory.trust.suggestions import with_words
from oneclaw.models import Space
from oneclaw.text import UserFacingError

# Lines that can be forgotten at once.
FORGET_MAX_LINES = 500


class ForgetError(UserFacingError):
    """Nothing was forgotten."""


class NothingToForgetError(ForgetError):
    """The chosen lines have no words."""

    wording = gettext_lazy("Choose at least one line with words in it.")


class TooManyLinesError(ForgetError):
    """More than FORGET_MAX_LINES lines were chosen."""

    wording = gettext_lazy("At most %(most)s lines can be forgotten at once.")


@dataclass(frozen=True)
class DocumentErasure:
    """The lines that a forgetting removes from one document.

    `lines` are those of the present content with their numbers from 1, `earlier` those of earlier versions only, and
    `revisions` counts the changes that hold any of them.
    """

    document_id: int
    path: str
    is_deleted: bool
    lines: list[tuple[int, str]]
    earlier: list[str]
    revisions: int


@dataclass
class ForgettingPlan:
    """What forgetting `lines` removes, and what it leaves."""

    lines: list[str]
    documents: list[DocumentErasure] = field(default_factory=list)
    # Titles of the sections of Recent Conversations.md that are removed whole.
    summaries: list[str] = field(default_factory=list)
    chunks: int = 0
    vectors: int = 0
    # Paths of files in the folder that hold the lines.
    files: list[str] = field(default_factory=list)
    # Open jobs for notes and summaries of conversations that hold the words; they will leave them out.
    waiting: int = 0
    # Messages that hold the lines as recalled text or in tool calls, and system prompts that hold them.
    messages: int = 0
    prompts: int = 0
    # Summaries that the model is sent in place of older messages.
    rounds: int = 0
    # Suggestions that wait for a yes, and proposals of members for a shared memory.
    suggestions: int = 0
    proposals: int = 0
    # What stays: conversations in which the words were said, and paths of documents with the words in their names.
    said_in: list[ChatSession] = field(default_factory=list)
    names: list[str] = field(default_factory=list)
    # Files of the library with the lines in any version; a person decides whether to remove them.
    library: list[LibraryFile] = field(default_factory=list)

    @property
    def is_empty(self) -> bool:
        """Return whether there is nothing to remove."""
        return not any(self.counts.values())

    @property
    def counts(self) -> dict[str, int]:
        """Return how many of each kind would be removed."""
        return {
            "lines": sum(len(erasure.lines) for erasure in self.documents),
            "earlier_lines": sum(len(erasure.earlier) for erasure in self.documents),
            "documents": len(self.documents),
            "revisions": sum(erasure.revisions for erasure in self.documents),
            "summaries": len(self.summaries),
            "chunks": self.chunks,
            "vectors": self.vectors,
            "files": len(self.files),
            "waiting": self.waiting,
            "messages": self.messages,
            "prompts": self.prompts,
            "rounds": self.rounds,
            "suggestions": self.suggestions,
            "proposals": self.proposals,
        }

    @property
    def digest(self) -> str:
        """Return a hash that changes when other lines would be removed."""
        shown = [(erasure.path, [line for _, line in erasure.lines], erasure.earlier) for erasure in self.documents]
        return hashlib.sha256(json.dumps([self.lines, shown, self.summaries]).encode(errors="replace")).hexdigest()


def plan(space: Space, lines: Iterable[str]) -> ForgettingPlan:
    """Return the plan for forgetting `lines` in `space`.

    Raise NothingToForgetError when no line has words, and TooManyLinesError above FORGET_MAX_LINES.
    """
    wanted = LinesToForget.of(lines)
    made = build_plan(space, wanted, find_in_conversations(conversations.sessions_of(space), wanted))
    made.files = files_with(space, wanted.known)
    made.library = files_containing(space, wanted.known, [phrase.words for phrase in wanted.phrases])
    return made


def are_forgotten(space: Space, lines: Iterable[str]) -> bool:
    """Return whether every one of `lines` was forgotten in `space` before."""
    known = of_space(space.pk)
    return all(known.is_in(line) for line in lines)


def lines_with(space: Space, words: str) -> list[str]:
    """Return every line that holds `words` one after the other, first those of present contents, then earlier ones.

    Deleted documents are included.
    """
    spoken = words_of(words)
    if not spoken:
        return []
    # Unlike a forgotten line, a short phrase is also found inside lines.
    known = LineMatcher(tuple, set(), {len(spoken): {spoken}})
    is_in = cache(known.is_in)
    found: dict[str, None] = {}
    for content in space.documents.order_by("path").values_list("content", flat=True).iterator(chunk_size=20):
        found |= dict.fromkeys(line for line in content.split("\n") if is_in(line))
    for _, rows in _histories(space):
        found |= dict.fromkeys(line for row in rows for line in _lines_of(row["hunks"]) if is_in(line))
    return list(found)


@dataclass(frozen=True)
class LinesToForget:
    """The lines to forget, with the matcher that finds them."""

    lines: list[str]
    phrases: list[Phrase]
    known: LineMatcher

    @classmethod
    def of(cls, lines: Iterable[str]) -> "LinesToForget":
        """Return the distinct lines of the texts `lines`. Raise NothingToForgetError or TooManyLinesError."""
        chosen = [line for line in dict.fromkeys(line.strip() for text in lines for line in text.split("\n")) if line]
        # Search shows a long line in pieces: each of them is forgotten too.
        pieces = [chunk.text for line in chosen if len(line) > CHUNK_MAX_CHARS for chunk in chunks_of(line)]
        found = dict.fromkeys(words_of(line) for line in [*chosen, *pieces])
        # The replacement of forgotten lines cannot itself be forgotten.
        phrases = [Phrase(words) for words in found if words and words != words_of(BLANK)]
        if not phrases:
            raise NothingToForgetError
        if len(chosen) > FORGET_MAX_LINES:
            raise TooManyLinesError(most=FORGET_MAX_LINES)
        return cls(chosen, phrases, of_phrases(phrases))

    def is_prefix(self, line: str) -> bool:
        """Return whether `line` is the start of a line to forget."""
        words = words_of(line)
        if not words:
            return False
        # The last word may be cut as well.
        *before, last = words
        at = len(before)
        begun = (phrase.words[at] for phrase in self.phrases if list(phrase.words[:at]) == before and phrase.words[at:])
        return any(word.startswith(last) for word in begun)


def find_in_conversations(sessions: QuerySet[ChatSession], wanted: LinesToForget) -> conversations.Matches:
    """Return where the lines are in the conversations `sessions`."""
    return conversations.find(sessions, wanted.known, wanted.is_prefix)


def build_plan(space: Space, wanted: LinesToForget, found: conversations.Matches) -> ForgettingPlan:
    """Return the plan for `wanted`, including the matches `found` in conversations."""
    known = wanted.known
    is_in = cache(known.is_in)
    made = ForgettingPlan(wanted.lines)
    about = {row.pk: row for row in space.documents.defer("content")}
    chunks: dict[int, int] = {}
    for document_id, rows in _histories(space):
        document = about.get(document_id)
        if document is None:
            continue
        lines: dict[str, None] = {}
        revisions = 0
        for row in rows:
            held = [line for line in _lines_of(row["hunks"]) if is_in(line)]
            lines |= dict.fromkeys(held)
            revisions += bool(held) or any(map(is_in, row["reason"].texts if row["reason"] else []))
        if not revisions:
            continue
        content = MemoryDocument.objects.values_list("content", flat=True).get(pk=document_id)
        current = [(number, line) for number, line in enumerate(content.split("\n"), 1) if is_in(line)]
        current_lines = {line for _, line in current}
        earlier = [line for line in lines if line not in current_lines]
        made.documents.append(
            DocumentErasure(document_id, document.path, document.is_deleted, current, earlier, revisions)
        )
        if document.path == RECENT_NAME:
            ours = ((title, section) for title, section in recent.sections(content) if title)
            made.summaries = [title for title, section in ours if known.is_in_text(section)]
        chunks |= _chunks_of_lines(document_id, [number for number, _ in current])
    made.chunks, made.vectors = len(chunks), _count_vectors(space, chunks)
    made.documents.sort(key=lambda erasure: erasure.path)
    made.messages, made.prompts, made.rounds = len(found.messages), len(found.prompts), len(found.rounds)
    made.waiting = sum(rows.filter(session__in=found.said_in).count() for rows in _waiting(space))
    made.suggestions = len(list(with_words(space, known)))
    made.proposals = 0 if space.is_private else len(list(proposals.with_words(space, known)))
    if space.is_private:
        said = ChatSession.objects.private_to(space.owner).filter(pk__in=found.said_in)
        made.said_in = list(said.order_by("-active_at"))
    made.names = sorted(row.path for row in about.values() if known.is_in(row.path))
    return made


def _histories(space: Space) -> Iterator[tuple[int, Iterator[dict[str, Any]]]]:
    """Yield each document of the space, deleted ones included, with its revisions in order."""
    rows = MemoryRevision.objects.filter(space=space).order_by("document_id", "number")
    columns: Iterator[Any] = rows.values("document_id", "hunks", "reason").iterator(chunk_size=500)
    return groupby(columns, key=itemgetter("document_id"))


def _lines_of(hunks: Sequence[Hunk]) -> Iterator[str]:
    for hunk in hunks:
        yield from hunk["removed"]
        yield from hunk["added"]


def _chunks_of_lines(document_id: int, numbers: Sequence[int]) -> dict[int, int]:
    """Return {id: text key} of the chunks of the document that hold one of the lines with these `numbers`."""
    rows = MemoryChunk.objects.filter(document_id=document_id).values_list("pk", "start_line", "end_line", "text_key")
    return {pk: key for pk, start, end, key in rows if any(start <= number <= end for number in numbers)}


def _count_vectors(space: Space, chunks: Mapping[int, int]) -> int:
    """Return how many vectors belong to the texts of `chunks` ({id: text key}) alone, and go with them."""
    keys = set(chunks.values())
    others = MemoryChunk.objects.filter(space=space, text_key__in=keys).exclude(pk__in=chunks)
    keys -= set(others.values_list("text_key", flat=True))
    said = TranscriptChunk.objects.filter(index__space=space, text_key__in=keys)
    keys -= set(said.values_list("text_key", flat=True))
    return TextVector.objects.filter(space=space, text_key__in=keys).count()


def _waiting(space: Space) -> tuple[QuerySet[Flush], QuerySet[DocumentJob]]:
    return Flush.objects.filter(space=space).open(), DocumentJob.objects.filter(space=space).open()
