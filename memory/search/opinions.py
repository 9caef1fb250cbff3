"""Rank lines lower or higher by what a person has said about them: bounded, and for that person alone. Arithmetic only.

A line that is wrong or outdated ranks lower for every question. That a line is not relevant, or helped, holds for
questions like the one for which it was found.
"""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from memory.models import LineFeedback
from memory.search.ranking import Numbers, jaccard
from memory.text.terms import terms_of

Kind = LineFeedback.Kind

# Points of ranking that a line gains or loses: a named day or speaker is worth three (memory/search/ranking.py).
POINTS = {Kind.WRONG: -6.0, Kind.OUTDATED: -4.0, Kind.IRRELEVANT: -4.0, Kind.HELPFUL: 2.5}
# What is said of a line for one question.
OF_QUESTION = frozenset({Kind.IRRELEVANT, Kind.HELPFUL})
# Two questions that share half of their terms count as the same.
SAME_QUESTION_SHARE = 0.5
TERM = np.dtype("<u4")


@dataclass(frozen=True)
class Opinion:
    """What a person has said about the lines with the text key `key`, and the terms of the question at that time."""

    key: int
    kind: Kind
    question_terms: frozenset[int]

    @classmethod
    def of(cls, key: int, kind: int, terms: bytes) -> "Opinion":
        """Return the opinion of a row of LineFeedback."""
        return cls(key, Kind(kind), frozenset(np.frombuffer(terms, TERM).tolist()))


def packed_terms(question: str) -> bytes:
    """Return the terms of `question` in the form in which a row has them."""
    return np.array(sorted(set(terms_of(question))), TERM).tobytes()


def points(keys: NDArray[np.int64], said: Iterable[Opinion], question: str) -> Numbers:
    """Return what each chunk, whose text keys are `keys`, gains or loses for `question`."""
    asked = frozenset(terms_of(question))
    gained = np.zeros(len(keys))
    for opinion in said:
        gained[keys == opinion.key] += POINTS[opinion.kind] * weight(opinion, asked)
    return gained


def weight(opinion: Opinion, asked: frozenset[int]) -> float:
    """Return how much `opinion` counts for a question with the terms `asked`, from 0 to 1."""
    if opinion.kind not in OF_QUESTION:
        return 1.0
    return min(1.0, jaccard(opinion.question_terms, asked) / SAME_QUESTION_SHARE)
