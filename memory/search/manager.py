"""Search: one SQL round trip for what scoring needs, arithmetic, and a second for the lines that won."""

import datetime as dt
import json
import uuid
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import takewhile

import numpy as np
from django.conf import settings
from django.db import connection
from django.utils import timezone
from numpy.typing import NDArray

from memory.index import models, vectors
from memory.index.embeddings import Embedder, embedder, near_words
from memory.policy.access import Sources
from memory.policy.paths import RECENT
from memory.search.approximate import ApproximateScores
from memory.search.cache import PackedDocument, SearchData, array, cached, discard, store
from memory.search.confidence import contains, score
from memory.search.passage import Line, Passage, passage
from memory.search.query import Question, without_names
from memory.search.ranking import Legs, Run, ages, by_words, passages
from memory.text.index_format import LAYOUT
from memory.text.languages import NAMES
from oneclaw.models import Space
from oneclaw.text import mended

# What is searched: documents, and by negative ids transcripts, each with a stamp that changes whenever its row does.
HELD = """
WITH held AS MATERIALIZED (
    SELECT index.document_id AS id, hashtextextended(index.xmin::text || index.ctid::text, 0) AS stamp, index.units
      FROM memory_documentindex index JOIN memory_memorydocument document ON document.id = index.document_id
     WHERE index.space_id = ANY(%(spaces)s::bigint[]) AND document.space_id = ANY(%(spaces)s::bigint[])
       AND document.deleted_at IS NULL AND index.layout = %(layout)s
       AND CASE document.path WHEN %(recent_path)s THEN %(recent)s ELSE %(notes)s END
"""
# A conversation that was deleted is not found from that moment on, whenever its index goes.
HELD_TRANSCRIPTS = """
     UNION ALL
    SELECT -index.id, hashtextextended(index.xmin::text || index.ctid::text, 0), index.units
      FROM memory_transcriptindex index JOIN chat_chatsession session ON session.id = index.session_id
     WHERE index.owner_id = %(owner)s AND session.owner_id = %(owner)s AND index.space_id = ANY(%(spaces)s::bigint[])
       AND session.deleted_at IS NULL AND session.mode = 'agent' AND session.id IS DISTINCT FROM %(but_session)s::uuid
       AND index.layout = %(layout)s
"""
# The packed units of all that this process does not keep as it stands there now. The signs of the vectors only where
# there are too many for an exact scan.
UNITS = """
), many AS MATERIALIZED (SELECT coalesce(sum(units), 0) > %(exact)s AS are FROM held),
changed AS MATERIALIZED (
    SELECT held.id, held.stamp
      FROM held LEFT JOIN unnest(%(ids)s::bigint[], %(stamps)s::bigint[]) AS kept (id, stamp)
        ON kept.id = held.id AND kept.stamp = held.stamp
     WHERE kept.id IS NULL)
SELECT changed.id, document.path, changed.stamp, index.data,
       CASE WHEN (SELECT are FROM many) AND index.embedded_by_id = %(model)s::bigint THEN index.bits END
  FROM changed JOIN memory_documentindex index ON index.document_id = changed.id
  JOIN memory_memorydocument document ON document.id = changed.id
"""
TRANSCRIPTS = """
UNION ALL
SELECT changed.id, '/c/' || index.session_id, changed.stamp, index.data,
       CASE WHEN (SELECT are FROM many) AND index.embedded_by_id = %(model)s::bigint THEN index.bits END
  FROM changed JOIN memory_transcriptindex index ON index.id = -changed.id
"""
# In one row the ids of all of them, for whoever keeps some.
IDS = """
UNION ALL
SELECT NULL, 'ids', NULL, string_agg(int8send(id), ''), NULL FROM held
"""
# In one row the key and cosine of every vector, where they are not too many.
COSINES = """
UNION ALL
SELECT NULL, 'cosines', NULL,
       string_agg(int8send(text_key) || float4send(-(vector <#> %(vector)s::halfvec)::float4), ''), NULL
  FROM memory_textvector
 WHERE NOT (SELECT are FROM many) AND space_id = ANY(%(spaces)s::bigint[]) AND model_id = %(model)s::bigint
   AND vector_dims(vector) = %(width)s
"""
# What the covering index asks for; the vectors of wider models are read from the table.
NARROW, NARROW_WIDTH = " AND vector_dims(vector) <= 1280", 1280
LINES = """
SELECT chunk.document_id, chunk.ordinal, chunk.start_line, chunk.end_line, chunk.heading, chunk.text,
       0::bigint, '', NULL::timestamptz
  FROM memory_memorychunk chunk
  JOIN unnest(%(ids)s::bigint[], %(ordinals)s::int[], %(keys)s::bigint[]) AS won (document_id, ordinal, text_key)
 USING (document_id, ordinal, text_key)
 WHERE chunk.space_id = ANY(%(spaces)s::bigint[])
"""
SAID_LINES = """
UNION ALL
SELECT -chunk.index_id, chunk.ordinal, chunk.start_line, chunk.end_line, session.title, chunk.text,
       chunk.seq, chunk.role, chunk.at
  FROM memory_transcriptchunk chunk
  JOIN unnest(%(said_ids)s::bigint[], %(said_ordinals)s::int[], %(said_keys)s::bigint[])
    AS won (index_id, ordinal, text_key)
 USING (index_id, ordinal, text_key)
  JOIN memory_transcriptindex index ON index.id = chunk.index_id
  JOIN chat_chatsession session ON session.id = index.session_id
 WHERE index.owner_id = %(owner)s AND session.deleted_at IS NULL
"""
# The exact cosines of some texts, beside the lines of some units.
EXACTLY = """
UNION ALL
SELECT near.text_key, NULL, NULL, NULL, NULL, near.cosine::text, NULL, NULL, NULL
  FROM unnest(%(texts)s::bigint[]) AS asked (key) CROSS JOIN LATERAL (
       SELECT text_key, -(vector <#> %(vector)s::halfvec) AS cosine FROM memory_textvector
        WHERE space_id = ANY(%(spaces)s::bigint[]) AND model_id = %(model)s::bigint AND text_key = asked.key
          AND vector_dims(vector) = %(width)s LIMIT 1) AS near
"""
SAMPLE = """
SELECT DISTINCT ON (text_key) text_key, vector::text FROM memory_textvector
 WHERE text_key = ANY(%s::bigint[]) AND space_id = ANY(%s::bigint[]) AND model_id = %s::bigint
   AND vector_dims(vector) = %s
"""
# What is put into a statement, by its name there.
Parameters = dict[str, int | str | list[int] | uuid.UUID | None]
COSINE = np.dtype([("key", ">i8"), ("cosine", ">f4")])
# A passage takes in neighbours that score at most this much less than its best line: short ones, that hold what
# answers. Without a limit each is filled to SNIPPET_LENGTH characters: fewer and with more context.
SLACK = 0.5
# Characters of a question that are read, whoever asks.
QUERY_READ_MAX_CHARS = 10_000


class HybridSearchManager:
    """Search these spaces, and no others, and of them `sources`. The caller has checked that the person may
    read them."""

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
        """Return the passages that answer best, best first, none below `min_score`. A blank query finds nothing.

        `today` is the person's own day, from which "yesterday" counts. `slack` is how much less than its best line a
        neighbour in a passage may score: 0 gives single lines, infinity passages filled to SNIPPET_LENGTH.
        """
        max_results = settings.SEARCH_RESULTS if max_results is None else max_results
        min_score = settings.SEARCH_FLOOR if min_score is None else min_score
        if not query.strip() or max_results < 1 or not self.spaces or not self.sources:
            return []
        # A shell hands over bytes that are no Unicode as halves of surrogate pairs.
        query, model = mended(query.strip()[:QUERY_READ_MAX_CHARS]), embedder()
        asked = Asked.by(model, query)
        found, cosines = self._read(asked)
        corpus = found.corpus
        if not len(corpus):
            return []
        today = today or timezone.now().date()
        question = Question.read(
            query, today, near_words if model else None, tuple(NAMES[number] for number in corpus.languages)
        )
        known = [one for one in question.concepts if not one.is_doubtful or contains(corpus, one)]
        question = replace(question, concepts=tuple(known) or question.concepts)
        weighed = legs(model)
        age = ages(corpus, found.lasting, today.toordinal(), settings.HALF_LIFE)
        words = by_words(corpus, question, weighed, age)
        lines: dict[int, Line] = {}
        # Where most have no vector yet, words decide alone.
        if asked.vector is not None and is_large(found) and found.signed.mean() >= 0.5:
            estimate = ApproximateScores.of(found, words, weighed, asked.vector)
            rough = estimate.total()
            wanted = estimate.wanted(rough)
            around = np.unique(corpus.window_of(wanted)[0])
            # The lines of all that may win come along, for two round trips are enough.
            runs = passages(rough, corpus, 2 * max_results + 10, slack, settings.SNIPPET_LENGTH, settings.MMR)
            likely = np.union1d(around, units_of(runs)).tolist()
            lines, exact = self._lines(found, likely, asked, np.unique(corpus.units["key"][around]))
            scores = estimate.corrected(wanted, found.by_unit(exact["key"], exact["cosine"]))
        else:
            cosine = mostly(found.by_unit(cosines["key"], cosines["cosine"])) if len(cosines) else None
            scores = words.with_cosines(corpus, cosine, weighed)
        certain, best = scores.evidence.logit(), float(scores.total.max())
        most_said = max(float(scores.text.max()), 1e-9)
        runs = passages(scores.total, corpus, max_results, slack, settings.SNIPPET_LENGTH, settings.MMR)
        marked = ((run, score(certain, best - run.score)) for run in runs)
        won = list(takewhile(lambda one: one[1] >= min_score, marked))
        if missing := [at for at in units_of([run for run, _ in won]) if at not in lines]:
            lines |= self._lines(found, missing)[0]
        return [
            passage(
                run,
                mark,
                held,
                found.documents[corpus.document[run.best]],
                cosine=0.0 if scores.vector is None else float(scores.vector[run.best]),
                text_score=float(scores.text[run.best]) / most_said,
                owner=self.sources.transcripts_of,
            )
            for run, mark in won
            # None of a run whose document has been indexed anew since: the next search sees it.
            if (held := [lines[at] for at in range(run.first, run.last + 1) if at in lines])
            and len(held) == run.last + 1 - run.first
        ]

    def _read(self, asked: "Asked") -> tuple[SearchData, NDArray[np.void]]:
        """Read the corpus as it is now, and the cosines of all vectors by their keys, unless there are too many."""
        owner = self.sources.transcripts_of
        key = (tuple(self.spaces), asked.model, (owner.pk if owner else None, self.sources.notes, self.sources.recent))
        known = cached(key)
        parameters: Parameters = {
            "spaces": self.spaces,
            "layout": LAYOUT,
            "exact": settings.EXACT_UNITS,
            "model": asked.model,
            "ids": known.ids if known else "{}",
            "stamps": known.stamps if known else "{}",
            "recent_path": RECENT,
            "recent": self.sources.recent,
            "notes": self.sources.notes,
            "owner": owner.pk if owner else None,
            "but_session": self.sources.but_session,
        }
        sql = HELD + UNITS if owner is None else HELD + HELD_TRANSCRIPTS + UNITS + TRANSCRIPTS
        sql += IDS if known else ""
        if asked.vector is not None:
            parameters |= {"width": len(asked.vector), "vector": asked.text}
            sql += COSINES + (NARROW if len(asked.vector) <= NARROW_WIDTH else "")
        with connection.cursor() as cursor:
            cursor.execute(sql, parameters)
            rows = cursor.fetchall()
        fresh = [PackedDocument(row[0], row[1], row[2], row[3], row[4] or b"") for row in rows if row[0] is not None]
        told = {row[1]: row[3] or b"" for row in rows if row[0] is None}
        found = known.changed(np.frombuffer(told["ids"], ">i8"), fresh) if known else SearchData.of(fresh)
        if known is not None and is_large(known) != is_large(found):
            # What is kept lacks the signs that are needed now, or has those that no longer are.
            discard(key)
            return self._read(asked)
        if is_large(found) and asked.vector is not None:
            found = self._sampled(found, known, asked)
        if found is known:
            _ = found.corpus.postings
        else:
            store(key, found)
        return found, np.frombuffer(told.get("cosines", b""), COSINE)

    def _sampled(self, found: SearchData, known: SearchData | None, asked: "Asked") -> SearchData:
        """Return the data with the vectors of its sample: as cached, or read by a query when the sample is another."""
        assert asked.vector is not None
        keys, width = found.sample_keys, len(asked.vector)
        if (
            known is not None
            and np.array_equal(known.sample_keys, keys)
            # None has got its vector since.
            and np.array_equal(known.signed[known.sample], found.signed[found.sample])
            and known.sampled.shape == (len(keys), width)
        ):
            return known if found is known else replace(found, sampled=known.sampled)
        with connection.cursor() as cursor:
            cursor.execute(SAMPLE, [array(keys.tolist()), self.spaces, asked.model, width])
            rows = cursor.fetchall()
        by_key = {key: np.array(json.loads(vector), np.float32) for key, vector in rows}
        nothing = np.full(width, np.nan, np.float32)
        return replace(found, sampled=np.array([by_key.get(key, nothing) for key in keys.tolist()]))

    def _lines(
        self,
        found: SearchData,
        units: Sequence[int],
        asked: "Asked | None" = None,
        keys: NDArray[np.int64] | None = None,
    ) -> tuple[dict[int, Line], NDArray[np.void]]:
        """Read the lines of these units, if unchanged, and the exact cosines of the texts of these keys."""
        if not len(units) and keys is None:
            return {}, np.zeros(0, COSINE)
        corpus, owner = found.corpus, self.sources.transcripts_of
        places = np.array(units, np.intp)
        documents = found.document_ids[corpus.document[places]]
        ordinals, text_keys = corpus.ordinal[places], corpus.units["key"][places]
        sql = LINES if owner is None else LINES + SAID_LINES
        parameters: Parameters = {"spaces": self.spaces, "owner": owner.pk if owner else None}
        for prefix, of_kind in (("", documents > 0), ("said_", documents < 0)):
            parameters[f"{prefix}ids"] = array(abs(documents[of_kind]).tolist())
            parameters[f"{prefix}ordinals"] = array(ordinals[of_kind].tolist())
            parameters[f"{prefix}keys"] = array(text_keys[of_kind].tolist())
        if asked is not None and keys is not None and asked.vector is not None:
            sql += EXACTLY
            parameters |= {"texts": array(keys.tolist()), "vector": asked.text, "model": asked.model}
            parameters["width"] = len(asked.vector)
        with connection.cursor() as cursor:
            cursor.execute(sql, parameters)
            rows = cursor.fetchall()
        unit_at = dict(zip(zip(documents.tolist(), ordinals.tolist(), strict=True), places.tolist(), strict=True))
        lines = {unit_at[row[:2]]: Line._make(row[2:]) for row in rows if row[1] is not None}
        return lines, np.array([(row[0], float(row[5])) for row in rows if row[1] is None], COSINE)


@dataclass(frozen=True)
class Asked:
    """The vector of a question: None when words decide alone. `model` is the number of who made it, 0: nobody."""

    model: int
    vector: NDArray[np.float32] | None

    @classmethod
    def by(cls, model: Embedder | None, query: str) -> "Asked":
        vector = vectors.of_question(model, without_names(query)) if model is not None else None
        if model is None:
            return cls(0, None)
        # Without an answer, by the model that this process knows.
        width = model.width or 0 if vector is None else len(vector)
        return cls(models.model_id(model, width), vector)

    @cached_property
    def text(self) -> str:
        """Return the vector in the form of a PostgreSQL literal."""
        return json.dumps([] if self.vector is None else self.vector.tolist())


def is_large(found: SearchData) -> bool:
    """Return whether there are so many units that the signs of vectors choose which ones are compared."""
    return len(found.corpus) > settings.EXACT_UNITS


def units_of(runs: Iterable[Run]) -> list[int]:
    """Return the units of all runs."""
    return [at for run in runs for at in range(run.first, run.last + 1)]


def legs(model: Embedder | None) -> Legs:
    """Return the weights of the two legs: the settings as multiples of their defaults, and what the model is worth."""
    text = settings.TEXT_WEIGHT / 0.3
    if model is None:
        return Legs(text, 0)
    return Legs(text, settings.VECTOR_WEIGHT / 0.7 * model.trust, model.unrelated, model.related)


def mostly(cosines: NDArray[np.float64]) -> NDArray[np.float64] | None:
    """Return the cosines, NaN where a unit has no vector yet; None when most have none: then words decide alone."""
    return cosines if np.isnan(cosines).mean() <= 0.5 else None
