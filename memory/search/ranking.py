"""Which units answer a question, and which passages they make. Arithmetic only.

Every unit is scored at three scales, itself, its window (the two units before and after it in its section) and its
document, by two legs: words (BM25) and vectors (cosine). Each leg at each scale is standardised over all units
searched, so that the weights compare like with like; docs/retrieval.md tells what was measured.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from heapq import heapify, heappop, heappush

import numpy as np
from numpy.typing import NDArray

from memory.search.confidence import Evidence, coverage, share_of_unknown_names
from memory.search.query import Concept, Question
from memory.text.dates import Period
from memory.text.index_format import ASKS, HEADING, TELLS_TIME, Corpus, summed

Numbers = NDArray[np.float64]

# BM25 (Robertson and Zaragoza, 2009): how soon repetition saturates, how much length counts.
K1, B = 1.2, 0.75
# What the oldest dated note loses: as much as nothing beside any other reason, so that only equals part by age.
AGE_PENALTY_MAX = 0.01
# Days after which a note is as old as any.
AGE_MAX_DAYS = 36_500
# Two lines say the same from this share of common terms on; and how many points of ranking one step of MMR's scale is.
DUPLICATE_SIMILARITY, MMR_SCALE_POINTS = 0.5, 12.0
# Units of the memories in which the models' cosines were measured.
MEASURED_UNITS = 650
# Units on each side that a filled passage may take in, and the points of ranking by which a line is worth e times more.
FILL_UNITS_PER_SIDE, FILL_POINTS_PER_E = 12, 1.5
# A deviation of scores by words counts as at least this share of their mean, nearly.
DEVIATION_MIN_SHARE = 0.5
# Units that may begin a passage, however few are asked for: so many that the first results are the same for any number.
CANDIDATE_UNITS_MIN = 1500


@dataclass(frozen=True)
class Scores:
    """The scores of each unit: total, cosine, BM25. `evidence`: whether any unit answers the question."""

    total: Numbers
    vector: Numbers | None
    text: Numbers
    evidence: Evidence


@dataclass(frozen=True)
class Weights:
    """How much one deviation of each leg counts, by scale. Fitted on conversations, judged on others."""

    text_unit: float = 0.14
    text_window: float = 0.40
    text_document: float = 0.56
    vector_unit: float = 0.43
    vector_window: float = 0.39
    # What a line gains when the person named in the question says it, when it tells a time that was asked for, when it
    # is of the days meant (half of it is gone five days after them), and when it answers a line that asks; what a line
    # that asks and a heading lose.
    speaker: float = 2.9
    time: float = 2.5
    day: float = 2.7
    reply: float = 0.35
    asking: float = 1.0
    heading: float = 6.0


@dataclass(frozen=True)
class Legs:
    """How the two legs weigh, as multiples of what was fitted, and the cosines at which the model's vectors of
    unrelated and of related texts stand."""

    text: float = 1.0
    vector: float = 1.0
    unrelated: float | None = None
    related: float | None = None

    def nearness(self, best: float, mean: float, deviation: float, count: int) -> float:
        """Return the best cosine of `count` between 0 (as of unrelated texts) and 1 (as of related ones).

        The best of many unrelated lines is nearer than the best of a few, as the highest of so many normal numbers is
        (√(2 ln n) deviations). Where nobody has measured the model, its own spread tells: the best of unrelated lines
        stands three deviations above their mean, an answer four and a half.
        """
        deviation = max(deviation, 1e-9)
        if self.unrelated is not None:
            best += self.unrelated * (1 - math.sqrt(math.log(max(count, 2)) / math.log(MEASURED_UNITS)))
        unrelated = mean + 3.2 * deviation if self.unrelated is None else self.unrelated
        related = mean + 4.5 * deviation if self.related is None else self.related
        # Bounded, so that a word that stands there is found whatever the vectors say.
        return float(np.clip((best - unrelated) / (related - unrelated), -0.5, 1.5))


@dataclass(frozen=True)
class Words:
    """The scores of each unit without vectors, in total and by BM25; how far the question is covered; whether it names
    a speaker; the share of its names that no unit contains."""

    total: Numbers
    text: Numbers
    covered: float
    knows_speaker: bool
    unknown_names: float

    def with_cosines(self, corpus: Corpus, cosines: Numbers | None, legs: Legs) -> Scores:
        """Return the scores with the vector leg."""
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
        """Return the scores with this total and what vectors add."""
        return Scores(
            total, cosines, self.text, Evidence(self.covered, nearness, self.knows_speaker, self.unknown_names)
        )


def vector_leg(legs: Legs, unit: Numbers, window: Numbers) -> Numbers:
    """Return what vectors add to the scores, from the standardised cosines of units and of windows."""
    return legs.vector * (Weights.vector_unit * unit + Weights.vector_window * window)


def by_words(corpus: Corpus, question: Question, legs: Legs, age: Numbers | float = 0.0) -> Words:
    """Score each unit by everything but vectors."""
    weights = Weights()
    asked, concepts = _named(corpus, question)
    found = matches(corpus, concepts)
    windows = [Frequency(*corpus.in_windows(one.places, one.often)) for one in found]
    documents = [Frequency(*summed(corpus.document[one.places], one.often, len(corpus.starts) - 1)) for one in found]
    lengths = corpus.lengths
    unit = bm25(found, lengths[0])
    document = bm25(documents, lengths[2])
    total = legs.text * (
        weights.text_unit * by_contrast(unit)
        + weights.text_window * by_contrast(bm25(windows, lengths[1]))
        + weights.text_document * by_contrast(document[corpus.document])
    )
    timeless = [window for concept, window in zip(concepts, windows, strict=True) if not concept.is_time]
    # A question that is nothing but a day is answered by that day.
    if timeless or not windows:
        covered = coverage([(window.places, window.often) for window in timeless], len(corpus))
    else:
        covered = float(_cue_of_days(corpus, question).max() >= 1)
    total = total + _cues(corpus, question, asked, weights) - AGE_PENALTY_MAX * age
    return Words(total, unit, covered, bool(asked), share_of_unknown_names(corpus, question))


def ages(corpus: Corpus, lasting: Sequence[bool], today: int, half_life: float) -> Numbers:
    """Return the age of each dated unit: 0 of today, 0.5 after `half_life` days, towards 1.

    `lasting` says of each document whether it never fades; `today` is a day's toordinal().
    """
    old = np.clip(today - corpus.days, 0, AGE_MAX_DAYS)
    old[corpus.days == 0] = 0
    if any(lasting):
        old[np.array(lasting, bool)[corpus.document]] = 0
    return _faded(half_life)[old]


@lru_cache(maxsize=4)
def _faded(half_life: float) -> Numbers:
    """Return the values of `ages` by age in days."""
    return 1 - 0.5 ** (np.arange(AGE_MAX_DAYS + 1) / half_life)


def _named(corpus: Corpus, question: Question) -> tuple[set[int], list[Concept]]:
    """Return the speakers that the question names, and the concepts that are left without their names."""
    named = {concept.name for concept in question.concepts} & corpus.speakers
    return named, [concept for concept in question.concepts if concept.name not in named]


def _cues(corpus: Corpus, question: Question, named: set[int], weights: Weights) -> Numbers:
    """Score each line by what it is, apart from its words: heading, question, reply, speaker, time, day."""
    cues = -weights.heading * corpus.flagged(HEADING) - weights.asking * corpus.flagged(ASKS)
    replies = corpus.flagged(ASKS)[:-1] & (corpus.section[1:] == corpus.section[:-1])
    cues[1:] += weights.reply * replies
    if len(named) == 1:
        cues += weights.speaker * (corpus.speaker == next(iter(named)))
    if question.asks_when:
        cues += weights.time * corpus.flagged(TELLS_TIME)
    return cues + weights.day * _cue_of_days(corpus, question)


def _cue_of_days(corpus: Corpus, question: Question) -> Numbers:
    """Return how near the day of each unit is to a period that the question means."""
    nearness = [np.zeros(len(corpus)), *(_closeness(corpus, period) for period in question.periods)]
    nearest: Numbers = np.max(nearness, axis=0)
    return nearest


def _closeness(corpus: Corpus, period: Period) -> Numbers:
    """Return 1 on the days meant, then less each day (people report afterwards), 0 before them and without a day."""
    days = corpus.days
    after = np.maximum(days - period.last.toordinal(), 0)
    return np.where(days >= period.first.toordinal(), np.exp(-after / 7), 0)


@dataclass(frozen=True)
class Frequency:
    """Which texts contain a concept, each once and in order, and how often by weight."""

    places: NDArray[np.intp]
    often: Numbers


def matches(corpus: Corpus, concepts: Sequence[Concept]) -> list[Frequency]:
    """Return for each concept the units that contain it."""
    terms = np.unique(np.array([term for concept in concepts for term in concept.terms] or [0], np.uint32))
    holding = dict(zip(terms.tolist(), corpus.holding(terms), strict=True))
    found = []
    for concept in concepts:
        units = [holding[term] for term in concept.terms]
        weights = np.repeat(list(concept.terms.values()), [len(one) for one in units])
        found.append(Frequency(*summed(np.concatenate(units), weights, len(corpus))))
    return found


def bm25(found: Sequence[Frequency], lengths: Numbers) -> Numbers:
    """Return the BM25 score of each text, by how often it contains each concept and by its length in terms.

    How many texts hold a concept is counted among these.
    """
    count = len(lengths)
    scores = np.zeros(count)
    average = max(float(lengths.mean()), 1e-9) if count else 1.0
    for one in found:
        holding = np.minimum(one.often, 1).sum()
        rarity = np.log(1 + (count - holding + 0.5) / (holding + 0.5))
        norm = K1 * (1 - B + B / average * lengths[one.places])
        scores[one.places] += rarity * (K1 + 1) * one.often / (one.often + norm)
    return scores


@dataclass(frozen=True)
class Run:
    """Units that are shown together: the best of them, the first and the last; and what counted in the ranking."""

    best: int
    first: int
    last: int
    score: float


def passages(
    total: Numbers, corpus: Corpus, most: int, slack: float, longest: int, relevance: float = 1.0
) -> Iterator[Run]:
    """Yield the passages, best first; no unit is in two.

    A passage begins as the best unit left and takes in the better of its neighbours, within its section and at most
    `longest` characters, while that is at most `slack` below the best; with no such limit it is the run around the best
    unit that has the most score. A heading is told with what stands under it and begins a passage only where nothing
    does. `relevance` is MMR's λ (Carbonell and Goldstein, 1998): below 1, lines that say nearly what a better one says
    make room.
    """
    characters, section = corpus.units["characters"], corpus.section
    heading = corpus.flagged(HEADING)
    taken: set[int] = set()

    def free(at: int, of: int, size: int) -> bool:
        return (
            0 <= at < len(total)
            and section[at] == section[of]
            and at not in taken
            and not heading[at]
            and total[at] >= total[of] - slack
            and size + characters[at] < longest
        )

    followed = heading & np.append(section[1:] == section[:-1], False)
    pool = np.array(best_first(total, max(CANDIDATE_UNITS_MIN, most * 24)), np.intp)
    candidates = pool[~followed[pool]].tolist()
    for best, score in diverse(total, corpus, candidates, relevance):
        if best in taken:
            continue
        if slack == math.inf:
            first, last = fullest(total, best, longest, characters, free)
        else:
            first = last = best
            size = int(characters[best])
            while sides := [at for at in (first - 1, last + 1) if free(at, best, size)]:
                at = max(sides, key=lambda side: (total[side], -side))
                first, last, size = min(first, at), max(last, at), size + int(characters[at]) + 1
        taken.update(range(first, last + 1))
        yield Run(best, first, last, score)
        most -= 1
        if not most:
            return


def fullest(
    total: Numbers, best: int, longest: int, characters: NDArray[np.uint32], free: Callable[[int, int, int], bool]
) -> tuple[int, int]:
    """Return the first and last unit of the run around `best` with the most score within `longest` characters."""
    low = high = best
    while best - low < FILL_UNITS_PER_SIDE and free(low - 1, best, 0):
        low -= 1
    while high - best < FILL_UNITS_PER_SIDE and free(high + 1, best, 0):
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
    """Yield the candidates with their scores, highest first, each less by its similarity to those before it.

    Greedy, so that the first are the same however many are taken.
    """
    cost = MMR_SCALE_POINTS * (1 - relevance) / relevance
    ranked = list(zip(candidates, total[candidates].tolist(), strict=True))
    if not cost:
        yield from ranked
        return
    ends = corpus.term_ends
    shown: list[frozenset[int]] = []
    # Score, place in the order, unit, and how many of those shown it has been compared with.
    waiting = [(-score, place, at, 0) for place, (at, score) in enumerate(ranked)]
    heapify(waiting)
    while waiting:
        score, place, at, compared = heappop(waiting)
        terms = frozenset(corpus.terms[ends[at] - corpus.units["terms"][at] : ends[at]].tolist())
        alike = max((likeness(terms, other) for other in shown[compared:]), default=0.0)
        less = max(score, -float(total[at]) + cost * max(alike - DUPLICATE_SIMILARITY, 0) / (1 - DUPLICATE_SIMILARITY))
        if less > score and waiting and less > waiting[0][0]:
            heappush(waiting, (less, place, at, len(shown)))
            continue
        shown.append(terms)
        yield at, -less


def likeness(one: frozenset[int], other: frozenset[int]) -> float:
    """Return the share of their terms that both have (Jaccard)."""
    return len(one & other) / len(one | other) if one and other else 0.0


def best_first(total: Numbers, most: int) -> list[int]:
    """Return the indices of the highest scores, highest first; of equals the earlier one first."""
    if most < len(total):
        bound = np.partition(total, -most)[-most]
        among = np.flatnonzero(total >= bound)
    else:
        among = np.arange(len(total))
    places: list[int] = among[np.argsort(-total[among], kind="stable")].tolist()
    return places


def standardised(scores: Numbers, over: tuple[float, float] | None = None) -> Numbers:
    """Return the scores minus their mean, over their deviation (or those given); zeros when all are the same."""
    mean, deviation = over or ((scores.mean(), scores.std()) if len(scores) else (0.0, 0.0))
    return (scores - mean) / deviation if deviation > 1e-9 else np.zeros_like(scores)


def by_contrast(scores: Numbers) -> Numbers:
    """Standardise scores that are 0 or more. Those that differ little beside their mean say little, and their deviation
    counts as larger: in a memory of a few lines each window contains the word, and only lengths would decide."""
    mean, deviation = (float(scores.mean()), float(scores.std())) if len(scores) else (0.0, 0.0)
    return standardised(scores, (mean, math.hypot(deviation, DEVIATION_MIN_SHARE * mean)))
