"""What a search needs of a document, packed into bytes: its units in a row, and all their terms in a row.

Scoring reads every unit of a space, so that each unit must cost nanoseconds: arrays of numbers, no object for each.
"""

import struct
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

# Raised when anything below changes; an index of another layout is made again.
LAYOUT = 2
UNIT = np.dtype(
    [
        ("key", "<i8"),  # by which its vector is found
        ("terms", "<u4"),  # how many terms it has
        ("characters", "<u4"),
        ("section", "<u4"),  # number of the section within the document
        ("speaker", "<u4"),  # number of the speaker's name; 0: nobody
        ("day", "<i4"),  # the day it belongs to, as date.toordinal(); 0: none
        ("flags", "<u4"),
    ]
)
# Units before and after that make a window.
REACH = 2
# Flags: a heading; a line that asks; a line that tells a time.
HEADING, ASKS, TELLS_TIME = 1, 2, 4
TERM = np.dtype("<u4")
# How many units, and the number of the language.
HEAD = struct.Struct("<II")


@dataclass(frozen=True)
class Haystack:
    """All units of the documents searched, one after the other."""

    units: NDArray[np.void]
    # For each unit the place of its document among the documents given.
    document: NDArray[np.int32]
    # For each unit its place in its document.
    ordinal: NDArray[np.intp]
    # For each unit a number that it shares with the other units of its section, and with no other.
    section: NDArray[np.intp]
    # All terms of all units, and for each term its unit.
    terms: NDArray[np.uint32]
    unit_of_term: NDArray[np.int32]
    # The numbers of the languages of the documents.
    languages: frozenset[int]

    def __len__(self) -> int:
        return len(self.units)

    def windowed(self, scores: NDArray[np.float64]) -> NDArray[np.float64]:
        """For each unit the sum over its window: itself and its neighbours in the same section."""
        total = scores.copy()
        for distance, together in self._together:
            total[distance:] += together * scores[:-distance]
            total[:-distance] += together * scores[distance:]
        return total

    @cached_property
    def _together(self) -> list[tuple[int, NDArray[np.float64]]]:
        """For each distance, 1 where a unit and the one so far behind it are of one section."""
        distances = range(1, min(REACH, len(self) - 1) + 1)
        return [(far, (self.section[far:] == self.section[:-far]).astype(float)) for far in distances]

    def flagged(self, flag: int) -> NDArray[np.bool_]:
        """Which units carry the flag."""
        return (self.units["flags"] & flag) != 0


def pack(units: Sequence[tuple[int, ...]], terms: Sequence[int], language: int = 0) -> bytes:
    """The bytes of one document: its units as tuples in the order of UNIT's fields, and their terms in a row.

    `language` numbers the language in which its words were stemmed.
    """
    head = np.array([len(units), language], "<u4").tobytes()
    return head + np.array(list(units), UNIT).tobytes() + np.array(terms, TERM).tobytes()


def unpack(documents: Iterable[bytes | memoryview]) -> Haystack:
    """The documents, put together."""
    units, terms, counts, languages = [], [], [], set()
    for data in documents:
        count, language = HEAD.unpack_from(data)
        split = HEAD.size + count * UNIT.itemsize
        units.append(data[HEAD.size : split])
        terms.append(data[split:])
        counts.append(count)
        languages.add(language)
    every = np.frombuffer(b"".join(units), UNIT)
    lengths = np.array(counts, np.int32)
    starts = np.cumsum(lengths) - lengths
    document = np.repeat(np.arange(len(lengths), dtype=np.int32), lengths)
    turns = (np.diff(document, prepend=-1) != 0) | (np.diff(every["section"].astype(np.int32), prepend=-1) != 0)
    return Haystack(
        units=every,
        document=document,
        section=np.cumsum(turns),
        ordinal=np.arange(len(every)) - np.repeat(starts, lengths),
        terms=np.frombuffer(b"".join(terms), TERM),
        unit_of_term=np.repeat(np.arange(len(every), dtype=np.int32), every["terms"]),
        languages=frozenset(languages),
    )
