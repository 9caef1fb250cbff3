"""Pack what a search needs of a document into bytes: an array of its chunks and an array of all their terms.

Scoring reads every chunk of a space, so each may cost only nanoseconds: arrays of numbers, no object for each chunk.
"""

import hashlib
import struct
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

# Increased with every change of the format; an index of another layout is rebuilt.
LAYOUT_VERSION = 5
CHUNK = np.dtype(
    [
        ("key", "<i8"),  # the key of its vector
        ("terms", "<u4"),  # the number of its terms
        ("characters", "<u4"),
        ("section", "<u4"),  # number of the section within the document
        ("speaker", "<u4"),  # number of the speaker's name; 0: none
        ("day", "<i4"),  # the day that it is about, as date.toordinal(); 0: none
        ("flags", "<u4"),
    ]
)
# How many chunks before and after a chunk belong to its window.
WINDOW_REACH_CHUNKS = 2
# Flags: a heading, a question, a line that states a time.
HEADING, ASKS, TELLS_TIME = 1, 2, 4
TERM = np.dtype("<u4")
# The number of chunks, and the number of the language.
HEADER = struct.Struct("<II")


@dataclass(frozen=True)
class Corpus:
    """All chunks of the documents that are searched, one after the other."""

    chunks: NDArray[np.void]
    # For each chunk the index of its document in the order in which the documents were unpacked.
    document: NDArray[np.int32]
    # For each chunk its index in its document.
    ordinal: NDArray[np.intp]
    # For each chunk a number that identifies its section in the corpus.
    section: NDArray[np.intp]
    # All terms of all chunks, and for each term its chunk.
    terms: NDArray[np.uint32]
    chunk_of_term: NDArray[np.int32]
    # For each document the index of its first chunk, followed by the number of all chunks.
    starts: NDArray[np.intp]
    # For each document the number of its language.
    language: tuple[int, ...]

    def __len__(self) -> int:
        return len(self.chunks)

    @property
    def languages(self) -> frozenset[int]:
        """Return the numbers of the languages of the documents."""
        return frozenset(self.language)

    def packed(self, document: int) -> bytes:
        """Return the packed bytes of the document with the index `document`, as `pack` made them."""
        first, last = self.starts[document : document + 2]
        start = self.term_ends[first - 1] if first else 0
        end = self.term_ends[last - 1] if last else 0
        head = HEADER.pack(last - first, self.language[document])
        return head + self.chunks[first:last].tobytes() + self.terms[start:end].tobytes()

    def holding(self, terms: NDArray[np.uint32]) -> list[NDArray[np.int32]]:
        """Return for each term the chunks that contain it, once for each occurrence. `terms` is sorted and distinct."""
        if "postings" in self.__dict__:
            ordered, chunks = self.postings
        else:
            # Most terms of a space are not among these: half of their bits exclude them in one pass.
            seen = np.zeros(1 << 16, bool)
            seen[terms & 0xFFFF] = True
            at = np.flatnonzero(seen[self.terms.view(np.uint16)[::2]])
            at = at[np.argsort(self.terms[at], kind="stable")]
            ordered, chunks = self.terms[at], self.chunk_of_term[at]
        first, last = np.searchsorted(ordered, terms), np.searchsorted(ordered, terms, side="right")
        return [chunks[start:end] for start, end in zip(first.tolist(), last.tolist(), strict=True)]

    @cached_property
    def postings(self) -> tuple[NDArray[np.uint32], NDArray[np.int32]]:
        """Return all terms in ascending order, and for each its chunk. Pays if the corpus is searched again."""
        order = np.argsort(self.terms)
        return self.terms[order], self.chunk_of_term[order]

    def windowed(self, scores: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return for each chunk the sum of `scores` over its window: itself and its neighbours in the same section."""
        total = scores.copy()
        for distance, together in self._together:
            total[distance:] += together * scores[:-distance]
            total[:-distance] += together * scores[distance:]
        return total

    def in_windows(
        self, chunks: NDArray[np.intp], scores: NDArray[np.float64]
    ) -> tuple[NDArray[np.intp], NDArray[np.float64]]:
        """Sum scores over windows when only `chunks` have a score; return the chunks with a sum, and the sums.

        `chunks` is in ascending order, `scores` has their scores above 0.
        """
        if len(chunks) * 16 > len(self):
            total = self.windowed(np.bincount(chunks, scores, minlength=len(self)).astype(float))
            held = np.flatnonzero(total)
            return held, total[held]
        indices, values = [chunks], [scores]
        for distance, together in self._together:
            # The chunks are in ascending order, so those with a chunk at this distance after them come first.
            count = int(np.searchsorted(chunks, len(self) - distance))
            ahead = together[chunks[:count]] > 0
            behind = (chunks >= distance) & (together[np.maximum(chunks - distance, 0)] > 0)
            indices += [chunks[:count][ahead] + distance, chunks[behind] - distance]
            values += [scores[:count][ahead], scores[behind]]
        return sum_by_index(np.concatenate(indices), np.concatenate(values), len(self))

    def window_of(self, chunks: NDArray[np.intp]) -> tuple[NDArray[np.intp], NDArray[np.bool_]]:
        """Return a row for each chunk: the chunks up to WINDOW_REACH_CHUNKS before and after it.

        The second array says which of them belong to the window.
        """
        around = chunks[:, None] + np.arange(-WINDOW_REACH_CHUNKS, WINDOW_REACH_CHUNKS + 1)
        within = np.clip(around, 0, len(self) - 1)
        return within, (around == within) & (self.section[within] == self.section[chunks][:, None])

    @cached_property
    def sizes(self) -> NDArray[np.float64]:
        """Return for each chunk the number of chunks in its window."""
        return self.windowed(np.ones(len(self)))

    @cached_property
    def lengths(self) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
        """Return the number of terms of each chunk, of each window, of each document."""
        chunks = self.chunks["terms"].astype(float)
        return chunks, self.windowed(chunks), np.bincount(self.document, chunks).astype(float)

    @cached_property
    def days(self) -> NDArray[np.int64]:
        """Return for each chunk the day that it is about, as date.toordinal(); 0: none."""
        return self.chunks["day"].astype(np.int64)

    @cached_property
    def speaker(self) -> NDArray[np.uint32]:
        """Return for each chunk the number of its speaker; 0: none."""
        return np.ascontiguousarray(self.chunks["speaker"])

    @cached_property
    def speakers(self) -> frozenset[int]:
        """Return the numbers of all speakers."""
        return frozenset(np.unique(self.speaker).tolist()) - {0}

    @cached_property
    def _together(self) -> list[tuple[int, NDArray[np.float64]]]:
        """Return for each distance 1 where a chunk and the one at that distance after it are in one section, else 0."""
        distances = range(1, min(WINDOW_REACH_CHUNKS, len(self) - 1) + 1)
        return [(far, (self.section[far:] == self.section[:-far]).astype(float)) for far in distances]

    @cached_property
    def term_ends(self) -> NDArray[np.int64]:
        """Return for each chunk the index after its last term."""
        return np.cumsum(self.chunks["terms"], dtype=np.int64)

    def flagged(self, flag: int) -> NDArray[np.bool_]:
        """Return which chunks have `flag` (HEADING, ASKS or TELLS_TIME)."""
        return (self._flags & flag) != 0

    @cached_property
    def _flags(self) -> NDArray[np.uint32]:
        return np.ascontiguousarray(self.chunks["flags"])


def sum_by_index(
    indices: NDArray[np.integer], values: NDArray[np.float64], count: int
) -> tuple[NDArray[np.intp], NDArray[np.float64]]:
    """Return each of `indices` (below `count`) once and in ascending order, and the sum of its `values`."""
    if len(indices) * 16 > count:
        total = np.bincount(indices, values, minlength=count).astype(float)
        held = np.flatnonzero(total > 0)
        return held, total[held]
    held, at = np.unique(indices, return_inverse=True)
    return held.astype(np.intp), np.bincount(at, values, minlength=len(held)).astype(float)


def text_key(text: str) -> int:
    """Return the key under which the vector of `text` is stored: the first 8 bytes of its BLAKE2b hash."""
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "big", signed=True)


def pack(chunks: Sequence[tuple[int, ...]], terms: Sequence[int], language: int = 0) -> bytes:
    """Return the packed bytes of one document.

    `chunks` are tuples in the order of CHUNK's fields, `terms` the terms of all of them in that order, and `language`
    is the number of the language in which the words were stemmed.
    """
    head = np.array([len(chunks), language], "<u4").tobytes()
    return head + np.array(list(chunks), CHUNK).tobytes() + np.array(terms, TERM).tobytes()


def unit_count(data: bytes | memoryview) -> int:
    """Return the number of chunks in the packed bytes of one document."""
    count: int = HEADER.unpack_from(data)[0]
    return count


def first_units(data: bytes | memoryview, units: int) -> bytes:
    """Return the packed bytes of one document with its first `units` chunks only."""
    count, language = HEADER.unpack_from(data)
    split, end = HEADER.size + count * CHUNK.itemsize, HEADER.size + min(units, count) * CHUNK.itemsize
    chunks = bytes(data[HEADER.size : end])
    terms = int(np.frombuffer(chunks, CHUNK)["terms"].sum()) * TERM.itemsize
    return HEADER.pack(min(units, count), language) + chunks + bytes(data[split : split + terms])


def continued(first: bytes, more: bytes) -> bytes:
    """Return the packed bytes of one document whose chunks are those of `first`, and then those of `more`."""
    (count, language), (added, _) = HEADER.unpack_from(first), HEADER.unpack_from(more)
    split = HEADER.size + count * CHUNK.itemsize
    end = HEADER.size + added * CHUNK.itemsize
    head = HEADER.pack(count + added, language)
    return b"".join((head, first[HEADER.size : split], more[HEADER.size : end], first[split:], more[end:]))


def language_and_speech(data: bytes | memoryview) -> tuple[int, bool]:
    """Return the number of the language in the packed bytes of one document, and whether a chunk has a speaker."""
    count, language = HEADER.unpack_from(data)
    chunks = np.frombuffer(data, CHUNK, count, HEADER.size)
    return language, bool(chunks["speaker"].any())


def unpack(documents: Iterable[bytes | memoryview]) -> Corpus:
    """Return the corpus of `documents`, each packed by `pack`."""
    chunks, terms, counts, languages = [], [], [], []
    for data in documents:
        count, language = HEADER.unpack_from(data)
        split = HEADER.size + count * CHUNK.itemsize
        chunks.append(data[HEADER.size : split])
        terms.append(data[split:])
        counts.append(count)
        languages.append(language)
    all_chunks = np.frombuffer(b"".join(chunks), CHUNK)
    lengths = np.array(counts, np.int32)
    starts = np.concatenate([[0], np.cumsum(lengths)])
    document = np.repeat(np.arange(len(lengths), dtype=np.int32), lengths)
    turns = (np.diff(document, prepend=-1) != 0) | (np.diff(all_chunks["section"].astype(np.int32), prepend=-1) != 0)
    return Corpus(
        chunks=all_chunks,
        document=document,
        section=np.cumsum(turns),
        ordinal=np.arange(len(all_chunks)) - np.repeat(starts[:-1], lengths),
        terms=np.frombuffer(b"".join(terms), TERM),
        chunk_of_term=np.repeat(np.arange(len(all_chunks), dtype=np.int32), all_chunks["terms"]),
        starts=starts,
        language=tuple(languages),
    )
