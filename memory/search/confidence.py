"""How sure a search is that what it found has to do with the question: 0 to 1, so that a floor means something.

Ranking only compares units with each other: the best of a thousand unrelated lines is still the best. Confidence looks
at what can be compared between questions: how much of the question is there at all, weighed by rarity; how near the
nearest vector is, on the model's own scale; whether the people and things it names are known. The numbers are those of
a logistic regression on questions asked of their own conversation, of others', and nonsense (docs/retrieval.md).
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from memory.search.query import Concept, Question
from memory.text.index_format import Corpus

# The logit at which the default floor of 0.35 stands, and how steeply the score leaves it.
FLOOR, STEEPNESS = -0.62, 0.5
# What one point of a unit's ranking below the best takes from its logit.
SLOPE = 0.25
# The fewest windows that rarity is told from. Among one or two lines every word is common, and a word that stands there
# would weigh less than one that does not.
COUNTED_WINDOWS_MIN = 200


@dataclass(frozen=True)
class Evidence:
    """What speaks for and against.

    `coverage`: the share of the question, by rarity, that the best window holds. `nearness`: the best cosine between 0
    (unrelated texts) and 1 (related ones), None without vectors. `knows_speaker`: somebody who talks is named.
    `unknown_names`: the share of the other names that stand nowhere.
    """

    coverage: float
    nearness: float | None
    knows_speaker: bool
    unknown_names: float

    def logit(self) -> float:
        """Return the logit of the evidence; above FLOOR what was found is rather related than not."""
        unknown = 7.0 * self.unknown_names * (not self.knows_speaker)
        if self.nearness is None:
            return -5.0 + 10.4 * self.coverage + 3.0 * self.knows_speaker - unknown
        # Many people have the same first name: where vectors speak too, it says less that one of them talks here.
        return -4.4 + 7.8 * self.coverage + 3.2 * self.nearness + 1.5 * self.knows_speaker - unknown


def score(logit: float, below_best: float) -> float:
    """Return 0 to 1 for a unit whose ranking is `below_best` points below the best."""
    value = FLOOR + STEEPNESS * (logit - SLOPE * below_best - FLOOR)
    return float(1 / (1 + np.exp(-value)))


def coverage(windows: Sequence[tuple[np.ndarray, np.ndarray]], count: int) -> float:
    """Return the share of the concepts that the best of `count` windows holds, each weighed by its rarity.

    `windows` has for each concept the windows that hold it, and how often each does.
    """
    held, asked = np.zeros(count), 0.0
    count = max(count, COUNTED_WINDOWS_MIN)
    for places, often in windows:
        there = np.minimum(often, 1)
        rarity = float(np.log(1 + (count - there.sum() + 0.5) / (there.sum() + 0.5)))
        asked += rarity
        held[places] += rarity * there
    return float(np.max(held) / asked) if asked else 0.0


def share_of_unknown_names(corpus: Corpus, question: Question) -> float:
    """Return the share of the names in the question that no unit contains."""
    names = [concept for concept in question.concepts if concept.is_name]
    return sum(not contains(corpus, name) for name in names) / len(names) if names else 0.0


def contains(corpus: Corpus, concept: Concept) -> bool:
    """Return whether any unit contains the word itself."""
    terms = sorted(term for term, weight in concept.terms.items() if weight == 1)
    return any(map(len, corpus.holding(np.array(terms, np.uint32))))
