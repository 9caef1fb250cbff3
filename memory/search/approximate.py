"""Approximate cosines by the signs of vectors, for large spaces, and correct them with exact cosines.

The share of signs in which two vectors differ approximates the angle between them (Charikar, 2002). That is imprecise,
so it only chooses candidates. Candidates get their exact cosines, and a linear regression over a sample of all chunks
relates approximate cosines to exact ones.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from memory.search.cache import SearchData
from memory.search.ranking import LegWeights, Numbers, Scores, WordScores, best_first, standardised, vector_leg

# Candidates, whose windows get exact cosines: the chunks with the best scores, and those with the best cosines.
BEST_CHUNKS, NEAREST_CHUNKS = 200, 50


@dataclass(frozen=True)
class ApproximateScores:
    """The approximate cosine of each chunk and its mean over each window, standardised, and the scores by them."""

    found: SearchData
    words: WordScores
    legs: LegWeights
    vector: NDArray[np.float32]
    cosines: Numbers
    chunk: Numbers
    window: Numbers

    @classmethod
    def of(
        cls, found: SearchData, words: WordScores, legs: LegWeights, vector: NDArray[np.float32]
    ) -> "ApproximateScores":
        cosines = cosines_by_signs(found, vector)
        windows = found.corpus.windowed(cosines) / found.corpus.sizes
        return cls(found, words, legs, vector, cosines, standardised(cosines), standardised(windows))

    def total(self) -> Numbers:
        """Return the score of each chunk by the approximate cosines alone."""
        return self.words.total + vector_leg(self.legs, self.chunk, self.window)

    def wanted(self, total: Numbers) -> NDArray[np.intp]:
        """Return the candidates: chunks that, with their windows, need exact cosines. `total` scores each chunk."""
        return np.unique(
            np.concatenate([best_first(total, BEST_CHUNKS), best_first(self.cosines, NEAREST_CHUNKS)])
        ).astype(np.intp)

    def corrected(self, wanted: NDArray[np.intp], exact: Numbers) -> Scores:
        """Return the scores of all chunks, for the candidates `wanted` by their exact cosines.

        The scores of other chunks use approximate cosines, weighted by their correlation with the exact ones in the
        sample. `exact` has the exact cosine of each chunk, NaN for chunks that were not read.
        """
        sample = self.found.sample
        exact[sample] = np.where(np.isnan(exact[sample]), self.found.sampled @ self.vector, exact[sample])
        of_chunk = LinearFit.of(self.chunk[sample], exact[sample])
        of_window = LinearFit.of(self.window[sample], self._windows(exact, sample))
        by_chunk, by_window = of_chunk.correlation * self.chunk, of_window.correlation * self.window
        total = self.words.total + vector_leg(self.legs, by_chunk, by_window)
        chunk, window = exact[wanted], self._windows(exact, wanted)
        known = ~np.isnan(chunk) & ~np.isnan(window)
        total[wanted[known]] = self.words.total[wanted[known]] + vector_leg(
            self.legs, of_chunk.standardised(chunk[known]), of_window.standardised(window[known])
        )
        cosines = np.where(np.isnan(exact), self.cosines, exact)
        best = float(chunk[known].max()) if known.any() else float(self.cosines.max())
        nearness = self.legs.nearness(best, of_chunk.mean, of_chunk.deviation, len(total))
        return self.words.scores(total, cosines, nearness)

    def _windows(self, exact: Numbers, chunks: NDArray[np.intp]) -> Numbers:
        """Return the mean of `exact` over the window of each of `chunks`; NaN if it lacks an exact cosine."""
        around, within = self.found.corpus.window_of(chunks)
        means: Numbers = np.where(within, exact[around], 0).sum(axis=1) / within.sum(axis=1)
        return means


@dataclass(frozen=True)
class LinearFit:
    """A linear fit of exact cosines to standardised approximate ones: mean and deviation of the exact, correlation."""

    mean: float
    deviation: float
    correlation: float

    @classmethod
    def of(cls, approximate: Numbers, exact: Numbers) -> "LinearFit":
        """Fit by linear regression over the chunks whose `exact` cosine is not NaN.

        `approximate` has the approximate cosines of the chunks, standardised over all chunks.
        """
        known = ~np.isnan(exact)
        x, y = approximate[known], exact[known]
        if len(y) < 3 or x.std() < 1e-9:
            return cls(0.0, 1.0, 1.0)
        slope = float(((x - x.mean()) * (y - y.mean())).mean() / x.var())
        mean = float(y.mean() - slope * x.mean())
        rest = float((y - mean - slope * x).var())
        deviation = max(float(np.sqrt(slope**2 + rest)), 1e-9)
        return cls(mean, deviation, float(np.clip(slope / deviation, 0, 1)))

    def standardised(self, exact: Numbers) -> Numbers:
        """Return `exact` minus the mean, over the deviation."""
        return (exact - self.mean) / self.deviation


def cosines_by_signs(found: SearchData, vector: NDArray[np.float32]) -> Numbers:
    """Return for each chunk the approximate cosine with `vector`, by the signs of both.

    Chunks without signs get the mean of the others.
    """
    assert found.bits is not None
    question_bits = np.zeros(len(found.bits) * 8, np.uint8)
    packed = np.packbits(vector > 0)
    question_bits[: len(packed)] = packed
    differing = np.zeros(found.bits.shape[1], np.uint16)
    for words, word in zip(found.bits, question_bits.view(np.uint64), strict=True):
        differing += np.bitwise_count(words ^ word)
    cosines = np.cos(np.pi * np.arange(len(vector) + 1) / len(vector))[differing]
    if not found.signed.all():
        cosines[~found.signed] = cosines[found.signed].mean()
    return cosines
