"""Cache large corpora in the process, so that a search of them reads only what has changed.

Each document is cached with a stamp of its row (its `xmin` and `ctid`, which change with each write), so that every
search sees what is committed, by whichever process. Small corpora are read each time: that costs less than comparing
stamps.
"""

import threading
from collections import OrderedDict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from memory.policy.paths import CURATED
from memory.text.index_format import Corpus, first_units, unit_count, unpack

# A corpus with fewer chunks is not cached; and how many chunks of a kind of tables a process caches in all, about 400
# bytes each in memory. The corpus of each kind that was searched last stays cached whatever its size.
CACHED_MIN_CHUNKS, CACHE_MAX_CHUNKS = 5_000, 300_000
# Chunks of a large corpus whose vectors are cached too, to relate signs to cosines.
SAMPLE_CHUNKS = 8_000

# The kind of tables, ids of the spaces, id of the model, and the sources.
Key = tuple[str, tuple[int, ...], int, tuple[int | None, ...]]


# How the keys of everything searched arrive from PostgreSQL.
SOURCE = np.dtype([("is_transcript", "?"), ("id", ">i8")])


class IndexedSource(NamedTuple):
    """What a corpus has chunks of: a document or file with this id, or the transcript whose index has it."""

    is_transcript: bool
    id: int


@dataclass(frozen=True)
class PackedDocument:
    """A document, or a transcript, as its index holds it.

    `stamp` changes whenever its row does, or another number of its chunks is searched. `bits` has the signs of each
    chunk's vector by the model of the search; it is empty if a chunk has no vector, or if the search needs no signs.
    """

    source: IndexedSource
    path: str
    stamp: int
    data: bytes
    bits: bytes

    @classmethod
    def of(
        cls, source: IndexedSource, path: str, stamp: int, units: int, data: bytes, bits: bytes | None
    ) -> "PackedDocument":
        """Return the document with its first `units` chunks only."""
        count = unit_count(data)
        kept = (bits or b"")[: len(bits or b"") * units // count] if count else b""
        return cls(source, path, stamp, data if units == count else first_units(data, units), kept)


@dataclass(frozen=True)
class SearchData:
    """The data of a search: documents without their bytes, all their chunks, and the signs of their vectors."""

    documents: Sequence[PackedDocument]
    corpus: Corpus
    # A column of 64-bit words for each chunk, and whether the chunk has them; None when no document has any.
    bits: NDArray[np.uint64] | None
    signed: NDArray[np.bool_]
    # The vector of each chunk of `sample`, NaN where it has none. Filled in after the rest.
    sampled: NDArray[np.float32]

    @classmethod
    def of(cls, documents: Sequence[PackedDocument]) -> "SearchData":
        """Return the data of `documents`, without the vectors of the sample."""
        documents = sorted(documents, key=lambda document: document.source)
        corpus = unpack(document.data for document in documents)
        bits, signed = signs(documents, np.diff(corpus.starts))
        bare = [PackedDocument(one.source, one.path, one.stamp, b"", b"") for one in documents]
        return cls(bare, corpus, bits, signed, np.zeros((0, 0), np.float32))

    @cached_property
    def ids(self) -> str:
        """Return the ids of the documents in the form of a PostgreSQL array."""
        return array_literal(self.document_ids.tolist())

    @cached_property
    def stamps(self) -> str:
        """Return the stamps of the documents, in the order of `ids`, in the form of a PostgreSQL array."""
        return array_literal(document.stamp for document in self.documents)

    @cached_property
    def said(self) -> str:
        """Return which documents are transcripts, in the order of `ids`, in the form of a PostgreSQL array."""
        return array_literal(self.are_transcripts.astype(int).tolist())

    @cached_property
    def document_ids(self) -> NDArray[np.int64]:
        """Return the ids of the documents as numbers."""
        return np.array([document.source.id for document in self.documents], np.int64)

    @cached_property
    def are_transcripts(self) -> NDArray[np.bool_]:
        """Return for each document whether it is a transcript."""
        return np.array([document.source.is_transcript for document in self.documents], bool)

    @cached_property
    def lasting(self) -> list[bool]:
        """Return for each document whether its age does not count: true of the curated memory."""
        return [document.path.lower() == CURATED.lower() for document in self.documents]

    def changed(self, sources: NDArray[np.void], fresh: Sequence[PackedDocument]) -> "SearchData":
        """Return the data of the documents of `sources`: those of `fresh`, which were read again, and cached ones."""
        if not fresh and len(sources) == len(self.documents):
            return self
        unchanged = set(sources.tolist()) - {document.source for document in fresh}
        kept = (self._packed(at) for at, one in enumerate(self.documents) if one.source in unchanged)
        return SearchData.of([*fresh, *kept])

    @cached_property
    def sample(self) -> NDArray[np.intp]:
        """Return the chunks of the sample: up to SAMPLE_CHUNKS, from whole documents.

        A change of one document leaves the sample of the others the same.
        """
        chosen: list[NDArray[np.intp]] = []
        room = SAMPLE_CHUNKS if self.bits is not None else 0
        for at in sorted(range(len(self.documents)), key=lambda at: crc32(str(self.documents[at].source).encode())):
            if room <= 0:
                break
            first, last = self.corpus.starts[at : at + 2]
            chosen.append(np.arange(first, min(last, first + room)))
            room -= last - first
        return np.concatenate(chosen) if chosen else np.zeros(0, np.intp)

    @cached_property
    def sample_keys(self) -> NDArray[np.int64]:
        """Return the text keys of the chunks of `sample`."""
        return self.corpus.chunks["key"][self.sample]

    def _packed(self, at: int) -> PackedDocument:
        document = self.documents[at]
        first, last = self.corpus.starts[at : at + 2]
        bits = b""
        if self.bits is not None and self.signed[first:last].all():
            bits = self.bits[:, first:last].T.tobytes()
        return PackedDocument(document.source, document.path, document.stamp, self.corpus.packed(at), bits)

    @cached_property
    def keys(self) -> tuple[NDArray[np.int64], NDArray[np.intp]]:
        """Return the distinct text keys of all chunks in ascending order, and for each chunk the index of its key."""
        keys, key_index = np.unique(self.corpus.chunks["key"], return_inverse=True)
        return keys, key_index

    def by_chunk(self, keys: NDArray[np.int64], values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return for each chunk the value of its text key, where `values` belong to `keys`; NaN for other keys."""
        known, key_index = self.keys
        found = np.full(len(known), np.nan)
        at = np.minimum(np.searchsorted(known, keys), max(len(known) - 1, 0))
        same = known[at] == keys
        found[at[same]] = values[same]
        return found[key_index]


def array_literal(numbers: Iterable[int]) -> str:
    """Return `numbers` in the form of a PostgreSQL array.

    For thousands of numbers this takes a tenth of the time that psycopg takes.
    """
    return f"{{{','.join(map(str, numbers))}}}"


def signs(
    documents: Sequence[PackedDocument], counts: NDArray[np.intp]
) -> tuple[NDArray[np.uint64] | None, NDArray[np.bool_]]:
    """Return SearchData.bits and SearchData.signed of `documents`, which have `counts` chunks.

    There are no bits if no document has any, or if their widths differ.
    """
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
    """Return the data cached under `key` as of the last search, or None."""
    with _lock:
        if key in _cached:
            _cached.move_to_end(key)
        return _cached.get(key)


def store(key: Key, found: SearchData) -> None:
    """Cache the data for the next search if it is large enough; evict the least recently searched data."""
    with _lock:
        _cached.pop(key, None)
        if len(found.corpus) >= CACHED_MIN_CHUNKS:
            _cached[key] = found
        # A large library takes no room from memory, which is searched with each message.
        same = [each for each in _cached if each[0] == key[0]]
        while len(same) > 1 and sum(len(_cached[each].corpus) for each in same) > CACHE_MAX_CHUNKS:
            del _cached[same.pop(0)]


def discard(key: Key) -> None:
    """Evict the data cached under `key`."""
    with _lock:
        _cached.pop(key, None)


def clear() -> None:
    """Empty the cache."""
    with _lock:
        _cached.clear()
