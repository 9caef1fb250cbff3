"""Define passages, the results of a search, and build them from runs of lines."""

import datetime as dt
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from django.conf import settings
from django.urls import reverse

from memory.index.transcripts import message_label
from memory.models import TranscriptChunk
from memory.search.cache import PackedDocument
from memory.search.ranking import Run
from memory.text.dates import Period, day_in
from memory.text.terms import terms_of
from oneclaw.models import User

# The length of a query that a person types, and the number of passages that its page shows.
QUERY_MAX_CHARS, RESULTS_SHOWN = 1000, 20
# A passage whose best line has at least this share of the highest score by words was found by them.
WORDS_MIN_SCORE = 0.3
# By what a passage can be found: words of the question, its meaning, a day that it names, a name in it.
FOUND_BY: tuple[str, ...] = ("words", "meaning", "day", "name")


@dataclass(frozen=True)
class Sought:
    """What of a question tells by what a passage was found: its names, its days, and the least cosine of a text that is
    near to it in meaning."""

    names: frozenset[int]
    periods: Sequence[Period]
    near_cosine: float

    def ways(self, text: str, text_score: float, cosine: float, day: dt.date | None) -> tuple[str, ...]:
        """Return by what a passage with this `text`, these scores and this `day` was found, of FOUND_BY."""
        found = {
            "words": text_score >= WORDS_MIN_SCORE,
            "meaning": cosine >= self.near_cosine,
            "day": day is not None and any(period.first <= day <= period.last for period in self.periods),
            "name": bool(self.names) and not self.names.isdisjoint(terms_of(text)),
        }
        return tuple(way for way in FOUND_BY if found[way])


@dataclass(frozen=True)
class MessageOrigin:
    """The origin of a passage of a conversation: title, and time (in its owner's zone) and role of the best line."""

    title: str
    at: dt.datetime
    role: str
    # The id and the sequence number of the message; 0: not known.
    message_id: int = 0
    seq: int = 0
    # The person who wrote it in a shared conversation; "" otherwise.
    name: str = ""
    # The path of the conversation: not that of the passage when it is of an attached file.
    conversation: str = ""


@dataclass(frozen=True)
class Passage:
    """Neighbouring lines of a document, unchanged, or of a conversation (`origin`), each message under its label.

    `score` is how likely it answers the question, from 0 to 1, and does not increase from one result to the next;
    `vector_score` is the cosine of the best line, `text_score` the BM25 score of that line as a share of the highest.
    """

    # None for a conversation, whose address is the path.
    document_id: int | None
    path: str
    start_line: int
    end_line: int
    score: float
    vector_score: float
    text_score: float
    snippet: str
    heading: str = ""
    day: dt.date | None = None
    origin: MessageOrigin | None = None
    # By what it was found, of FOUND_BY.
    found_by: tuple[str, ...] = ()
    # The page of a file that it is on; 0: none.
    page: int = 0

    @property
    def address(self) -> str:
        """Return the URL of its first line in its document, or of its message in the conversation."""
        if self.document_id is not None:
            return line_address(self.document_id, self.start_line)
        if self.origin is None or not self.origin.message_id or self.origin.role == TranscriptChunk.OF_FILE:
            return self.path
        return f"{self.path}#message-{self.origin.message_id}@{self.origin.seq}"

    @property
    def conversation(self) -> str:
        """Return the path of the conversation that it is of, also when it is of a file attached there. Only for one
        that is of no document."""
        return self.origin.conversation if self.origin and self.origin.conversation else self.path


def line_address(document_id: int, line: int) -> str:
    """Return the URL of a line, from 1, on the page of its document."""
    return f"{reverse('memory_document', args=[document_id])}#line-{line}"


class Line(NamedTuple):
    """A chunk to show. In a transcript, `seq`, `role`, `at` and `message_id` are those of its message, `name` is its
    author in a shared conversation, and `heading` is the title."""

    start_line: int
    end_line: int
    heading: str
    text: str
    seq: int = 0
    role: str = ""
    at: dt.datetime | None = None
    message_id: int | None = None
    # Who said it, in a conversation of several people; of a file that was attached to the message, the file's id.
    name: str = ""
    # The page of a file; 0: none.
    page: int = 0


def build_passage(
    run: Run,
    score: float,
    lines: Sequence[Line],
    document: PackedDocument,
    cosine: float,
    text_score: float,
    reader: User | None,
    sought: Sought | None = None,
) -> Passage:
    """Return the passage that shows the `lines` of `run`.

    `cosine` is that of the best line, NaN if it has no vector yet; the times of transcripts are by the clock of
    `reader`; `sought` is the question, from which follows by what it was found.
    """
    text, last, seq = "", lines[0].end_line, 0
    of_file = lines[0].role == TranscriptChunk.OF_FILE
    for line in lines:
        if line.at is not None and not of_file and reader is not None and line.seq != seq:
            text += ("\n\n" if text else "") + message_label(line.name or line.role, reader.local(line.at))
            seq, last = line.seq, 0
        # The pieces of a long line are joined without a line break.
        text += ("\n" if text and line.start_line > last else "") + line.text
        last = line.end_line
    best = lines[run.best - run.first]
    origin = (
        MessageOrigin(
            best.heading,
            reader.local(best.at),
            best.role,
            best.message_id or 0,
            best.seq,
            "" if of_file else best.name,
            document.path,
        )
        if best.at is not None and reader is not None
        else None
    )
    day = origin.at.date() if origin else day_in(lines[0].heading) or day_in(document.path)
    cosine = 0.0 if math.isnan(cosine) else cosine
    return Passage(
        document_id=None if document.source.is_transcript else document.source.id,
        path=f"/files/{best.name}" if of_file else document.path,
        start_line=lines[0].start_line,
        end_line=last,
        score=round(score, 4),
        vector_score=round(cosine, 4),
        text_score=round(text_score, 4),
        snippet=text.strip()[: settings.SEARCH.snippet_max_chars],
        heading=lines[0].heading,
        day=day,
        origin=origin,
        found_by=sought.ways(text, text_score, cosine, day) if sought else (),
        page=lines[0].page,
    )
