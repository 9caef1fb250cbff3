"""Which units answer a question, and which passages they make. Arithmetic only.

Every unit is scored at three scales, itself, its window (the two units before and after it in its section) and its
document, by two legs: words (BM25) and vectors (cosine). Each leg at each scale is standardised over all units
searched, so that the weights compare like with like; docs/retrieval.md tells what was measured.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from memory.confidence import Evidence, coverage, strangeness
from memory.dates import Period
from memory.packing import ASKS, HEADING, TELLS_TIME, Haystack
from memory.question import Concept, Question

Numbers = NDArray[np.float64]

# BM25 (Robertson and Zaragoza, 2009): how soon repetition saturates, how much length counts.
K1, B = 1.2, 0.75


@dataclass(frozen=True)
class Scores:
    """What each unit got: all in all, its cosine, its BM25. `evidence`: whether any of it answers the question."""

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

    def nearness(self, cosines: Numbers) -> float:
        """The best cosine between 0 (as of unrelated texts) and 1 (as of related ones).

        Where nobody has measured the model, its own spread tells: the best of unrelated lines stands three deviations
        above their mean, an answer four and a half.
        """
        mean, deviation = cosines.mean(), max(float(cosines.std()), 1e-9)
        unrelated = mean + 3.2 * deviation if self.unrelated is None else self.unrelated
        related = mean + 4.5 * deviation if self.related is None else self.related
        # Bounded, so that a word that stands there is found whatever the vectors say.
        return float(np.clip((cosines.max() - unrelated) / (related - unrelated), -0.5, 1.5))


def scored(haystack: Haystack, question: Question, cosines: Numbers | None, legs: Legs) -> Scores:
    """Every unit's score. `cosines` has one number for each unit, NaN where it has no vector; None: words only."""
    weights, units = Weights(), haystack.units
    asked, concepts = _named(haystack, question)
    found = matches(haystack, concepts)
    in_windows = [haystack.windowed(frequency) for frequency in found]
    in_documents = [np.bincount(haystack.document, frequency).astype(float) for frequency in found]
    lengths = units["terms"].astype(float)
    unit = bm25(found, lengths)
    window = bm25(in_windows, haystack.windowed(lengths))
    document = bm25(in_documents, np.bincount(haystack.document, lengths).astype(float))
    text = (
        weights.text_unit * standardised(unit)
        + weights.text_window * standardised(window)
        + weights.text_document * standardised(document[haystack.document])
    )
    total = legs.text * text
    nearness = None
    if cosines is not None:
        known = ~np.isnan(cosines)
        filled = np.where(known, cosines, cosines[known].mean() if known.any() else 0.0)
        size = haystack.windowed(np.ones(len(units)))
        total += legs.vector * (
            weights.vector_unit * standardised(filled)
            + weights.vector_window * standardised(haystack.windowed(filled) / size)
        )
        if known.any():
            nearness = legs.nearness(cosines[known])
    timeless = [window for concept, window in zip(concepts, in_windows, strict=True) if not concept.is_time]
    # A question that is nothing but a day is answered by that day.
    covered = coverage(timeless) if timeless or not in_windows else float(_cue_of_days(haystack, question).max() >= 1)
    evidence = Evidence(covered, nearness, bool(asked), strangeness(haystack, question))
    return Scores(total + _cues(haystack, question, asked, weights), cosines, unit, evidence)


def _named(haystack: Haystack, question: Question) -> tuple[set[int], list[Concept]]:
    """Who of those who talk is named in the question, and the concepts that are left without their names."""
    talking = set(np.unique(haystack.units["speaker"]).tolist()) - {0}
    named = {concept.name for concept in question.concepts} & talking
    return named, [concept for concept in question.concepts if concept.name not in named]


def _cues(haystack: Haystack, question: Question, named: set[int], weights: Weights) -> Numbers:
    """What speaks for a line apart from its words."""
    cues = -weights.heading * haystack.flagged(HEADING) - weights.asking * haystack.flagged(ASKS)
    replies = haystack.flagged(ASKS)[:-1] & (haystack.section[1:] == haystack.section[:-1])
    cues[1:] += weights.reply * replies
    if len(named) == 1:
        cues += weights.speaker * (haystack.units["speaker"] == next(iter(named)))
    if question.asks_when:
        cues += weights.time * haystack.flagged(TELLS_TIME)
    return cues + weights.day * _cue_of_days(haystack, question)


def _cue_of_days(haystack: Haystack, question: Question) -> Numbers:
    return np.max([np.zeros(len(haystack)), *(_closeness(haystack, period) for period in question.periods)], axis=0)


def _closeness(haystack: Haystack, period: Period) -> Numbers:
    """1 on the days meant, then less each day (what happened is told afterwards), 0 before them and without a day."""
    days = haystack.units["day"].astype(float)
    after = np.maximum(days - period.last.toordinal(), 0)
    return np.where(days >= period.first.toordinal(), np.exp(-after / 7), 0)


def matches(haystack: Haystack, concepts: Sequence[Concept]) -> list[Numbers]:
    """For each concept how often it stands in each unit, by weight."""
    terms = np.unique(np.array([term for concept in concepts for term in concept.terms] or [0], np.uint32))
    # Most terms of a space are none of these: half of their bits tell so, in one pass.
    seen = np.zeros(1 << 16, bool)
    seen[terms & 0xFFFF] = True
    at = np.flatnonzero(seen[haystack.terms.view(np.uint16)[::2]])
    place = np.minimum(np.searchsorted(terms, haystack.terms[at]), len(terms) - 1)
    same = terms[place] == haystack.terms[at]
    units, place = haystack.unit_of_term[at[same]], place[same]
    found = []
    for concept in concepts:
        weights = np.zeros(len(terms))
        weights[np.searchsorted(terms, np.array(list(concept.terms), np.uint32))] = list(concept.terms.values())
        weight = weights[place]
        held = np.flatnonzero(weight)
        found.append(np.bincount(units[held], weight[held], minlength=len(haystack)).astype(float))
    return found


def bm25(found: Sequence[Numbers], lengths: Numbers) -> Numbers:
    """The BM25 score of each text, by how often each concept stands in it and by its length in terms.

    How many texts hold a concept is counted among these.
    """
    count = len(lengths)
    scores = np.zeros(count)
    norm = K1 * (1 - B + B * lengths / max(lengths.mean(), 1e-9)) if count else lengths
    for frequency in found:
        holding = np.minimum(frequency, 1).sum()
        rarity = np.log(1 + (count - holding + 0.5) / (holding + 0.5))
        where = np.flatnonzero(frequency)
        often = frequency[where]
        scores[where] += rarity * often * (K1 + 1) / (often + norm[where])
    return scores


@dataclass(frozen=True)
class Run:
    """Units that are shown together: the best of them, the first and the last."""

    best: int
    first: int
    last: int


def passages(total: Numbers, haystack: Haystack, most: int, slack: float, longest: int) -> Iterator[Run]:
    """The passages, best first; no unit is in two.

    A passage begins as the best unit left and takes in the better of its neighbours, within its section and at most
    `longest` characters, while that is at most `slack` below the best.
    """
    characters, section = haystack.units["characters"], haystack.section
    heading = haystack.flagged(HEADING)
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

    for best in best_first(total, most * 24):
        if best in taken:
            continue
        taken.add(best)
        first = last = best
        size = int(characters[best])
        while sides := [at for at in (first - 1, last + 1) if free(at, best, size)]:
            at = max(sides, key=lambda side: (total[side], -side))
            taken.add(at)
            first, last, size = min(first, at), max(last, at), size + int(characters[at]) + 1
        yield Run(best, first, last)
        most -= 1
        if not most:
            return


def best_first(total: Numbers, most: int) -> list[int]:
    """The places of the highest scores, highest first; of equals the earlier one first."""
    if most < len(total):
        bound = np.partition(total, -most)[-most]
        among = np.flatnonzero(total >= bound)
    else:
        among = np.arange(len(total))
    return among[np.argsort(-total[among], kind="stable")].tolist()


def standardised(scores: Numbers) -> Numbers:
    """Scores minus their mean, over their deviation; zeros when all are the same."""
    deviation = scores.std() if len(scores) else 0.0
    return (scores - scores.mean()) / deviation if deviation > 1e-9 else np.zeros_like(scores)
