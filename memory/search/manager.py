"""Search spaces by words and vectors: one SQL round trip for the data to score, arithmetic, and a second round trip for
the lines of the results."""

import datetime as dt
import json
import uuid
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from django.conf import settings
from django.db import connection
from django.utils import timezone
from numpy.typing import NDArray

from memory.access.sources import Sources
from memory.index import models, vectors
from memory.index.embeddings import Embedder, embedder, near_words, rarities
from memory.policy.paths import RECENT_NAME
from memory.search import opinions
from memory.search.approximate import ApproximateScores
from memory.search.cache import (
    SOURCE,
    IndexedSource,
    PackedDocument,
    SearchData,
    array_literal,
    cached,
    discard,
    store,
)
from memory.search.confidence import (
    RELATED_MIN_SHARE,
    PassageRank,
    contains,
    passage_floor,
    probability,
    relatedness,
)
from memory.search.opinions import Opinion
from memory.search.passage import Line, Passage, Sought, build_passage
from memory.search.query import ParsedQuestion, text_to_embed
from memory.search.ranking import LegWeights, Run, Scores, ages, passages, score_by_words
from memory.search.statements import (
    CHANGED,
    HELD_TRANSCRIPTS,
    IDS,
    NARROW,
    NARROW_MAX_DIMENSIONS,
    OF_MEMORY,
    OPINIONS,
    SAID_LINES,
    TRANSCRIPTS,
    Statements,
)
from memory.text.index_format import LAYOUT_VERSION
from memory.text.languages import LANGUAGE_NAMES
from oneclaw.models import Space, Spend
from oneclaw.spend.calls import Payer
from oneclaw.text import replace_unstorable

# The parameters of a statement by name.
Parameters = dict[str, int | str | list[int] | uuid.UUID | None]
# What halfvec_send returns: the width in two bytes, two unused ones, and the numbers.
HALF, HALF_HEAD_BYTES = np.dtype(">f2"), 4
COSINE = np.dtype([("key", ">i8"), ("cosine", ">f4")])
# A passage includes neighbours that score at most this many points less than its best line: short passages with the
# answer. Without a limit each is filled to the length of a snippet: fewer passages with more context.
PASSAGE_SLACK_POINTS = 0.5
# The least cosine of a text near to a question, for a model that was not measured.
NEAR_COSINE_MIN_SCORE = 0.3
# Further characters of any query are ignored.
QUERY_READ_MAX_CHARS = 10_000


class HybridSearchManager:
    """A hybrid search (words and vectors) of some spaces, restricted to `sources`.

    The caller has checked that the person may read them. `statements` say which tables are searched; other tables than
    those of memory have no transcripts. `floor` is how sure it must be that they have anything about a question, by
    default `settings.SEARCH.floor`.
    """

    def __init__(
        self,
        spaces: Iterable[Space],
        sources: Sources | None = None,
        statements: Statements = OF_MEMORY,
        floor: float | None = None,
    ):
        found = list(spaces)
        self.spaces = sorted({space.pk for space in found})
        # Transcripts of private conversations are in these.
        self.private = sorted({space.pk for space in found if space.is_private})
        self.sources = Sources() if sources is None else sources
        self.statements = statements
        self.floor = settings.SEARCH.floor if floor is None else floor
        # Whether the last search went by words alone, because no model made a vector of the question.
        self.is_by_words = False

    def search(
        self,
        query: str,
        max_results: int | None = None,
        min_score: float | None = None,
        today: dt.date | None = None,
        slack: float = PASSAGE_SLACK_POINTS,
        *,
        fills_talk: bool = False,
    ) -> list[Passage]:
        """Return at most `max_results` passages for `query`, best first.

        Nothing is returned unless memory has anything about the question (`floor`). `min_score` (0 to
        1) is the lowest score of a passage, which says how likely it answers: 0 returns all, also unrelated ones, and
        without it passages that are too far below the best one are left out. A blank query finds nothing. `today` is
        the person's own day, from which "yesterday" counts. `slack` is how many points less than its best line a
        neighbour in a passage may score: 0 gives single lines, infinity passages filled to the length of a snippet.
        `fills_talk` fills passages around lines of talk.
        """
        max_results = settings.SEARCH.max_passages if max_results is None else max_results
        if not query.strip() or max_results < 1 or not self.spaces or not self.sources:
            return []
        # A shell passes bytes that are not Unicode as lone surrogates.
        query, model = replace_unstorable(query.strip()[:QUERY_READ_MAX_CHARS]), embedder()
        asked = QuestionVector.by(model, query, self._payer())
        self.is_by_words = asked.vector is None
        found, cosines, said = self._read(asked)
        corpus = found.corpus
        if not len(corpus):
            return []
        today = today or timezone.now().date()
        languages = tuple(LANGUAGE_NAMES[number] for number in corpus.languages)
        question = ParsedQuestion.read(
            query, today, near_words if model else None, languages, rarities if model else None
        )
        known = [one for one in question.concepts if not one.is_doubtful or contains(corpus, one)]
        question = replace(question, concepts=tuple(known) or question.concepts)
        weighed = leg_weights(model)
        age = ages(corpus, found.lasting, today.toordinal(), settings.SEARCH.half_life_days)
        words = score_by_words(corpus, question, weighed, age)
        if said:
            words = replace(words, total=words.total + opinions.points(corpus.chunks["key"], said, query))
        lines: dict[int, Line] = {}
        # If most chunks have no vector yet, words decide alone.
        if asked.vector is not None and is_large(found) and found.signed.mean() >= 0.5:
            estimate = ApproximateScores.of(found, words, weighed, asked.vector)
            rough = estimate.total()
            wanted = estimate.wanted(rough)
            around = np.unique(corpus.window_of(wanted)[0])
            # This statement also reads the lines of likely results, so that two round trips are enough.
            runs = passages(
                rough,
                corpus,
                2 * max_results + 10,
                slack,
                settings.SEARCH.snippet_max_chars,
                settings.SEARCH.relevance,
                fills_talk=fills_talk,
            )
            likely = np.union1d(around, chunks_of(runs)).tolist()
            lines, exact = self._lines(found, likely, asked, np.unique(corpus.chunks["key"][around]))
            scores = estimate.corrected(wanted, found.by_chunk(exact["key"], exact["cosine"]))
        else:
            cosine = unless_mostly_missing(found.by_chunk(cosines["key"], cosines["cosine"])) if len(cosines) else None
            scores = words.with_cosines(corpus, cosine, weighed)
        highest_text = max(float(scores.text.max()), 1e-9)
        # One more than asked for, because the lead of the best over the next one counts.
        runs = passages(
            scores.total,
            corpus,
            max_results + 1,
            slack,
            settings.SEARCH.snippet_max_chars,
            settings.SEARCH.relevance,
            fills_talk=fills_talk,
        )
        # Around a line of a file, as around one of talk, others answer.
        talk = (corpus.speaker > 0) | found.are_transcripts[corpus.document] | (self.statements is not OF_MEMORY)
        near = NEAR_COSINE_MIN_SCORE if weighed.related is None else weighed.related
        won = scored(list(runs), scores, talk, near, min_score, self.floor)[:max_results]
        if missing := [at for at in chunks_of([run for run, _ in won]) if at not in lines]:
            lines |= self._lines(found, missing)[0]
        sought = Sought(
            frozenset(term for one in question.concepts if one.is_name for term, own in one.terms.items() if own == 1),
            question.periods,
            NEAR_COSINE_MIN_SCORE if weighed.unrelated is None else weighed.unrelated,
        )
        return [
            build_passage(
                run,
                confidence,
                held,
                found.documents[corpus.document[run.best]],
                cosine=0.0 if scores.vector is None else float(scores.vector[run.best]),
                text_score=float(scores.text[run.best]) / highest_text,
                reader=self.sources.read_for,
                sought=sought,
            )
            for run, confidence in won
            # Skip a run whose document was indexed again in between: the next search finds it.
            if (held := [lines[at] for at in range(run.first, run.last + 1) if at in lines])
            and len(held) == run.last + 1 - run.first
        ]

    def _payer(self) -> Payer:
        asked_by = self.sources.asked_by or self.sources.transcripts_of
        return Payer(Spend.Purpose.EMBEDDING, asked_by.pk if asked_by else None, space_id=self.spaces[0])

    def _read(self, asked: "QuestionVector") -> tuple[SearchData, NDArray[np.void], list[Opinion]]:
        """Return the current corpus, the keys and cosines of all vectors unless there are too many, and what the person
        who asks has said about lines."""
        sources, owner = self.sources, self.sources.transcripts_of
        read = (
            owner.pk if owner else None,
            sources.shared_transcripts,
            sources.notes,
            sources.recent,
            sources.other_transcripts,
        )
        key = (self.statements.name, tuple(self.spaces), asked.model, read)
        known = cached(key)
        parameters: Parameters = self._whose() | {
            "spaces": self.spaces,
            "layout": LAYOUT_VERSION,
            "exact": settings.SEARCH.exact_max_chunks,
            "model": asked.model,
            "ids": known.ids if known else "{}",
            "said": known.said if known else "{}",
            "stamps": known.stamps if known else "{}",
            "recent_path": RECENT_NAME,
            "recent": sources.recent,
            "notes": sources.notes,
            "other_transcripts": sources.other_transcripts,
        }
        tables = self.statements
        sql = tables.held + CHANGED + tables.chunks
        if sources.reads_transcripts:
            sql = tables.held + HELD_TRANSCRIPTS + CHANGED + tables.chunks + TRANSCRIPTS
        sql += IDS if known else ""
        if sources.asked_by is not None:
            parameters["asked_by"] = sources.asked_by.pk
            sql += OPINIONS
        if asked.vector is not None:
            parameters |= {"width": len(asked.vector), "vector": asked.text}
            sql += tables.cosines + (NARROW if len(asked.vector) <= NARROW_MAX_DIMENSIONS else "")
        with connection.cursor() as cursor:
            cursor.execute(sql, parameters)
            rows = cursor.fetchall()
        fresh = [PackedDocument.of(IndexedSource(*row[:2]), *row[2:]) for row in rows if row[0] is not None]
        said = [Opinion.of(key, kind, terms) for _, _, name, key, kind, terms, _ in rows if name == "opinion"]
        extras = {row[2]: row[5] or b"" for row in rows if row[0] is None}
        found = known.changed(np.frombuffer(extras["ids"], SOURCE), fresh) if known else SearchData.of(fresh)
        if known is not None and is_large(known) != is_large(found):
            # The cached data lacks the signs that are needed now, or has signs that are no longer needed.
            discard(key)
            return self._read(asked)
        if is_large(found) and asked.vector is not None:
            found = self._sampled(found, known, asked)
        if found is known:
            _ = found.corpus.postings
        else:
            store(key, found)
        return found, np.frombuffer(extras.get("cosines", b""), COSINE), said

    def _sampled(self, found: SearchData, known: SearchData | None, asked: "QuestionVector") -> SearchData:
        """Return `found` with the vectors of its sample: from the cache (`known`), or read if the sample differs."""
        assert asked.vector is not None
        keys, width = found.sample_keys, len(asked.vector)
        if (
            known is not None
            and np.array_equal(known.sample_keys, keys)
            # No chunk of the sample has got its vector since.
            and np.array_equal(known.signed[known.sample], found.signed[found.sample])
            and known.sampled.shape == (len(keys), width)
        ):
            return known if found is known else replace(found, sampled=known.sampled)
        with connection.cursor() as cursor:
            cursor.execute(
                self.statements.sample_vectors, [array_literal(keys.tolist()), self.spaces, asked.model, width]
            )
            rows = cursor.fetchall()
        by_key = {key: np.frombuffer(vector, HALF, offset=HALF_HEAD_BYTES).astype(np.float32) for key, vector in rows}
        nothing = np.full(width, np.nan, np.float32)
        return replace(found, sampled=np.array([by_key.get(key, nothing) for key in keys.tolist()]))

    def _lines(
        self,
        found: SearchData,
        chunks: Sequence[int],
        asked: "QuestionVector | None" = None,
        keys: NDArray[np.int64] | None = None,
    ) -> tuple[dict[int, Line], NDArray[np.void]]:
        """Return the lines of `chunks` that are unchanged, by chunk, and the exact cosines of the texts with `keys`."""
        if not len(chunks) and keys is None:
            return {}, np.zeros(0, COSINE)
        corpus = found.corpus
        indices = np.array(chunks, np.intp)
        ids, said = found.document_ids[corpus.document[indices]], found.are_transcripts[corpus.document[indices]]
        ordinals, text_keys = corpus.ordinal[indices], corpus.chunks["key"][indices]
        sql = self.statements.lines + (SAID_LINES if self.sources.reads_transcripts else "")
        parameters = self._whose() | {"spaces": self.spaces}
        for prefix, of_kind in (("", ~said), ("said_", said)):
            parameters[f"{prefix}ids"] = array_literal(ids[of_kind].tolist())
            parameters[f"{prefix}ordinals"] = array_literal(ordinals[of_kind].tolist())
            parameters[f"{prefix}keys"] = array_literal(text_keys[of_kind].tolist())
        if asked is not None and keys is not None and asked.vector is not None:
            sql += self.statements.exactly
            parameters |= {"texts": array_literal(keys.tolist()), "vector": asked.text, "model": asked.model}
            parameters["width"] = len(asked.vector)
        with connection.cursor() as cursor:
            cursor.execute(sql, parameters)
            rows = cursor.fetchall()
        chunks_read = zip(said.tolist(), ids.tolist(), ordinals.tolist(), strict=True)
        chunk_at = dict(zip(chunks_read, indices.tolist(), strict=True))
        lines = {chunk_at[row[:3]]: Line._make(row[3:]) for row in rows if row[0] is not None}
        return lines, np.array([(row[1], float(row[6])) for row in rows if row[0] is None], COSINE)

    def _whose(self) -> Parameters:
        """Return the parameters that say which transcripts are read."""
        owner, session = self.sources.transcripts_of, self.sources.but_session
        after = self.sources.but_session_after
        shared = self.sources.shared_transcripts
        of = {"owner": owner.pk if owner else None, "private": self.private, "shared": shared}
        return {**of, "but_session": session, "but_session_after": after}


@dataclass(frozen=True)
class QuestionVector:
    """The vector of a question, None if words decide alone; `model` is the id of the model that made it, 0: none."""

    model: int
    vector: NDArray[np.float32] | None

    @classmethod
    def by(cls, model: Embedder | None, query: str, payer: Payer) -> "QuestionVector":
        """Embed `query` by `model`, or return a value without a vector if the model does not answer."""
        vector = vectors.question_vector(model, text_to_embed(query), payer) if model is not None else None
        if model is None:
            return cls(0, None)
        # Without an answer, the dimensions that this process saw last.
        dimensions = model.dimensions or 0 if vector is None else len(vector)
        return cls(models.model_id(model, dimensions), vector)

    @cached_property
    def text(self) -> str:
        """Return the vector in the form of a PostgreSQL literal."""
        return json.dumps([] if self.vector is None else self.vector.tolist())


def scored(
    runs: Sequence[Run], scores: Scores, talk: NDArray[np.bool_], near: float, min_score: float | None, floor: float
) -> list[tuple[Run, float]]:
    """Return the runs that are results, best first, each with the probability that it answers, which does not increase.

    `talk` says which chunks are of a conversation, `near` is the least cosine of a text that is near to the question;
    `min_score` and `floor` are as in HybridSearchManager.
    """
    total, evidence = scores.total, scores.evidence
    best, mean, deviation = float(total.max()), float(total.mean()), max(float(total.std()), 1e-9)
    found: list[tuple[Run, float]] = []
    lowest, related = 1.0, related_chunks(scores, near)
    if min_score != 0 and relatedness(evidence, 0) < floor:
        return found
    for at, run in enumerate(runs):
        below = best - run.score
        lead = runs[0].score - runs[1].score if at == 0 and len(runs) > 1 else 0.0
        rank = PassageRank(below, (run.score - mean) / deviation, lead, len(total), run.is_filled)
        lowest = min(lowest, probability(evidence, rank))
        is_result = relatedness(evidence, below) >= floor if min_score is None else lowest >= min_score
        if not is_result:
            break
        if (
            found
            and min_score != 0
            and lowest
            < passage_floor(
                found[0][1], is_talk=bool(talk[run.best]), is_related=bool(related[run.first : run.last + 1].any())
            )
        ):
            continue
        found.append(
            (run if run.is_filled or talk[run.best] or min_score == 0 else trimmed(run, related, total), lowest)
        )
    return found


def related_chunks(scores: Scores, near: float) -> NDArray[np.bool_]:
    """Return which chunks have words of the question, or a cosine of at least `near` with it."""
    has_words: NDArray[np.bool_] = scores.covered >= RELATED_MIN_SHARE
    return has_words if scores.vector is None else has_words | (np.nan_to_num(scores.vector) >= near)


def trimmed(run: Run, related: NDArray[np.bool_], total: NDArray[np.float64]) -> Run:
    """Return `run` without lines at its ends that are not related to the question; only its best line if none is."""
    held = [at for at in range(run.first, run.last + 1) if related[at]]
    if not held:
        return replace(run, first=run.best, last=run.best)
    return replace(run, first=held[0], last=held[-1], best=max(held, key=lambda at: total[at]))


def is_large(found: SearchData) -> bool:
    """Return whether there are too many chunks for an exact scan, so that signs of vectors choose candidates."""
    return len(found.corpus) > settings.SEARCH.exact_max_chunks


def chunks_of(runs: Iterable[Run]) -> list[int]:
    """Return the chunks of all runs."""
    return [at for run in runs for at in range(run.first, run.last + 1)]


def leg_weights(model: Embedder | None) -> LegWeights:
    """Return the weights of the two legs: the settings as multiples of their defaults, times the model's trust."""
    text = settings.SEARCH.text_weight / 0.3
    if model is None:
        return LegWeights(text, 0)
    return LegWeights(text, settings.SEARCH.vector_weight / 0.7 * model.trust, model.unrelated, model.related)


def unless_mostly_missing(cosines: NDArray[np.float64]) -> NDArray[np.float64] | None:
    """Return the cosines (NaN for chunks without a vector), or None if most are NaN, so that words decide alone."""
    return cosines if np.isnan(cosines).mean() <= 0.5 else None
