"""The page of a search folds what is far less likely than what comes before it."""

import pytest

from memory.search.likely import likely_floor


@pytest.mark.parametrize(
    ("scores", "likely"),
    [
        ([], 0),
        ([0.02], 1),
        # One right line and noise, as "sister" and "dentist" found them.
        ([0.95, 0.02, 0.01, 0.0, 0.0, 0.0], 1),
        ([0.62, 0.11, *[0.05] * 18], 1),
        # Several that are right, and noise.
        ([0.9, 0.85, 0.6, 0.04, 0.03], 3),
        ([0.9, 0.4, 0.35, 0.31], 4),
        # Without a gap all are shown: of a weak question none is better than the others.
        ([0.2, 0.18, 0.17, 0.12, 0.1], 5),
        # What falls slowly ends at a tenth of the best.
        ([0.9, 0.5, 0.28, 0.16, 0.09, 0.05], 4),
    ],
)
def test_the_likely_ones_end_at_the_first_gap(scores, likely):
    floor = likely_floor(scores)
    assert sum(score >= floor for score in scores) == likely
    assert likely_floor(scores[::-1]) == floor
