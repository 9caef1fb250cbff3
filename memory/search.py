"""Search: one SQL round trip for what scoring needs, arithmetic, and a second for the texts that won."""

import datetime as dt
import json
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from django.conf import settings
from django.db import connection
from django.db.backends.utils import CursorWrapper
from numpy.typing import NDArray
from psycopg import Cursor
from psycopg.pq import Format

from memory.dates import day_in
from memory.embeddings import embedder
from memory.languages import language_of
from memory.packing import unpack
from memory.ranking import bm25, standardised
from memory.terms import terms_of
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
    ) -> list[Passage]:
        """The passages that answer best, best first. A blank query finds nothing and asks nobody."""
        max_results = settings.SEARCH_RESULTS if max_results is None else max_results
        min_score = settings.SEARCH_FLOOR if min_score is None else min_score
        if not query.strip() or max_results < 1 or not self.spaces:
            return []
        documents, cosines = self._fetch(query)
        haystack = unpack(data for _, _, data in documents)
        if not len(haystack):
            return []
        text = bm25(haystack, terms_of(query, language_of(query)))
        vector = _by_key(cosines, haystack.units["key"])
        fused = settings.VECTOR_WEIGHT * standardised(vector) + settings.TEXT_WEIGHT * standardised(text)
        scores = 1 / (1 + np.exp(-(fused - 1)))
        order = [at for at in np.argsort(-scores, kind="stable")[:max_results] if scores[at] >= min_score]
        best_text = max(float(text.max()), 1e-9)
        won = [
            (documents[haystack.document[at]][0], int(haystack.ordinal[at]), int(haystack.units["key"][at]))
            for at in order
        ]
        texts = self._texts(won)
        passages = []
        for at, (document_id, ordinal, _) in zip(order, won, strict=True):
            row = texts.get((document_id, ordinal))
            if row is None:
                continue
            start, end, heading, snippet = row
            path = documents[haystack.document[at]][1]
            passages.append(
                Passage(
                    document_id,
                    path,
                    start,
                    end,
                    round(float(scores[at]), 4),
                    round(float(vector[at]), 4),
                    round(float(text[at]) / best_text, 4),
                    snippet[: settings.SNIPPET_LENGTH],
                    heading,
                    day_in(heading) or day_in(path),
                )
            )
        return passages

    def _fetch(self, query: str) -> tuple[list[tuple[int, str, bytes]], NDArray]:
        """(id, path, packed units) of each document in the order of their ids; the cosine of each vector by its key."""
        parameters: dict[str, object] = {"spaces": self.spaces}
        sql, model = UNITS, embedder()
        if model is not None:
            vector = model.embed([embedded_text(query)])[0]
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
    """The cosine of each unit; the mean of all where a unit has no vector yet."""
    if not len(cosines):
        return np.zeros(len(keys))
    order = np.argsort(cosines["key"])
    known, values = cosines["key"][order], cosines["cosine"][order].astype(float)
    at = np.minimum(np.searchsorted(known, keys), len(known) - 1)
    found = known[at] == keys
    return np.where(found, values[at], values[at][found].mean() if found.any() else 0.0)
