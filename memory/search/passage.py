"""What a search finds: passages, and how a run of lines becomes one."""

import datetime as dt
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from django.conf import settings

from memory.index.transcripts import label
from memory.search.cache import PackedDocument
from memory.search.ranking import Run
from memory.text.dates import day_in
from oneclaw.models import User

# Characters of a search that a person types, and passages that it shows.
QUERY_MAX_CHARS, RESULTS_SHOWN = 1000, 20


@dataclass(frozen=True)
class Said:
    """Of a passage of a conversation: which one, and by whom and when (on its owner's clock) its best line was said."""

    title: str
    at: dt.datetime
    role: str


@dataclass(frozen=True)
class Passage:
    """Neighbouring lines of a document, as they stand there; or of a conversation (`said`), each message under a line
    that says by whom and when.

    `score` says from 0 to 1 how sure the search is of it, and falls from each result to the next; `vector_score` is the
    cosine of its best line, `text_score` that line's BM25 as a share of the best one's.
    """

    # None: of a conversation, whose address is the path.
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
    said: Said | None = None


class Line(NamedTuple):
    """A unit as it is shown. Of a transcript: its message's place, who said it, and when; `heading` is the title."""

    start_line: int
    end_line: int
    heading: str
    text: str
    seq: int = 0
    role: str = ""
    at: dt.datetime | None = None


def passage(
    run: Run,
    mark: float,
    lines: Sequence[Line],
    document: PackedDocument,
    cosine: float,
    text_score: float,
    owner: User | None,
) -> Passage:
    """Return the passage that shows a run. `cosine` is NaN where its best line has no vector yet."""
    text, last, seq = "", lines[0].end_line, 0
    for line in lines:
        if line.at is not None and owner is not None and line.seq != seq:
            text += ("\n\n" if text else "") + label(line.role, owner.local(line.at))
            seq, last = line.seq, 0
        # A long line's pieces follow each other without a break.
        text += ("\n" if text and line.start_line > last else "") + line.text
        last = line.end_line
    best = lines[run.best - run.first]
    said = Said(best.heading, owner.local(best.at), best.role) if best.at is not None and owner is not None else None
    return Passage(
        document_id=None if document.is_transcript else document.id,
        path=document.path,
        start_line=lines[0].start_line,
        end_line=last,
        score=round(mark, 4),
        vector_score=0.0 if math.isnan(cosine) else round(cosine, 4),
        text_score=round(text_score, 4),
        snippet=text.strip()[: settings.SNIPPET_LENGTH],
        heading=lines[0].heading,
        day=said.at.date() if said else day_in(lines[0].heading) or day_in(document.path),
        said=said,
    )
