"""The large corpora that this process keeps, so that a search of them reads only what has changed.

Each document is kept with a stamp of the row that it came from (its `xmin` and `ctid`: another after each write), so
that every search sees what is committed, whoever wrote it. Small ones are read anew each time: that costs less than
looking.
"""

import threading
from collections import OrderedDict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from memory.policy.paths import CURATED
from memory.text.index_format import Corpus, unpack

# Units from which on a corpus is kept, and units that a process keeps in all: some 400 bytes each. The last one
# searched is kept whatever its size.
CACHED_UNITS_MIN, CACHE_MAX_UNITS = 5_000, 300_000
# Units of a large corpus whose vectors are kept too: they tell how signs and cosines go together.
SAMPLE_UNITS = 8_000

# Spaces, model, and which sources.
Key = tuple[tuple[int, ...], int, tuple[int | None, ...]]


@dataclass(frozen=True)
class PackedDocument:
    """A document as its index holds it, or with a negative id a transcript.

    `stamp` changes whenever its row does. `bits`: of each unit the signs of its vector, by the model that searches;
    empty when not all units have one, or nobody needs them.
    """

    id: int
    path: str
    stamp: int
    data: bytes
    bits: bytes

    @property
    def is_transcript(self) -> bool:
        return self.id < 0


@dataclass(frozen=True)
class SearchData:
    """What a search reads: documents by their ids, without their bytes; all their units; the signs of their vectors."""

    documents: Sequence[PackedDocument]
    corpus: Corpus
    # A column of 64-bit words for each unit, and whether the unit has them; None when no document has any.
    bits: NDArray[np.uint64] | None
    signed: NDArray[np.bool_]
    # A row for each unit of `sample`, NaN where it has no vector. Filled in after the rest.
    sampled: NDArray[np.float32]

    @classmethod
    def of(cls, documents: Sequence[PackedDocument]) -> "SearchData":
        documents = sorted(documents, key=lambda document: (document.is_transcript, abs(document.id)))
        corpus = unpack(document.data for document in documents)
        bits, signed = signs(documents, np.diff(corpus.starts))
        bare = [PackedDocument(one.id, one.path, one.stamp, b"", b"") for one in documents]
        return cls(bare, corpus, bits, signed, np.zeros((0, 0), np.float32))

    @cached_property
    def ids(self) -> str:
        """Return the ids of the documents in the form of a PostgreSQL array."""
        return array(self.document_ids.tolist())

    @cached_property
    def stamps(self) -> str:
        """Return the stamps of the documents, in the order of `ids`, in the form of a PostgreSQL array."""
        return array(document.stamp for document in self.documents)

    @cached_property
    def document_ids(self) -> NDArray[np.int64]:
        """Return the ids of the documents as numbers."""
        return np.array([document.id for document in self.documents], np.int64)

    @cached_property
    def lasting(self) -> list[bool]:
        """Return for each document whether its age costs nothing, as of the curated memory."""
        return [document.path.lower() == CURATED.lower() for document in self.documents]

    def changed(self, ids: NDArray[np.int64], fresh: Sequence[PackedDocument]) -> "SearchData":
        """Return the data with the documents of these ids, of which the fresh ones were read again."""
        if not fresh and len(ids) == len(self.documents):
            return self
        there = set(ids.tolist()) - {document.id for document in fresh}
        return SearchData.of([*fresh, *(self._packed(at) for at, one in enumerate(self.documents) if one.id in there)])

    @cached_property
    def sample(self) -> NDArray[np.intp]:
        """Return some units, by whole documents up to SAMPLE_UNITS: the same ones while others change."""
        chosen: list[NDArray[np.intp]] = []
        room = SAMPLE_UNITS if self.bits is not None else 0
        for at in sorted(range(len(self.documents)), key=lambda at: crc32(str(self.documents[at].id).encode())):
            if room <= 0:
                break
            first, last = self.corpus.starts[at : at + 2]
            chosen.append(np.arange(first, min(last, first + room)))
            room -= last - first
        return np.concatenate(chosen) if chosen else np.zeros(0, np.intp)

    @cached_property
    def sample_keys(self) -> NDArray[np.int64]:
        """Return the keys of the texts of `sample`."""
        return self.corpus.units["key"][self.sample]

    def _packed(self, at: int) -> PackedDocument:
        document = self.documents[at]
        first, last = self.corpus.starts[at : at + 2]
        bits = b""
        if self.bits is not None and self.signed[first:last].all():
            bits = self.bits[:, first:last].T.tobytes()
        return PackedDocument(document.id, document.path, document.stamp, self.corpus.packed(at), bits)

    @cached_property
    def keys(self) -> tuple[NDArray[np.int64], NDArray[np.intp]]:
        """Return the keys of the units' texts in order, each once, and for each unit the index of its key."""
        keys, places = np.unique(self.corpus.units["key"], return_inverse=True)
        return keys, places

    def by_unit(self, keys: NDArray[np.int64], values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return for each unit the value given for its key; NaN where none is given."""
        known, places = self.keys
        found = np.full(len(known), np.nan)
        at = np.minimum(np.searchsorted(known, keys), max(len(known) - 1, 0))
        same = known[at] == keys
        found[at[same]] = values[same]
        return found[places]


def array(numbers: Iterable[int]) -> str:
    """Return the numbers in the form of a PostgreSQL array, in a tenth of the time that psycopg takes for thousands."""
    return f"{{{','.join(map(str, numbers))}}}"


def signs(
    documents: Sequence[PackedDocument], counts: NDArray[np.intp]
) -> tuple[NDArray[np.uint64] | None, NDArray[np.bool_]]:
    """Return the columns of SearchData.bits, and which units have one."""
    widths = {len(one.bits) // count for one, count in zip(documents, counts, strict=True) if one.bits and count}
    signed = np.zeros(int(counts.sum()), bool)
    if len(widths) != 1:
        return None, signed
    width = widths.pop()
    padded = -(-width // 8) * 8
    rows = np.zeros((len(signed), padded), np.uint8)
    first = 0
    for one, count in zip(documents, counts, strict=True):
        if count and len(one.bits) == count * width:
            rows[first : first + count, :width] = np.frombuffer(one.bits, np.uint8).reshape(count, width)
            signed[first : first + count] = True
        first += count
    return np.ascontiguousarray(rows.view(np.uint64).T), signed


_cached: OrderedDict[Key, SearchData] = OrderedDict()
_lock = threading.Lock()


def cached(key: Key) -> SearchData | None:
    """Return what this process has cached of these spaces, as of the last search."""
    with _lock:
        if key in _cached:
            _cached.move_to_end(key)
        return _cached.get(key)


def store(key: Key, found: SearchData) -> None:
    """Cache the data for the next search, if it is large enough; evict what was not searched for longest."""
    with _lock:
        _cached.pop(key, None)
        if len(found.corpus) >= CACHED_UNITS_MIN:
            _cached[key] = found
        while len(_cached) > 1 and sum(len(one.corpus) for one in _cached.values()) > CACHE_MAX_UNITS:
            _cached.popitem(last=False)


def discard(key: Key) -> None:
    """Evict what is cached of these spaces."""
    with _lock:
        _cached.pop(key, None)


def clear() -> None:
    """Empty the cache."""
    with _lock:
        _cached.clear()
