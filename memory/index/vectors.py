"""Embed the chunks of the index: one vector per text, space and model; what is missing is embedded by the sweep."""

import json
import logging
import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from django.db import connection, transaction
from django.db.models import BinaryField, Exists, OuterRef, QuerySet
from django.db.models.expressions import RawSQL
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from numpy.typing import NDArray

from memory.index.embeddings import Embedder, embedder
from memory.index.embeddings.failures import EmbeddingError
from memory.index.models import (
    current_model_id,
    error_of,
    model_name,
    record_dimensions,
    record_dimensions_throttled,
    record_error,
)
from memory.models import (
    DocumentIndex,
    MemoryChunk,
    MemoryDocumentQuerySet,
    TextVector,
    TranscriptChunk,
    TranscriptIndex,
)
from memory.text.chunking import SPEAKER, speakers
from oneclaw.locks import hold
from oneclaw.models import Spend
from oneclaw.reasons import Reason
from oneclaw.spend.calls import Payer

# Texts that are embedded and stored together.
BATCH_TEXTS = 512

MARKUP = re.compile(r"\s*(?:[-*+•>#|]+\s+|\d{1,3}[.)]\s+)+")
STORE = """
INSERT INTO memory_textvector (space_id, model_id, text_key, vector)
SELECT %(space)s, %(model)s, made.key, made.vector::halfvec
  FROM unnest(%(keys)s::bigint[], %(vectors)s::text[]) AS made (key, vector)
 WHERE EXISTS (SELECT FROM memory_memorychunk WHERE space_id = %(space)s AND text_key = made.key)
       OR made.key IN (SELECT chunk.text_key FROM memory_transcriptchunk chunk JOIN memory_transcriptindex index
                           ON index.id = chunk.index_id WHERE index.space_id = %(space)s)
    ON CONFLICT DO NOTHING
"""

# The signs of the vectors of all chunks, in their order. varbit_send returns the number of bits in four bytes, and then
# the bits.
BITS = """
SELECT string_agg(substring(varbit_send(binary_quantize(made.vector)::bit varying) FROM 5), '' ORDER BY chunk.ordinal)
  FROM ({chunks}) chunk JOIN memory_textvector made USING (text_key)
 WHERE made.space_id = %s AND made.model_id = %s
"""
# What BITS and its check do for one index, for the indexes of several documents.
MARK_EMBEDDED = """
UPDATE memory_documentindex index SET embedded_by_id = %(model)s, bits = made.bits
  FROM (SELECT chunk.document_id, count(vector.text_key) = count(*) AS is_whole,
               string_agg(substring(varbit_send(binary_quantize(vector.vector)::bit varying) FROM 5), ''
                          ORDER BY chunk.ordinal) AS bits
          FROM memory_memorychunk chunk LEFT JOIN memory_textvector vector ON vector.space_id = chunk.space_id
               AND vector.model_id = %(model)s AND vector.text_key = chunk.text_key
         WHERE chunk.document_id = ANY(%(documents)s) GROUP BY chunk.document_id) made
 WHERE index.document_id = made.document_id AND made.is_whole
"""
PRUNE = """
DELETE FROM memory_textvector
 WHERE space_id = %s AND text_key NOT IN
       (SELECT chunk.text_key FROM memory_memorychunk chunk JOIN memory_memorydocument document
            ON document.id = chunk.document_id WHERE document.space_id = %s
        UNION ALL
        SELECT chunk.text_key FROM memory_transcriptchunk chunk JOIN memory_transcriptindex index
            ON index.id = chunk.index_id WHERE index.space_id = %s)
"""
logger = logging.getLogger(__name__)


def embedded_text(text: str, names: frozenset[str] = frozenset()) -> str:
    """Return the part of a chunk's `text` to embed: without markup and without the `names` of speakers.

    Names dominate a vector: every line that greets Ada would be close to every question about Ada.
    """
    if mark := MARKUP.match(text):
        text = text[mark.end() :]
    if not names:
        return text.strip()
    if (speaker := SPEAKER.match(text)) and speaker[1] in names:
        text = text[speaker.end() :]
    # The expression costs as much as the rest of this function, and most lines contain no name.
    bare = _pattern(names).sub(" ", text) if any(name in text for name in names) else text
    return " ".join(bare.split()) or text.strip()


@lru_cache(maxsize=256)
def _pattern(names: frozenset[str]) -> re.Pattern[str]:
    return re.compile(rf"\b(?:{'|'.join(map(re.escape, sorted(names)))})\b(?:['’]s)?")


def question_vector(model: Embedder, question: str, payer: Payer) -> NDArray[np.float32] | None:
    """Return the vector of `question` by `model`, or None if its server fails: then the reason is stored."""
    try:
        vector = model.embed_question(embedded_text(question), payer)
    except EmbeddingError as failure:
        record_error(model, failure.reason)
        return None
    record_dimensions_throttled(model, len(vector))
    return vector


def of_space(space_id: int) -> Payer:
    """Return who pays for the vectors of a space: its owner."""
    return Payer(Spend.Purpose.EMBEDDING, None, space_id=space_id)


def embed_pending() -> int:
    """Embed the documents and transcripts that lack vectors, and return how many were embedded.

    The first failure of the server ends it: the next sweep continues. If nothing is pending but the server failed
    before, one question is embedded to find out whether it works again.
    """
    model = embedder()
    if model is None:
        return 0
    waiting: list[tuple[Callable[[int], None], int]]
    waiting = [(embed_document, pk) for pk in pending(model).order_by("-pk").values_list("pk", flat=True)]
    said = TranscriptIndex.objects.filter(units__gt=0).exclude(embedded_by=current_model_id(model)).order_by("-pk")
    waiting += [(embed_transcript, pk) for pk in said.values_list("pk", flat=True)]
    if not waiting and error_of(model):
        probe = question_vector(model, "?", Payer(Spend.Purpose.EMBEDDING, None))
        if probe is not None:
            record_error(model, None)
    for done, (embed, pk) in enumerate(waiting):
        try:
            embed(pk)
        except EmbeddingError as failure:
            logger.info("%d documents and transcripts wait for their vectors: %s", len(waiting) - done, failure)
            return done
    return len(waiting)


def pending(model: Embedder) -> "QuerySet[DocumentIndex]":
    """Return the indexes of documents that have chunks without a vector by `model`."""
    return DocumentIndex.objects.filter(units__gt=0).exclude(embedded_by=current_model_id(model))


def notice(documents: MemoryDocumentQuerySet | None = None) -> str:
    """Return a translated sentence about missing vectors of `documents` (None: of all); empty if none are missing."""
    model = embedder()
    if model is None:
        return ""
    if error := error_of(model):
        return _("Search currently uses words only. %(error)s") % {"error": error}
    waiting = pending(model)
    if documents is not None:
        waiting = waiting.filter(document__in=documents)
    # Documents without any vectors are only new.
    if not waiting.filter(embedded_by__isnull=False).exists():
        return ""
    count = waiting.count()
    return ngettext(
        "The embedding model has changed: %(count)d document waits for new vectors. Until then "
        "it is found by words only.",
        "The embedding model has changed: %(count)d documents wait for new vectors. Until then "
        "they are found by words only.",
        count,
    ) % {"count": count}


def state(documents: MemoryDocumentQuerySet) -> dict[str, Any]:
    """Return the state of the index of `documents`, for `memory status --deep`.

    `drift` counts documents whose index is of another version or layout, `pending` the chunks without a vector by the
    current model.
    """
    model = embedder()
    chunks = MemoryChunk.objects.filter(document__in=documents)
    known = current_model_id(model) if model else None
    there = TextVector.objects.filter(space=OuterRef("space"), model=known, text_key=OuterRef("text_key"))
    count = chunks.count()
    embedded = chunks.filter(Exists(there)).count() if model else 0
    return {
        "units": count,
        "vectors": embedded,
        "pending": count - embedded if model else 0,
        "model": model_name(model) if model else "none",
        "drift": documents.to_index().count(),
        "notice": notice(documents),
    }


@dataclass(frozen=True)
class KeptVectors:
    """The first chunks of an index that a change has left as they were: how many, and their signs by the model."""

    count: int
    model_id: int
    bits: bytes

    @staticmethod
    def of(earlier: DocumentIndex, count: int) -> "KeptVectors | None":
        """Return those of the first `count` chunks of `earlier`; None when it was not embedded."""
        if earlier.embedded_by_id is None or earlier.bits is None or not earlier.units:
            return None
        bits = bytes(earlier.bits)
        return KeptVectors(count, earlier.embedded_by_id, bits[: count * (len(bits) // earlier.units)])


@dataclass(frozen=True)
class IndexedText:
    """Hold what is known of a new index: the document's version, the speakers, and the kept vectors."""

    version: int
    names: frozenset[str]
    kept: KeptVectors | None


def embed_document(document_id: int, during_save: bool = False, known: IndexedText | None = None) -> None:
    """Embed every chunk of the document that lacks a vector by the current model.

    `during_save`: only if there are few enough for the time of a save. `known`: what is known of its index, if that is
    still of the version. Raise EmbeddingError if the server fails: the document stays pending.
    """
    index = DocumentIndex.objects.filter(document_id=document_id, units__gt=0).defer("data").first()
    if index is not None:
        unchanged = DocumentIndex.objects.filter(document_id=document_id, version=index.version)
        of_version = known if known is not None and known.version == index.version else None
        chunks = MemoryChunk.objects.filter(document_id=document_id)
        _embed(index.space_id, chunks, unchanged, during_save, of_version)


def embed_documents(document_ids: Sequence[int]) -> None:
    """Embed several documents during a save, those of a space together. Raise EmbeddingError as embed_document does."""
    model = embedder()
    if model is None or not model.save_batch_size:
        return
    known = current_model_id(model)
    waiting: dict[int, list[tuple[int, int]]] = defaultdict(list)
    rows = DocumentIndex.objects.filter(document__in=document_ids, units__gt=0).exclude(embedded_by=known)
    for space_id, document_id, units in rows.values_list("space_id", "document_id", "units"):
        waiting[space_id].append((document_id, units))
    for space_id, documents in waiting.items():
        for ids in _groups(documents, model.save_batch_size):
            if len(ids) == 1 or not _embed_together(model, known, space_id, ids):
                for document_id in ids:
                    embed_document(document_id, during_save=True)


def _groups(documents: Sequence[tuple[int, int]], alone: int) -> Iterator[list[int]]:
    """Yield groups of the ids of `documents`, each (id, number of chunks), with at most BATCH_TEXTS chunks together;
    one with more than `alone` chunks is a group of its own. Pure."""
    group: list[int] = []
    total = 0
    for document_id, units in documents:
        if units > alone:
            yield [document_id]
            continue
        if group and total + units > BATCH_TEXTS:
            yield group
            group, total = [], 0
        group.append(document_id)
        total += units
    if group:
        yield group


def _embed_together(model: Embedder, known: int, space_id: int, document_ids: list[int]) -> bool:
    """Embed the documents of one of _groups, by their ids, by one call of `model`; return whether that was possible."""
    chunks = MemoryChunk.objects.filter(document__in=document_ids)
    there = TextVector.objects.filter(space=space_id, model=known, text_key=OuterRef("text_key"))
    lacking = chunks.filter(~Exists(there)).order_by("text_key").distinct("text_key")
    missing = list(lacking.values_list("text_key", "text", "document_id"))
    if missing:
        spoken: dict[int, list[str]] = defaultdict(list)
        with_missing = chunks.filter(document__in={document_id for _, _, document_id in missing})
        for document_id, text in with_missing.values_list("document_id", "text"):
            spoken[document_id].append(text)
        names = {document_id: speakers(texts) for document_id, texts in spoken.items()}
        try:
            texts = [embedded_text(text, names[document_id]) for _, text, document_id in missing]
            made = model.embed(texts, of_space(space_id))
        except EmbeddingError as failure:
            record_error(model, failure.reason)
            raise
        if record_dimensions(model, made.shape[1]) != known:
            return False
        _store(space_id, known, [(key, text) for key, text, _ in missing], made)
        record_error(model, None)
    with transaction.atomic(), connection.cursor() as cursor:
        # The same lock order as in a forgetting: the indexes, then the vectors.
        indexes = DocumentIndex.objects.filter(document__in=document_ids).order_by("pk")
        list(indexes.select_for_update(no_key=True).values_list("pk", flat=True))
        hold(_lock(space_id), shared=True)
        cursor.execute(MARK_EMBEDDED, {"model": known, "documents": document_ids})
    return True


def embed_transcript(index_id: int, during_save: bool = False) -> None:
    """Embed every chunk of the transcript that lacks a vector by the current model.

    `during_save`: only if there are few enough for the time of a save. Raise EmbeddingError if the server fails: the
    transcript stays pending.
    """
    index = TranscriptIndex.objects.filter(pk=index_id, units__gt=0).defer("data").first()
    if index is not None:
        unchanged = TranscriptIndex.objects.filter(pk=index_id, through_seq=index.through_seq)
        _embed(index.space_id, TranscriptChunk.objects.filter(index_id=index_id), unchanged, during_save)


def _embed(
    space_id: int,
    chunks: "QuerySet[Any]",
    unchanged: "QuerySet[Any]",
    during_save: bool,
    text: IndexedText | None = None,
    is_again: bool = False,
) -> None:
    """Embed `chunks`, all of one text, and mark its index as embedded if that is `unchanged` (a query for its row).

    `text` is what is known of them: those that have their vectors for certain are not looked at.
    """
    model = embedder()
    if model is None or (during_save and not model.save_batch_size):
        return
    known = current_model_id(model)
    kept = text.kept if text and text.kept and text.kept.model_id == known else None
    whole, chunks = chunks, chunks.filter(ordinal__gte=kept.count) if kept else chunks
    missing = _missing(chunks, space_id, known)
    if during_save and len(missing) > model.save_batch_size:
        return
    if text is not None:
        names = text.names
    else:
        names = speakers(whole.values_list("text", flat=True)) if missing else frozenset()
    for start in range(0, len(missing), BATCH_TEXTS):
        batch = missing[start : start + BATCH_TEXTS]
        try:
            made = model.embed([embedded_text(text, names) for _, text in batch], of_space(space_id))
        except EmbeddingError as failure:
            record_error(model, failure.reason)
            raise
        counts = record_dimensions(model, made.shape[1])
        _store(space_id, counts, batch, made)
        record_error(model, None)
        if counts != known:
            # The server has another model under the same name, so the vectors of the earlier one are useless.
            if is_again:
                raise EmbeddingError(Reason("embedding.several_widths"))
            _embed(space_id, whole, unchanged, during_save, is_again=True)
            return
    keys, parameters = chunks.order_by().values("ordinal", "text_key").query.sql_with_params()
    made_bits = f"%s::bytea || coalesce(({BITS.format(chunks=keys)}), '')"
    first = kept.bits if kept else b""
    bits = RawSQL(made_bits, (first, *parameters, space_id, known), BinaryField())  # noqa: S611
    with transaction.atomic():
        # The same lock order as in a forgetting: the index, then the vectors.
        there = list(unchanged.select_for_update(no_key=True).values_list("pk", flat=True))
        hold(_lock(space_id), shared=True)
        # A vector that was there before may have been pruned: then the text stays pending.
        if there and not _missing(chunks, space_id, known):
            unchanged.update(embedded_by=known, bits=bits)


def prune(space_id: int) -> int:
    """Delete the vectors of texts that the space no longer contains, and return how many were deleted."""
    with transaction.atomic(), connection.cursor() as cursor:
        hold(_lock(space_id))
        cursor.execute(PRUNE, [space_id, space_id, space_id])
        return cursor.rowcount


def _lock(space_id: int) -> str:
    return f"vectors {space_id}"


def _missing(chunks: "QuerySet[Any]", space_id: int, known: int) -> list[tuple[int, str]]:
    there = TextVector.objects.filter(space=space_id, model=known, text_key=OuterRef("text_key"))
    rows = chunks.filter(~Exists(there)).order_by("text_key").distinct("text_key")
    return list(rows.values_list("text_key", "text"))


def _store(space_id: int, known: int, texts: Sequence[tuple[int, str]], vectors: NDArray) -> None:
    rows = [json.dumps(row) for row in vectors.round(5).astype(float).tolist()]
    with connection.cursor() as cursor:
        # The statement skips texts that were deleted in between.
        keys = [key for key, _ in texts]
        cursor.execute(STORE, {"space": space_id, "model": known, "keys": keys, "vectors": rows})
