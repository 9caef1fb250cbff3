"""Search: one SQL round trip for what scoring needs, arithmetic, and a second for the texts that won."""

import datetime as dt
import json
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from django.conf import settings
from django.db import connection
from django.db.backends.utils import CursorWrapper
from django.utils import timezone
from numpy.typing import NDArray
from psycopg import Cursor
from psycopg.pq import Format

from memory.dates import day_in
from memory.embeddings import Embedder, embedder, near_words
from memory.packing import Haystack, unpack
from memory.question import Question
from memory.ranking import Scores, passages, scored
from memory.vectors import embedded_text, model_id
from oneclaw.models import Space

# Documents first (packed units), then one row for each space: key and cosine of every vector.
UNITS = """
SELECT document.id, document.path, index.data, NULL::bytea
  FROM memory_documentindex index JOIN memory_memorydocument document ON document.id = index.document_id
 WHERE index.space_id = ANY(%(spaces)s::bigint[]) AND document.space_id = ANY(%(spaces)s::bigint[])
"""
COSINES = """
UNION ALL
SELECT NULL, NULL, NULL, string_agg(int8send(text_key) || float4send(-(vector <#> %(vector)s::halfvec)::float4), '')
  FROM memory_textvector
 WHERE space_id = ANY(%(spaces)s::bigint[]) AND model_id = %(model)s::bigint AND vector_dims(vector) <= 1280
"""
TEXTS = """
SELECT chunk.document_id, chunk.ordinal, chunk.start_line, chunk.end_line, chunk.heading, chunk.text
  FROM memory_memorychunk chunk
  JOIN unnest(%s::bigint[], %s::int[], %s::bigint[]) AS won (document_id, ordinal, text_key)
 USING (document_id, ordinal, text_key)
 WHERE chunk.space_id = ANY(%s::bigint[])
"""
COSINE = np.dtype([("key", ">i8"), ("cosine", ">f4")])


@dataclass(frozen=True)
class Passage:
    """What a search found: some neighbouring lines of a document, as they stand there.

    `score` is calibrated to 0–1, best first; `vector_score` is the cosine, `text_score` the share of BM25.
    """

    document_id: int
    path: str
    start_line: int
    end_line: int
    score: float
    vector_score: float
    text_score: float
    snippet: str
    heading: str = ""
    day: dt.date | None = None


class HybridSearchManager:
    """Searches these spaces, and no other. The caller has made sure that the person may read them."""

    def __init__(self, spaces: Iterable[Space]):
        self.spaces = sorted({space.pk for space in spaces})

    def search(
        self,
        query: str,
        max_results: int | None = None,
        min_score: float | None = None,
        today: dt.date | None = None,
        slack: float = 2.0,
    ) -> list[Passage]:
        """The passages that answer best, best first. A blank query finds nothing and asks nobody."""
        max_results = settings.SEARCH_RESULTS if max_results is None else max_results
        min_score = settings.SEARCH_FLOOR if min_score is None else min_score
        if not query.strip() or max_results < 1 or not self.spaces:
            return []
        model = embedder()
        near = near_words if model else (lambda word: {})
        question = Question.read(query, today or timezone.now().date(), near)
        documents, cosines = self._fetch(question, model)
        haystack = unpack(data for _, _, data in documents)
        if not len(haystack):
            return []
        vector = None if model is None else _by_key(cosines, haystack.units["key"])
        scores = scored(
            haystack,
            question,
            vector,
            settings.TEXT_WEIGHT / 0.3,
            settings.VECTOR_WEIGHT / 0.7 * (model.trust if model else 0),
        )
        runs = list(passages(scores.total, haystack, max_results, slack, settings.SNIPPET_LENGTH))
        return self._read(runs, scores, haystack, documents)

    def _read(
        self,
        runs: list[tuple[int, int]],
        scores: Scores,
        haystack: Haystack,
        documents: list[tuple[int, str, bytes]],
    ) -> list[Passage]:
        units = [at for first, last in runs for at in range(first, last + 1)]
        texts = self._texts(
            [
                (documents[haystack.document[at]][0], int(haystack.ordinal[at]), int(haystack.units["key"][at]))
                for at in units
            ]
        )
        best_text = max(float(scores.text.max()), 1e-9)
        found = []
        for first, last in runs:
            document_id, path, _ = documents[haystack.document[first]]
            rows = [texts.get((document_id, int(haystack.ordinal[at]))) for at in range(first, last + 1)]
            if None in rows:  # indexed anew since: the next search sees it
                continue
            best = first + int(np.argmax(scores.total[first : last + 1]))
            heading = rows[0][2]
            found.append(
                Passage(
                    document_id=document_id,
                    path=path,
                    start_line=rows[0][0],
                    end_line=rows[-1][1],
                    score=round(float(1 / (1 + np.exp(-scores.total[best]))), 4),
                    vector_score=0.0 if scores.vector is None else round(float(np.nan_to_num(scores.vector[best])), 4),
                    text_score=round(float(scores.text[best]) / best_text, 4),
                    snippet=_joined(rows)[: settings.SNIPPET_LENGTH],
                    heading=heading,
                    day=day_in(heading) or day_in(path),
                )
            )
        return found

    def _fetch(self, question: Question, model: Embedder | None) -> tuple[list[tuple[int, str, bytes]], NDArray]:
        """(id, path, packed units) of each document in the order of their ids; the cosine of each vector by its key."""
        parameters: dict[str, object] = {"spaces": self.spaces}
        sql = UNITS
        if model is not None:
            vector = model.embed([embedded_text(question.embedded)])[0]
            parameters |= {
                "model": model_id(model),
                "vector": json.dumps(vector.astype(float).tolist()),
            }
            sql += COSINES
        with _binary_cursor() as cursor:
            cursor.execute(sql, parameters)
            rows = cursor.fetchall()
        documents = sorted(row[:3] for row in rows if row[0] is not None)
        packed = b"".join(row[3] for row in rows if row[3] is not None)
        return documents, np.frombuffer(packed, COSINE)

    def _texts(self, won: list[tuple[int, int, int]]) -> dict[tuple[int, int], tuple[int, int, str, str]]:
        if not won:
            return {}
        with connection.cursor() as cursor:
            cursor.execute(TEXTS, [*map(list, zip(*won, strict=True)), self.spaces])
            return {(row[0], row[1]): row[2:] for row in cursor.fetchall()}


def _binary_cursor() -> CursorWrapper:
    """A cursor whose answers come as bytes: half as many as in words, and nothing to parse. Django's own has none."""
    connection.ensure_connection()
    cursor = Cursor(connection.connection)
    cursor.format = Format.BINARY
    return connection._prepare_cursor(cursor)  # so that it is logged and counted like any other


def _by_key(cosines: NDArray, keys: NDArray[np.int64]) -> NDArray[np.float64]:
    """The cosine of each unit, NaN where it has no vector yet."""
    if not len(cosines):
        return np.full(len(keys), np.nan)
    order = np.argsort(cosines["key"])
    known, values = cosines["key"][order], cosines["cosine"][order].astype(float)
    at = np.minimum(np.searchsorted(known, keys), len(known) - 1)
    return np.where(known[at] == keys, values[at], np.nan)


def _joined(rows: list[tuple[int, int, str, str]]) -> str:
    """The texts of neighbouring units as they stand: a line between them, or nothing within one long line."""
    text, at = "", 0
    for start, end, _, piece in rows:
        text += ("\n" if text and start > at else "") + piece
        at = end
    return text.strip()
