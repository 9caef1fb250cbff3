"""Find the score below which the results of a search are less likely, for pages that show all of them. Pure."""

from collections.abc import Sequence
from itertools import pairwise

# From this score on a result is likely; one that was sent for an answer counts as used by it.
LIKELY_MIN_SCORE = 0.3
# Below that, the results end to be likely at the first whose score is less than this share of the one before, or of the
# best one.
GAP_SHARE_OF_PREVIOUS, GAP_SHARE_OF_BEST = 0.5, 0.1


def likely_floor(scores: Sequence[float]) -> float:
    """Return the least score of a likely result among `scores`, from 0 to 1 in any order; 0 for none. The best one is
    always likely."""
    ordered = sorted(scores, reverse=True)
    for previous, score in pairwise(ordered):
        is_gap = score < GAP_SHARE_OF_PREVIOUS * previous or score < GAP_SHARE_OF_BEST * ordered[0]
        if score < LIKELY_MIN_SCORE and is_gap:
            return previous
    return ordered[-1] if ordered else 0.0
