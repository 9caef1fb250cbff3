"""Which units answer best, and which passages they make. Arithmetic only."""

import numpy as np
from numpy.typing import NDArray

from memory.packing import Haystack

# BM25 (Robertson and Zaragoza, 2009): how soon repetition saturates, how much length counts.
K1, B = 1.2, 0.75


def bm25(haystack: Haystack, query: list[int]) -> NDArray[np.float64]:
    """The BM25 score of each unit for these terms; document frequency and length from the units themselves."""
    lengths = haystack.units["terms"].astype(float)
    count = len(haystack)
    scores = np.zeros(count)
    if not count:
        return scores
    norm = K1 * (1 - B + B * lengths / max(lengths.mean(), 1e-9))
    for term in set(query):
        tf = np.bincount(haystack.unit_of_term[haystack.terms == term], minlength=count)
        df = np.count_nonzero(tf)
        if df:
            scores += np.log(1 + (count - df + 0.5) / (df + 0.5)) * tf * (K1 + 1) / (tf + norm)
    return scores


def standardised(scores: NDArray[np.float64]) -> NDArray[np.float64]:
    """Scores minus their mean, over their deviation; zeros when all are the same."""
    deviation = scores.std() if len(scores) else 0.0
    return (scores - scores.mean()) / deviation if deviation > 1e-9 else np.zeros_like(scores)
