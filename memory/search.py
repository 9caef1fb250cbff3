"""Search: one SQL round trip for what scoring needs, arithmetic, and a second for the lines that won."""

import datetime as dt
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import takewhile
from typing import Any

import numpy as np
from django.conf import settings
from django.db import connection
from django.db.backends.utils import CursorWrapper
from django.utils import timezone
from numpy.typing import NDArray
from psycopg import Cursor
from psycopg.pq import Format

from memory import vectors
from memory.confidence import score
from memory.dates import day_in
from memory.embeddings import Embedder, embedder, near_words
from memory.languages import NAMES
from memory.packing import LAYOUT, Haystack, unpack
from memory.question import Question, without_names
from memory.ranking import Legs, Run, Scores, passages, scored
from memory.scope import RECENT, Sources
from memory.transcripts import label
from oneclaw.models import Space, User
from oneclaw.text import mended

# The packed units of each document and of each transcript, and in one last row the key and cosine of every vector of
# these spaces.
UNITS = """
SELECT false, document.id, document.path, index.data
  FROM memory_documentindex index JOIN memory_memorydocument document ON document.id = index.document_id
 WHERE index.space_id = ANY(%(spaces)s::bigint[]) AND document.space_id = ANY(%(spaces)s::bigint[])
   AND index.layout = %(layout)s AND CASE document.path WHEN %(recent_path)s THEN %(recent)s ELSE %(notes)s END
"""
# A conversation that was deleted is not found from that moment on, whenever its index goes.
TRANSCRIPTS = """
UNION ALL
SELECT true, index.id, '/c/' || session.id, index.data
  FROM memory_transcriptindex index JOIN chat_chatsession session ON session.id = index.session_id
 WHERE index.owner_id = %(owner)s AND session.owner_id = %(owner)s AND index.space_id = ANY(%(spaces)s::bigint[])
   AND session.deleted_at IS NULL AND session.mode = 'agent' AND session.id IS DISTINCT FROM %(but_session)s::uuid
   AND index.layout = %(layout)s
"""
COSINES = """
UNION ALL
SELECT NULL, NULL, NULL, string_agg(int8send(text_key) || float4send(-(vector <#> %(vector)s::halfvec)::float4), '')
  FROM memory_textvector
 WHERE space_id = ANY(%(spaces)s::bigint[]) AND model_id = %(model)s::bigint AND vector_dims(vector) = %(width)s
"""
# What the covering index asks for; the vectors of wider models are read from the table.
NARROW, NARROW_WIDTH = " AND vector_dims(vector) <= 1280", 1280
LINES = """
SELECT false, chunk.document_id, chunk.ordinal, chunk.start_line, chunk.end_line, chunk.heading, chunk.text,
       0::bigint, '', NULL::timestamptz
  FROM memory_memorychunk chunk
  JOIN unnest(%(ids)s::bigint[], %(ordinals)s::int[], %(keys)s::bigint[]) AS won (document_id, ordinal, text_key)
 USING (document_id, ordinal, text_key)
 WHERE chunk.space_id = ANY(%(spaces)s::bigint[])
"""
SAID_LINES = """
UNION ALL
SELECT true, chunk.index_id, chunk.ordinal, chunk.start_line, chunk.end_line, session.title, chunk.text,
       chunk.seq, chunk.role, chunk.at
  FROM memory_transcriptchunk chunk
  JOIN unnest(%(said_ids)s::bigint[], %(said_ordinals)s::int[], %(said_keys)s::bigint[])
    AS won (index_id, ordinal, text_key)
 USING (index_id, ordinal, text_key)
  JOIN memory_transcriptindex index ON index.id = chunk.index_id
  JOIN chat_chatsession session ON session.id = index.session_id
 WHERE index.owner_id = %(owner)s AND session.deleted_at IS NULL
"""
COSINE = np.dtype([("key", ">i8"), ("cosine", ">f4")])
# A passage takes in neighbours that score at most this much less than its best line: short ones, that hold what
# answers. Without a limit each is filled to SNIPPET_LENGTH characters: fewer and with more context.
SLACK = 0.5


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


@dataclass(frozen=True)
class Line:
    """A unit as it is shown. Of a transcript: its message's place, who said it, and when; `heading` is the title."""

    start_line: int
    end_line: int
    heading: str
    text: str
    seq: int = 0
    role: str = ""
    at: dt.datetime | None = None


class HybridSearchManager:
    """Searches these spaces, and no other, and of them `sources`. The caller has made sure that the person may read
    them."""

    def __init__(self, spaces: Iterable[Space], sources: Sources | None = None):
        self.spaces = sorted({space.pk for space in spaces})
        self.sources = Sources() if sources is None else sources

    def search(
        self,
        query: str,
        max_results: int | None = None,
        min_score: float | None = None,
        today: dt.date | None = None,
        slack: float = SLACK,
    ) -> list[Passage]:
        """The passages that answer best, best first, none below `min_score`. A blank query asks nobody.

        `today` is the person's own day, from which "yesterday" counts. `slack` is how much less than its best line a
        neighbour in a passage may score: 0 gives single lines, infinity passages filled to SNIPPET_LENGTH.
        """
        max_results = settings.SEARCH_RESULTS if max_results is None else max_results
        min_score = settings.SEARCH_FLOOR if min_score is None else min_score
        if not query.strip() or max_results < 1 or not self.spaces or not self.sources:
            return []
        # A shell hands over bytes that are no Unicode as halves of surrogate pairs.
        query, model = mended(query), embedder()
        documents, cosines = self._fetch(query, model)
        haystack = unpack(document.data for document in documents)
        if not len(haystack):
            return []
        near = near_words if model else lambda word: {}
        languages = tuple(NAMES[number] for number in haystack.languages)
        question = Question.read(query, today or timezone.now().date(), near, languages)
        scores = scored(haystack, question, cosines_of(haystack, cosines), legs(model))
        certain, best = scores.evidence.logit(), scores.total.max()
        runs = passages(scores.total, haystack, max_results, slack, settings.SNIPPET_LENGTH)
        marked = ((run, score(certain, float(best - scores.total[run.best]))) for run in runs)
        found = list(takewhile(lambda one: one[1] >= min_score, marked))
        lines = self._lines([run for run, _ in found], haystack, documents)
        return [
            passage(run, mark, lines[run], documents[haystack.document[run.best]], scores, self.sources.transcripts_of)
            for run, mark in found
            if lines[run]
        ]

    def _fetch(self, query: str, model: Embedder | None) -> tuple[list["Packed"], NDArray[np.void]]:
        """The packed units of each document in the order of their ids; the cosine of each vector by its key."""
        owner = self.sources.transcripts_of
        parameters: dict[str, Any] = {
            "spaces": self.spaces,
            "layout": LAYOUT,
            "recent_path": RECENT,
            "recent": self.sources.recent,
            "notes": self.sources.notes,
            "owner": owner and owner.pk,
            "but_session": self.sources.but_session,
        }
        sql = UNITS if owner is None else UNITS + TRANSCRIPTS
        if model is not None and (vector := vectors.of_question(model, without_names(query))) is not None:
            parameters |= {
                "model": vectors.model_id(model),
                "width": len(vector),
                "vector": json.dumps(vector.tolist()),
            }
            sql += COSINES + (NARROW if len(vector) <= NARROW_WIDTH else "")
        with binary_cursor() as cursor:
            cursor.execute(sql, parameters)
            rows = cursor.fetchall()
        packed = (Packed(*row) for row in rows if row[0] is not None)
        documents = sorted(packed, key=lambda document: (document.is_transcript, document.id))
        cosines = b"".join(row[3] for row in rows if row[0] is None and row[3] is not None)
        return documents, np.frombuffer(cosines, COSINE)

    def _lines(self, runs: Sequence[Run], haystack: Haystack, documents: Sequence["Packed"]) -> dict[Run, list[Line]]:
        """The lines of each run; none of a run whose document has been indexed anew since: the next search sees it."""
        units = [at for run in runs for at in range(run.first, run.last + 1)]
        if not units:
            return {}
        wanted = {at: documents[haystack.document[at]] for at in units}
        ordinals, keys = haystack.ordinal, haystack.units["key"]
        owner = self.sources.transcripts_of
        parameters: dict[str, Any] = {"spaces": self.spaces, "owner": owner and owner.pk}
        for prefix, is_transcript in (("", False), ("said_", True)):
            of_kind = [at for at, document in wanted.items() if document.is_transcript == is_transcript]
            parameters[f"{prefix}ids"] = [wanted[at].id for at in of_kind]
            parameters[f"{prefix}ordinals"] = ordinals[of_kind].tolist()
            parameters[f"{prefix}keys"] = keys[of_kind].tolist()
        with connection.cursor() as cursor:
            cursor.execute(LINES if owner is None else LINES + SAID_LINES, parameters)
            found = {row[:3]: Line(*row[3:]) for row in cursor.fetchall()}
        lines = {
            at: found.get((document.is_transcript, document.id, int(ordinals[at]))) for at, document in wanted.items()
        }
        return {
            run: [line for line in held if line is not None] if None not in held else []
            for run in runs
            for held in [[lines[at] for at in range(run.first, run.last + 1)]]
        }


@dataclass(frozen=True)
class Packed:
    """A document as its index holds it, or a transcript."""

    is_transcript: bool
    id: int
    path: str
    data: bytes


def passage(
    run: Run, mark: float, lines: Sequence[Line], document: Packed, scores: Scores, owner: User | None
) -> Passage:
    """What is shown of a run."""
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
    cosine = 0.0 if scores.vector is None else float(np.nan_to_num(scores.vector[run.best]))
    return Passage(
        document_id=None if document.is_transcript else document.id,
        path=document.path,
        start_line=lines[0].start_line,
        end_line=last,
        score=round(mark, 4),
        vector_score=round(cosine, 4),
        text_score=round(float(scores.text[run.best] / max(scores.text.max(), 1e-9)), 4),
        snippet=text.strip()[: settings.SNIPPET_LENGTH],
        heading=lines[0].heading,
        day=said.at.date() if said else day_in(lines[0].heading) or day_in(document.path),
        said=said,
    )


def legs(model: Embedder | None) -> Legs:
    """How the two legs weigh: as the settings say, as multiples of their defaults, and as far as the model goes."""
    text = settings.TEXT_WEIGHT / 0.3
    if model is None:
        return Legs(text, 0)
    return Legs(text, settings.VECTOR_WEIGHT / 0.7 * model.trust, model.unrelated, model.related)


def cosines_of(haystack: Haystack, cosines: NDArray[np.void]) -> NDArray[np.float64] | None:
    """The cosine of each unit, NaN where it has no vector yet; None when most have none: then words decide alone."""
    if not len(cosines):
        return None
    keys = haystack.units["key"]
    order = np.argsort(cosines["key"])
    known, values = cosines["key"][order], cosines["cosine"][order].astype(float)
    at = np.minimum(np.searchsorted(known, keys), len(known) - 1)
    found = np.where(known[at] == keys, values[at], np.nan)
    return found if np.isnan(found).mean() <= 0.5 else None


def binary_cursor() -> CursorWrapper:
    """A cursor whose answers come as bytes: half as many as in words, and nothing to parse. Django's own has none."""
    connection.ensure_connection()
    cursor = Cursor(connection.connection)
    cursor.format = Format.BINARY
    return connection._prepare_cursor(cursor)  # type: ignore[attr-defined]  # so that it is logged and counted like any other
