"""Cosines told from the signs of vectors: quick enough for a large space, and put right where it matters.

The share of signs in which two vectors differ tells their angle (Charikar, 2002). That is a rough guess, so it only
chooses candidates; those get their exact cosines, and a sample of all units tells how the guess relates to the truth.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from memory.search.cache import SearchData
from memory.search.ranking import Legs, Numbers, Scores, Words, best_first, standardised, vector_leg

# Units whose windows get their exact cosines: the best by all that counts, and the nearest.
BEST_UNITS, NEAREST_UNITS = 200, 50


@dataclass(frozen=True)
class ApproximateScores:
    """The approximate cosine of each unit and its mean over each window, standardised, and the scores by them."""

    found: SearchData
    words: Words
    legs: Legs
    vector: NDArray[np.float32]
    cosines: Numbers
    unit: Numbers
    window: Numbers

    @classmethod
    def of(cls, found: SearchData, words: Words, legs: Legs, vector: NDArray[np.float32]) -> "ApproximateScores":
        cosines = cosines_by_signs(found, vector)
        windows = found.corpus.windowed(cosines) / found.corpus.sizes
        return cls(found, words, legs, vector, cosines, standardised(cosines), standardised(windows))

    def total(self) -> Numbers:
        """Return the scores by the approximate cosines alone."""
        return self.words.total + vector_leg(self.legs, self.unit, self.window)

    def wanted(self, total: Numbers) -> NDArray[np.intp]:
        """Return the units for which, and for whose windows, the exact cosines are needed."""
        return np.unique(
            np.concatenate([best_first(total, BEST_UNITS), best_first(self.cosines, NEAREST_UNITS)])
        ).astype(np.intp)

    def corrected(self, wanted: NDArray[np.intp], exact: Numbers) -> Scores:
        """Return the scores: of the units wanted by their exact cosines, of the others by the approximate ones, weighed
        by how well these agree with the exact ones of the sample. `exact` has NaN for units that were not read."""
        sample = self.found.sample
        exact[sample] = np.where(np.isnan(exact[sample]), self.found.sampled @ self.vector, exact[sample])
        of_unit = Relation.of(self.unit[sample], exact[sample])
        of_window = Relation.of(self.window[sample], self._windows(exact, sample))
        total = self.words.total + vector_leg(self.legs, of_unit.belief * self.unit, of_window.belief * self.window)
        unit, window = exact[wanted], self._windows(exact, wanted)
        known = ~np.isnan(unit) & ~np.isnan(window)
        total[wanted[known]] = self.words.total[wanted[known]] + vector_leg(
            self.legs, of_unit.standardised(unit[known]), of_window.standardised(window[known])
        )
        cosines = np.where(np.isnan(exact), self.cosines, exact)
        best = float(unit[known].max()) if known.any() else float(self.cosines.max())
        nearness = self.legs.nearness(best, of_unit.mean, of_unit.deviation, len(total))
        return self.words.scores(total, cosines, nearness)

    def _windows(self, exact: Numbers, units: NDArray[np.intp]) -> Numbers:
        """Return the mean over the window of each unit; NaN where a unit of it has no exact cosine."""
        around, within = self.found.corpus.window_of(units)
        means: Numbers = np.where(within, exact[around], 0).sum(axis=1) / within.sum(axis=1)
        return means


@dataclass(frozen=True)
class Relation:
    """How exact cosines follow from standardised approximate ones: their mean and deviation, and the correlation."""

    mean: float
    deviation: float
    belief: float

    @classmethod
    def of(cls, guesses: Numbers, exact: Numbers) -> "Relation":
        """Fit by linear regression over the known ones; the guesses of all units have mean 0 and deviation 1."""
        known = ~np.isnan(exact)
        x, y = guesses[known], exact[known]
        if len(y) < 3 or x.std() < 1e-9:
            return cls(0.0, 1.0, 1.0)
        slope = float(((x - x.mean()) * (y - y.mean())).mean() / x.var())
        mean = float(y.mean() - slope * x.mean())
        rest = float((y - mean - slope * x).var())
        deviation = max(float(np.sqrt(slope**2 + rest)), 1e-9)
        return cls(mean, deviation, float(np.clip(slope / deviation, 0, 1)))

    def standardised(self, exact: Numbers) -> Numbers:
        return (exact - self.mean) / self.deviation


def cosines_by_signs(found: SearchData, vector: NDArray[np.float32]) -> Numbers:
    """Return a cosine for each unit by the signs alone; the mean of all for units that have none."""
    assert found.bits is not None
    mine = np.zeros(len(found.bits) * 8, np.uint8)
    packed = np.packbits(vector > 0)
    mine[: len(packed)] = packed
    differing = np.zeros(found.bits.shape[1], np.uint16)
    for words, word in zip(found.bits, mine.view(np.uint64), strict=True):
        differing += np.bitwise_count(words ^ word)
    cosines = np.cos(np.pi * np.arange(len(vector) + 1) / len(vector))[differing]
    if not found.signed.all():
        cosines[~found.signed] = cosines[found.signed].mean()
    return cosines
