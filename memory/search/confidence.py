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

from memory.search.query import Concept, ParsedQuestion
from memory.text.index_format import Corpus

# The logit that gives the default floor of 0.35, and the factor by which logits are compressed around it.
FLOOR_LOGIT, LOGIT_FACTOR = -0.62, 0.5
# How much each point of ranking below the best chunk reduces the logit.
RANKING_FACTOR = 0.25
# Points of ranking beyond which a passage is no less likely, or its lead no greater evidence.
BELOW_BEST_MAX_POINTS, LEAD_MAX_POINTS = 12.0, 6.0
# Rarity is computed as if there were at least this many windows. Among one or two lines every word is common, and a
# word that is found would weigh less than one that is not.
RARITY_MIN_WINDOWS = 200


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
    size = math.log(max(rank.chunks, 1))
    unrelated = min(evidence.logit() - FLOOR_LOGIT, 0)
    if evidence.nearness is None:
        value = -0.51 + 1.63 * evidence.coverage + 0.24 * evidence.knows_speaker + 0.56 * unrelated
        value += -1.68 * below + 0.51 * rank.deviations + 0.45 * lead - 0.47 * size
        return logistic(value + 0.41 * rank.is_filled)
    value = -0.95 + 1.36 * evidence.coverage + 0.27 * evidence.nearness + 0.38 * evidence.knows_speaker
    value += 0.73 * unrelated - 1.37 * below + 0.48 * rank.deviations + 0.42 * lead
    return logistic(value - 0.46 * size + 0.44 * rank.is_filled)


def logistic(value: float) -> float:
    # Beyond this the result is 0 or 1, and the exponential overflows.
    return float(1 / (1 + math.exp(-max(-500.0, min(500.0, value)))))


def coverage(windows: Sequence[tuple[np.ndarray, np.ndarray]], count: int) -> float:
    """Return the share of the concepts that the best of `count` windows contains, each weighted by its rarity.

    `windows` has for each concept the indices of the windows that contain it, and the frequency in each.
    """
    held, asked = np.zeros(count), 0.0
    count = max(count, RARITY_MIN_WINDOWS)
    for indices, frequencies in windows:
        found = np.minimum(frequencies, 1)
        rarity = float(np.log(1 + (count - found.sum() + 0.5) / (found.sum() + 0.5)))
        asked += rarity
        held[indices] += rarity * found
    return float(np.max(held) / asked) if asked else 0.0


def share_of_unknown_names(corpus: Corpus, question: ParsedQuestion) -> float:
    """Return the share of the names in `question` that no chunk of `corpus` contains; 0 if it has no names."""
    names = [concept for concept in question.concepts if concept.is_name]
    return sum(not contains(corpus, name) for name in names) / len(names) if names else 0.0


def contains(corpus: Corpus, concept: Concept) -> bool:
    """Return whether any chunk of `corpus` contains the word of `concept` itself."""
    terms = sorted(term for term, weight in concept.terms.items() if weight == 1)
    return any(map(len, corpus.holding(np.array(terms, np.uint32))))
