"""Estimate whether memory has anything about a question, and how likely each passage answers it, both from 0 to 1.

Ranking only compares chunks with each other: the best of a thousand unrelated lines is still the best. The two values
use what can be compared between questions: the share of the question that is found, weighted by rarity; the best
cosine, on the scale of the model; whether the names in the question are known; and, for a passage, how far it is from
the best one and from the rest. The numbers are those of logistic regressions on questions asked of their own
conversation, of other conversations, and nonsense (docs/retrieval.md).
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from memory.search.query import Concept, ParsedQuestion
from memory.text.index_format import Corpus

# The logit that gives the default floor of 0.35, and the factor by which logits are compressed around it.
FLOOR_LOGIT, LOGIT_FACTOR = -0.62, 0.5
# How much each point of ranking below the best chunk reduces the logit.
RANKING_FACTOR = 0.25
# Points of ranking beyond which a passage is no less likely, or its lead no greater evidence.
BELOW_BEST_MAX_POINTS, LEAD_MAX_POINTS = 12.0, 6.0
# The least probability of a passage as a share of the best one (docs/decisions/search.md): of talk, of a note that has
# words or the meaning of the question, and of any other note.
TALK_MIN_SHARE_OF_BEST, RELATED_MIN_SHARE_OF_BEST, OTHERS_MIN_SHARE_OF_BEST = 0.005, 0.1, 0.8
# A note has words of the question if it has this share of it, weighted by rarity.
RELATED_MIN_SHARE = 0.25
# Rarity is computed as if there were at least this many windows. Among one or two lines every word is common, and a
# word that is found would weigh less than one that is not.
RARITY_MIN_WINDOWS = 200
# A chunk fits a question if it has at least this share of it, and of what the best chunk has.
FITTING_MIN_SHARE, FITTING_SHARE_OF_BEST = 0.5, 0.8
# How many rare words of a long message, found in one chunk, are all that it asks for; and the words of a question that
# has nothing else. Of twice as many, one is in some chunk by chance.
QUESTION_WORDS, FOCUSED_MAX_WORDS = 4, 5


@dataclass(frozen=True)
class Evidence:
    """Features of a question and a corpus from which the confidence is computed.

    `coverage`: the share of the question, by rarity, that the best window contains. `nearness`: the best cosine scaled
    to 0 (unrelated texts) … 1 (related texts), None without vectors. `knows_speaker`: the question names a speaker of
    the corpus. `unknown_names`: the share of the names in the question that no chunk contains.
    """

    coverage: float
    nearness: float | None
    knows_speaker: bool
    unknown_names: float
    # How many chunks contain as much of the question as the best one.
    fitting: int = 1

    def logit(self) -> float:
        """Return the logit of the evidence; above FLOOR_LOGIT the result is more likely related than not."""
        unknown = 7.0 * self.unknown_names * (not self.knows_speaker)
        if self.nearness is None:
            return -5.0 + 10.4 * self.coverage + 3.0 * self.knows_speaker - unknown
        # First names are common, so a known speaker counts less when there are vectors as well.
        return -4.4 + 7.8 * self.coverage + 3.2 * self.nearness + 1.5 * self.knows_speaker - unknown


@dataclass(frozen=True)
class PassageRank:
    """How far a passage is from the other chunks of a memory.

    `below_best`: points of ranking below the best passage. `deviations`: standard deviations of its score above the
    mean of all chunks. `lead`: for the best passage the points above the next one, else 0. `chunks`: how many there
    are. `is_filled`: whether the passage was filled with neighbouring lines, so that it contains more.
    """

    below_best: float
    deviations: float
    lead: float
    chunks: int
    is_filled: bool


def relatedness(evidence: Evidence, below_best: float) -> float:
    """Return, from 0 to 1, whether memory has anything about the question, for a passage `below_best` points below the
    best one.

    Which of many related passages answers is not the question here: a list of results may be long.
    """
    value = FLOOR_LOGIT + LOGIT_FACTOR * (evidence.logit() - RANKING_FACTOR * below_best - FLOOR_LOGIT)
    return logistic(value)


def probability(evidence: Evidence, rank: PassageRank) -> float:
    """Return how likely a passage with this `rank` answers the question, from 0 to 1 (calibrated on dev)."""
    below = math.sqrt(min(rank.below_best, BELOW_BEST_MAX_POINTS))
    lead = min(rank.lead, LEAD_MAX_POINTS)
    # Where many lines fit, each is as likely as the only one that fits in a smaller memory.
    size = math.log(max(rank.chunks / max(evidence.fitting, 1), 1))
    unrelated = min(evidence.logit() - FLOOR_LOGIT, 0)
    if evidence.nearness is None:
        value = -0.51 + 1.63 * evidence.coverage + 0.24 * evidence.knows_speaker + 0.56 * unrelated
        value += -1.68 * below + 0.51 * rank.deviations + 0.45 * lead - 0.47 * size
        return logistic(value + 0.41 * rank.is_filled)
    value = -0.95 + 1.36 * evidence.coverage + 0.27 * evidence.nearness + 0.38 * evidence.knows_speaker
    value += 0.73 * unrelated - 1.37 * below + 0.48 * rank.deviations + 0.42 * lead
    return logistic(value - 0.46 * size + 0.44 * rank.is_filled)


def passage_floor(best: float, *, is_talk: bool, is_related: bool) -> float:
    """Return the least probability of a passage, if that of the best one is `best`.

    A line of talk says little without those around it, which may answer with other words. A note is read alone: it has
    words or the meaning of the question (`is_related`), or is hardly less likely than the best one.
    """
    if is_talk:
        return best * TALK_MIN_SHARE_OF_BEST
    return best * (RELATED_MIN_SHARE_OF_BEST if is_related else OTHERS_MIN_SHARE_OF_BEST)


def logistic(value: float) -> float:
    # Beyond this the result is 0 or 1, and the exponential overflows.
    return float(1 / (1 + math.exp(-max(-500.0, min(500.0, value)))))


@dataclass(frozen=True)
class Coverage:
    """How much of a question memory contains in one place: `share`; in how many chunks nearly as much is (`fitting`);
    and the share that each chunk contains alone."""

    share: float
    fitting: int
    by_chunk: NDArray[np.float64]


def coverage(
    substances: Sequence[float],
    windows: Sequence[tuple[np.ndarray, np.ndarray]],
    chunks: Sequence[tuple[np.ndarray, np.ndarray]],
    count: int,
) -> Coverage:
    """Return how much of a question a memory of `count` chunks contains, each concept of it weighted by its rarity.

    `windows` has for each concept the indices of the windows that contain it, and the frequency in each; `chunks`
    likewise those of single chunks, and `substances` how much each concept says. A place is a window or, of a long
    message, a single chunk, which need not contain more than a question of QUESTION_WORDS words asks: the rest of a
    message tells what it is asked for.
    """
    around, alone, asked = np.zeros(count), np.zeros(count), 0.0
    texts = max(count, RARITY_MIN_WINDOWS)
    for substance, window, chunk in zip(substances, windows, chunks, strict=True):
        rarity = substance * _rarity(np.minimum(window[1], 1).sum(), texts)
        asked += rarity
        around[window[0]] += rarity * np.minimum(window[1], 1)
        alone[chunk[0]] += rarity * np.minimum(chunk[1], 1)
    if not asked:
        return Coverage(0.0, 1, alone)
    word = _rarity(1, texts)
    chance = word * min(max((asked / word - FOCUSED_MAX_WORDS) / FOCUSED_MAX_WORDS, 0), 1)
    most = min(asked, QUESTION_WORDS * word)
    share = max((np.max(around) - chance) / (asked - chance), (np.max(alone) - chance) / (most - chance))
    least = max(FITTING_MIN_SHARE * most, FITTING_SHARE_OF_BEST * float(np.max(alone)))
    fitting = max(int(np.count_nonzero(alone >= least)), 1)
    return Coverage(float(min(max(share, 0), 1)), fitting, alone / most)


def _rarity(containing: float, count: int) -> float:
    """Return the rarity (inverse document frequency) of a word that `containing` of `count` texts contain."""
    return float(np.log(1 + (count - containing + 0.5) / (containing + 0.5)))


def share_of_unknown_names(corpus: Corpus, question: ParsedQuestion) -> float:
    """Return the share of the names in `question` that no chunk of `corpus` contains; 0 if it has no names.

    It counts for less in a long message, most of which is not the question.
    """
    names = [concept for concept in question.concepts if concept.is_name]
    if not names:
        return 0.0
    length = sum(concept.substance for concept in question.concepts)
    unknown = sum(not contains(corpus, name) for name in names) / len(names)
    return unknown * min(1.0, QUESTION_WORDS / max(length, 1.0))


def contains(corpus: Corpus, concept: Concept) -> bool:
    """Return whether any chunk of `corpus` contains the word of `concept` itself."""
    terms = sorted(term for term, weight in concept.terms.items() if weight == 1)
    return any(map(len, corpus.holding(np.array(terms, np.uint32))))
