"""Combine the scores of words and vectors, and choose the passages that the best chunks form. Arithmetic only.

Every chunk is scored at three scales (itself, its window of two chunks before and after it in its section, its
document) by two legs: words (BM25) and vectors (cosine). Each leg at each scale is standardised over all chunks
searched, so that the weights are comparable; docs/retrieval.md has the measurements.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from heapq import heapify, heappop, heappush

import numpy as np
from numpy.typing import NDArray

from memory.search.confidence import Coverage, Evidence, coverage, share_of_unknown_names
from memory.search.query import Concept, ParsedQuestion
from memory.text.dates import Period
from memory.text.index_format import ASKS, HEADING, TELLS_TIME, Corpus, sum_by_index

Numbers = NDArray[np.float64]

# BM25 (Robertson and Zaragoza, 2009): saturation of the term frequency, and weight of the length.
K1, B = 1.2, 0.75
# The penalty of the oldest notes: so small that age only decides between otherwise equal chunks.
AGE_MAX_PENALTY_POINTS = 0.01
# Older notes count as this old.
AGE_MAX_DAYS = 36_500
# Lines with this share of common terms begin to count as duplicates; and points of ranking for 1 on MMR's scale.
DUPLICATE_MIN_SHARE, MMR_SCALE_POINTS = 0.5, 12.0
# The size of the memories in which the cosines of the models were measured.
MEASURED_CHUNKS = 650
# Chunks on each side that a filled passage may include, and points of ranking by which a line is worth e times more.
FILL_CHUNKS_PER_SIDE, FILL_POINTS_PER_E = 12, 1.5
# The deviation of scores by words counts as at least about this share of their mean.
DEVIATION_MIN_SHARE = 0.5
# Chunks that may begin a passage, at least: so many that the first results do not depend on the number of results.
CANDIDATE_MIN_CHUNKS = 1500


@dataclass(frozen=True)
class Scores:
    """The scores of each chunk (total, cosine, BM25), and the evidence that any chunk answers the question."""

    total: Numbers
    vector: Numbers | None
    text: Numbers
    evidence: Evidence
    # The share of the question that each chunk contains.
    covered: Numbers


@dataclass(frozen=True)
class Weights:
    """The weight of one deviation of each leg, by scale. Fitted and tested on different conversations."""

    text_chunk: float = 0.14
    text_window: float = 0.40
    text_document: float = 0.56
    vector_chunk: float = 0.43
    vector_window: float = 0.39
    # What a line gains if the person named in the question says it, if it states a time that was asked for, if it is of
    # the days meant (half of it five days later), and if it answers a question; what a question and a heading lose.
    speaker: float = 2.9
    time: float = 2.5
    day: float = 2.7
    reply: float = 0.35
    asking: float = 1.0
    heading: float = 6.0


@dataclass(frozen=True)
class LegWeights:
    """The weights of the legs as multiples of the fitted ones, and the model's cosines of unrelated and related texts.

    `unrelated` and `related` are the best cosines that a question typically gets from a memory that does not answer it
    and from one that does; None if they were not measured.
    """

    text: float = 1.0
    vector: float = 1.0
    unrelated: float | None = None
    related: float | None = None

    def nearness(self, best: float, mean: float, deviation: float, count: int) -> float:
        """Return `best`, the best of `count` cosines, on a scale from 0 (unrelated texts) to 1 (related texts).

        The best of many unrelated lines is higher than the best of a few: the maximum of n normal numbers grows with
        √(2 ln n) deviations. For a model that was not measured, the distribution of its cosines decides: the best of
        unrelated lines is about three deviations above their mean, an answer four and a half.
        """
        deviation = max(deviation, 1e-9)
        if self.unrelated is not None:
            best += self.unrelated * (1 - math.sqrt(math.log(max(count, 2)) / math.log(MEASURED_CHUNKS)))
        unrelated = mean + 3.2 * deviation if self.unrelated is None else self.unrelated
        related = mean + 4.5 * deviation if self.related is None else self.related
        # Bounded, so that vectors cannot hide a line that contains the words.
        return float(np.clip((best - unrelated) / (related - unrelated), -0.5, 1.5))


@dataclass(frozen=True)
class WordScores:
    """The scores of each chunk without vectors, in total and by BM25, and the evidence without vectors."""

    total: Numbers
    text: Numbers
    covered: Coverage
    knows_speaker: bool
    unknown_names: float

    def with_cosines(self, corpus: Corpus, cosines: Numbers | None, legs: LegWeights) -> Scores:
        """Return the scores with the vector leg; `cosines` has NaN for chunks without a vector, None: no vectors."""
        if cosines is None:
            return self.scores(self.total, None, None)
        known = ~np.isnan(cosines)
        filled = np.where(known, cosines, cosines[known].mean() if known.any() else 0.0)
        windows = corpus.windowed(filled) / corpus.sizes
        total = self.total + vector_leg(legs, standardised(filled), standardised(windows))
        known_ones = cosines[known]
        nearness = None
        if count := len(known_ones):
            nearness = legs.nearness(known_ones.max(), known_ones.mean(), known_ones.std(), count)
        return self.scores(total, cosines, nearness)

    def scores(self, total: Numbers, cosines: Numbers | None, nearness: float | None) -> Scores:
        """Return the scores with `total`, and with the cosines and the nearness that vectors add."""
        covered = self.covered
        evidence = Evidence(covered.share, nearness, self.knows_speaker, self.unknown_names, covered.fitting)
        return Scores(total, cosines, self.text, evidence, covered.by_chunk)


def vector_leg(legs: LegWeights, chunk: Numbers, window: Numbers) -> Numbers:
    """Return what the vector leg adds to the scores, from the standardised cosines of each `chunk` and `window`."""
    return legs.vector * (Weights.vector_chunk * chunk + Weights.vector_window * window)


def score_by_words(
    corpus: Corpus, question: ParsedQuestion, legs: LegWeights, age: Numbers | float = 0.0
) -> WordScores:
    """Score each chunk by everything but vectors; `age` is that of each chunk, 0 to 1."""
    weights = Weights()
    asked, concepts = _named(corpus, question)
    found = matches(corpus, concepts)
    windows = [Frequency(*corpus.in_windows(one.indices, one.counts)) for one in found]
    documents = [
        Frequency(*sum_by_index(corpus.document[one.indices], one.counts, len(corpus.starts) - 1)) for one in found
    ]
    lengths = corpus.lengths
    chunk = bm25(found, lengths[0])
    document = bm25(documents, lengths[2])
    total = legs.text * (
        weights.text_chunk * by_contrast(chunk)
        + weights.text_window * by_contrast(bm25(windows, lengths[1]))
        + weights.text_document * by_contrast(document[corpus.document])
    )
    timeless = [at for at, concept in enumerate(concepts) if not concept.is_time]
    # A question that consists of a day only is answered by that day.
    if timeless or not windows:
        covered = coverage(
            [concepts[at].substance for at in timeless],
            [(windows[at].indices, windows[at].counts) for at in timeless],
            [(found[at].indices, found[at].counts) for at in timeless],
            len(corpus),
        )
    else:
        on_day = _cue_of_days(corpus, question) >= 1
        covered = Coverage(float(on_day.any()), max(int(on_day.sum()), 1), on_day.astype(float))
    total = total + _cues(corpus, question, asked, weights) - AGE_MAX_PENALTY_POINTS * age
    return WordScores(total, chunk, covered, bool(asked), share_of_unknown_names(corpus, question))


def ages(corpus: Corpus, lasting: Sequence[bool], today: int, half_life: float) -> Numbers:
    """Return the age of each chunk: 0 today or without a date, 0.5 after `half_life` days, approaching 1.

    `lasting` says for each document whether its age does not count; `today` is a day as date.toordinal().
    """
    old = np.clip(today - corpus.days, 0, AGE_MAX_DAYS)
    old[corpus.days == 0] = 0
    if any(lasting):
        old[np.array(lasting, bool)[corpus.document]] = 0
    return _age_by_days(half_life)[old]


@lru_cache(maxsize=4)
def _age_by_days(half_life: float) -> Numbers:
    """Return the values of `ages` by age in days."""
    return 1 - 0.5 ** (np.arange(AGE_MAX_DAYS + 1) / half_life)


def _named(corpus: Corpus, question: ParsedQuestion) -> tuple[set[int], list[Concept]]:
    """Return the speakers that the question names, and the concepts without those names."""
    named = {concept.name for concept in question.concepts} & corpus.speakers
    return named, [concept for concept in question.concepts if concept.name not in named]


def _cues(corpus: Corpus, question: ParsedQuestion, named: set[int], weights: Weights) -> Numbers:
    """Score each chunk by its features apart from words: heading, question, reply, speaker, time, day."""
    cues = -weights.heading * corpus.flagged(HEADING) - weights.asking * corpus.flagged(ASKS)
    replies = corpus.flagged(ASKS)[:-1] & (corpus.section[1:] == corpus.section[:-1])
    cues[1:] += weights.reply * replies
    if len(named) == 1:
        cues += weights.speaker * (corpus.speaker == next(iter(named)))
    if question.asks_when:
        cues += weights.time * corpus.flagged(TELLS_TIME)
    return cues + weights.day * _cue_of_days(corpus, question)


def _cue_of_days(corpus: Corpus, question: ParsedQuestion) -> Numbers:
    """Return how close the day of each chunk is to the closest period that the question means, 0 to 1."""
    nearness = [np.zeros(len(corpus)), *(_closeness(corpus, period) for period in question.periods)]
    nearest: Numbers = np.max(nearness, axis=0)
    return nearest


def _closeness(corpus: Corpus, period: Period) -> Numbers:
    """Return 1 for days in `period`, less for each day after it (people report afterwards), 0 before it or undated."""
    days = corpus.days
    after = np.maximum(days - period.last.toordinal(), 0)
    return np.where(days >= period.first.toordinal(), np.exp(-after / 7), 0)


@dataclass(frozen=True)
class Frequency:
    """The texts that contain a concept, in ascending order, and the weighted frequency in each."""

    indices: NDArray[np.intp]
    counts: Numbers


def matches(corpus: Corpus, concepts: Sequence[Concept]) -> list[Frequency]:
    """Return for each of `concepts` the chunks of `corpus` that contain it."""
    terms = np.unique(np.array([term for concept in concepts for term in concept.terms] or [0], np.uint32))
    chunks_of_term = dict(zip(terms.tolist(), corpus.holding(terms), strict=True))
    found = []
    for concept in concepts:
        chunks = [chunks_of_term[term] for term in concept.terms]
        weights = np.repeat(list(concept.terms.values()), [len(one) for one in chunks])
        found.append(Frequency(*sum_by_index(np.concatenate(chunks), weights, len(corpus))))
    return found


def bm25(found: Sequence[Frequency], lengths: Numbers) -> Numbers:
    """Return the BM25 score of each text, by its frequencies of the concepts (`found`) and its length in terms.

    The document frequency of a concept is counted among these texts.
    """
    count = len(lengths)
    scores = np.zeros(count)
    average = max(float(lengths.mean()), 1e-9) if count else 1.0
    for one in found:
        containing = np.minimum(one.counts, 1).sum()
        rarity = np.log(1 + (count - containing + 0.5) / (containing + 0.5))
        norm = K1 * (1 - B + B / average * lengths[one.indices])
        scores[one.indices] += rarity * (K1 + 1) * one.counts / (one.counts + norm)
    return scores


@dataclass(frozen=True)
class Run:
    """Consecutive chunks that form a passage: the best, the first and the last one, and the score in the ranking.

    `is_filled`: whether it was filled to the longest passage, instead of growing by lines that score as well.
    """

    best: int
    first: int
    last: int
    score: float
    is_filled: bool = False


def passages(
    total: Numbers,
    corpus: Corpus,
    most: int,
    slack: float,
    longest: int,
    relevance: float = 1.0,
    *,
    fills_talk: bool = False,
) -> Iterator[Run]:
    """Yield at most `most` passages, best first; no chunk is in two of them.

    A passage starts as the best remaining chunk and grows by the better of its neighbours, within its section and
    within `longest` characters, while that scores at most `slack` points less than the best chunk. With infinite
    `slack` it is the run around the best chunk with the highest sum of scores; with `fills_talk`, also around a line of
    talk, which says little without those around it. A heading is shown with the text below
    it, so it starts a passage only if there is none. `relevance` is MMR's λ (Carbonell and Goldstein, 1998): below 1,
    lines that nearly repeat a better one rank lower.
    """
    characters, section = corpus.chunks["characters"], corpus.section
    heading = corpus.flagged(HEADING)
    taken: set[int] = set()

    def free(at: int, of: int, size: int, slack: float) -> bool:
        return (
            0 <= at < len(total)
            and section[at] == section[of]
            and at not in taken
            and not heading[at]
            and total[at] >= total[of] - slack
            and size + characters[at] < longest
        )

    followed = heading & np.append(section[1:] == section[:-1], False)
    pool = np.array(best_first(total, max(CANDIDATE_MIN_CHUNKS, most * 24)), np.intp)
    candidates = pool[~followed[pool]].tolist()
    for best, score in diverse(total, corpus, candidates, relevance):
        if best in taken:
            continue
        is_filled = slack == math.inf or (fills_talk and bool(corpus.speaker[best]))
        if is_filled:
            first, last = fullest(total, best, longest, characters, partial(free, slack=math.inf))
        else:
            first = last = best
            size = int(characters[best])
            while sides := [at for at in (first - 1, last + 1) if free(at, best, size, slack)]:
                at = max(sides, key=lambda side: (total[side], -side))
                first, last, size = min(first, at), max(last, at), size + int(characters[at]) + 1
        taken.update(range(first, last + 1))
        yield Run(best, first, last, score, is_filled)
        most -= 1
        if not most:
            return


def fullest(
    total: Numbers, best: int, longest: int, characters: NDArray[np.uint32], free: Callable[[int, int, int], bool]
) -> tuple[int, int]:
    """Return the first and last chunk of the run around `best` with the highest worth within `longest` characters."""
    low = high = best
    while best - low < FILL_CHUNKS_PER_SIDE and free(low - 1, best, 0):
        low -= 1
    while high - best < FILL_CHUNKS_PER_SIDE and free(high + 1, best, 0):
        high += 1
    worth = np.exp((total[low : high + 1] - total[best]) / FILL_POINTS_PER_E)
    gained = np.concatenate([[0.0], np.cumsum(worth)])
    sizes = np.concatenate([[0], np.cumsum(characters[low : high + 1].astype(int) + 1)])
    runs = [
        (first, last)
        for first in range(low, best + 1)
        for last in range(best, high + 1)
        if sizes[last + 1 - low] - sizes[first - low] <= longest
    ]
    return max(runs, key=lambda run: gained[run[1] + 1 - low] - gained[run[0] - low], default=(best, best))


def diverse(total: Numbers, corpus: Corpus, candidates: Sequence[int], relevance: float) -> Iterator[tuple[int, float]]:
    """Yield the candidates with their scores, highest first, each reduced by its similarity to those before it.

    The algorithm is greedy, so the first results do not depend on how many are taken.
    """
    cost = MMR_SCALE_POINTS * (1 - relevance) / relevance
    ranked = list(zip(candidates, total[candidates].tolist(), strict=True))
    if not cost:
        yield from ranked
        return
    ends = corpus.term_ends
    shown: list[frozenset[int]] = []
    # Negative score, rank by score, chunk, and how many of `shown` it has been compared with.
    waiting = [(-score, rank, at, 0) for rank, (at, score) in enumerate(ranked)]
    heapify(waiting)
    while waiting:
        score, rank, at, compared = heappop(waiting)
        terms = frozenset(corpus.terms[ends[at] - corpus.chunks["terms"][at] : ends[at]].tolist())
        similarity = max((jaccard(terms, other) for other in shown[compared:]), default=0.0)
        excess = max(similarity - DUPLICATE_MIN_SHARE, 0)
        reduced = max(score, -float(total[at]) + cost * excess / (1 - DUPLICATE_MIN_SHARE))
        if reduced > score and waiting and reduced > waiting[0][0]:
            heappush(waiting, (reduced, rank, at, len(shown)))
            continue
        shown.append(terms)
        yield at, -reduced


def jaccard(one: frozenset[int], other: frozenset[int]) -> float:
    """Return the Jaccard similarity of two sets of terms: the share that both contain."""
    return len(one & other) / len(one | other) if one and other else 0.0


def best_first(total: Numbers, most: int) -> list[int]:
    """Return the indices of the `most` highest scores, highest first; of equal scores the earlier one first."""
    if most < len(total):
        bound = np.partition(total, -most)[-most]
        among = np.flatnonzero(total >= bound)
    else:
        among = np.arange(len(total))
    indices: list[int] = among[np.argsort(-total[among], kind="stable")].tolist()
    return indices


def standardised(scores: Numbers, over: tuple[float, float] | None = None) -> Numbers:
    """Return the scores minus their mean, over their deviation (or those in `over`); zeros if all are the same."""
    mean, deviation = over or ((scores.mean(), scores.std()) if len(scores) else (0.0, 0.0))
    return (scores - mean) / deviation if deviation > 1e-9 else np.zeros_like(scores)


def by_contrast(scores: Numbers) -> Numbers:
    """Return scores of 0 or more standardised, with a lower bound on their deviation.

    Scores that differ little compared with their mean mean little: in a memory of a few lines each window contains the
    word, and only the lengths of the lines would decide.
    """
    mean, deviation = (float(scores.mean()), float(scores.std())) if len(scores) else (0.0, 0.0)
    return standardised(scores, (mean, math.hypot(deviation, DEVIATION_MIN_SHARE * mean)))
