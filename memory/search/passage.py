"""Define passages, the results of a search, and build them from runs of lines."""

import datetime as dt
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from django.conf import settings

from memory.index.transcripts import message_label
from memory.search.cache import PackedDocument
from memory.search.ranking import Run
from memory.text.dates import day_in
from oneclaw.models import User

# The length of a query that a person types, and the number of passages that its page shows.
QUERY_MAX_CHARS, RESULTS_SHOWN = 1000, 20


@dataclass(frozen=True)
class MessageOrigin:
    """The origin of a passage of a conversation: title, and time (in its owner's zone) and role of the best line."""

    title: str
    at: dt.datetime
    role: str


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


class Line(NamedTuple):
    """A chunk to show. In a transcript, `seq`, `role` and `at` are those of its message, and `heading` is the title."""

    start_line: int
    end_line: int
    heading: str
    text: str
    seq: int = 0
    role: str = ""
    at: dt.datetime | None = None


def build_passage(
    run: Run,
    score: float,
    lines: Sequence[Line],
    document: PackedDocument,
    cosine: float,
    text_score: float,
    owner: User | None,
) -> Passage:
    """Return the passage that shows the `lines` of `run`.

    `cosine` is that of the best line, NaN if it has no vector yet; `owner` is the owner of the transcripts searched.
    """
    text, last, seq = "", lines[0].end_line, 0
    for line in lines:
        if line.at is not None and owner is not None and line.seq != seq:
            text += ("\n\n" if text else "") + message_label(line.role, owner.local(line.at))
            seq, last = line.seq, 0
        # The pieces of a long line are joined without a line break.
        text += ("\n" if text and line.start_line > last else "") + line.text
        last = line.end_line
    best = lines[run.best - run.first]
    origin = (
        MessageOrigin(best.heading, owner.local(best.at), best.role)
        if best.at is not None and owner is not None
        else None
    )
    return Passage(
        document_id=None if document.is_transcript else document.id,
        path=document.path,
        start_line=lines[0].start_line,
        end_line=last,
        score=round(score, 4),
        vector_score=0.0 if math.isnan(cosine) else round(cosine, 4),
        text_score=round(text_score, 4),
        snippet=text.strip()[: settings.SNIPPET_LENGTH],
        heading=lines[0].heading,
        day=origin.at.date() if origin else day_in(lines[0].heading) or day_in(document.path),
        origin=origin,
    )
