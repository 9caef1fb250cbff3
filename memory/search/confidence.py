"""Estimate how likely a search result answers the question, from 0 to 1, so that a floor has a meaning.

Ranking only compares chunks with each other: the best of a thousand unrelated lines is still the best. Confidence uses
what can be compared between questions: the share of the question that is found, weighted by rarity; the best cosine, on
the scale of the model; and whether the names in the question are known. The numbers are those of a logistic regression
on questions asked of their own conversation, of other conversations, and nonsense (docs/retrieval.md).
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from memory.search.query import Concept, ParsedQuestion
from memory.text.index_format import Corpus

# The logit that gives the default floor of 0.35, and the factor by which logits are compressed around it.
FLOOR_LOGIT, LOGIT_FACTOR = -0.62, 0.5
# How much each point of ranking below the best chunk reduces the logit.
RANKING_FACTOR = 0.25
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


def confidence_score(logit: float, below_best: float) -> float:
    """Return the confidence, 0 to 1, by the evidence's `logit`, of a chunk `below_best` points below the best one."""
    value = FLOOR_LOGIT + LOGIT_FACTOR * (logit - RANKING_FACTOR * below_best - FLOOR_LOGIT)
    return float(1 / (1 + np.exp(-value)))


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
