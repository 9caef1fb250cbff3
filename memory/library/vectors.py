"""Embed the chunks of files: one vector for each text, space and model; what is missing is embedded by the sweep."""

import json
import logging
from collections.abc import Iterator
from contextlib import contextmanager

from django.db import connection, transaction
from django.db.models import Exists, OuterRef, QuerySet

from memory.index.embeddings import embedder
from memory.index.embeddings.failures import EmbeddingError
from memory.index.models import current_model_id, record_dimensions, record_error
from memory.index.vectors import BATCH_TEXTS, embedded_text, of_space
from memory.library.indexing import meant_text
from memory.models import FileChunk, FileIndex, FileVector, LibraryFile
from oneclaw.locks import hold

logger = logging.getLogger(__name__)

# Files that one sweep embeds at most.
PENDING_MAX_FILES = 200

# It skips texts that were removed in between.
STORE = """
INSERT INTO memory_filevector (space_id, model_id, text_key, vector)
SELECT %(space)s, %(model)s, made.key, made.vector::halfvec
  FROM unnest(%(keys)s::bigint[], %(vectors)s::text[]) AS made (key, vector)
 WHERE EXISTS (SELECT FROM memory_filechunk WHERE space_id = %(space)s AND text_key = made.key)
    ON CONFLICT DO NOTHING
"""
# The signs of the vectors of all chunks, in their order, unless one is missing (memory/index/vectors.py).
MARK_EMBEDDED = """
UPDATE memory_fileindex index SET embedded_by_id = %(model)s, bits = made.bits
  FROM (SELECT count(vector.text_key) = count(*) AS is_whole,
               string_agg(substring(varbit_send(binary_quantize(vector.vector)::bit varying) FROM 5), ''
                          ORDER BY chunk.ordinal) AS bits
          FROM memory_filechunk chunk LEFT JOIN memory_filevector vector ON vector.space_id = chunk.space_id
               AND vector.model_id = %(model)s AND vector.text_key = chunk.text_key
         WHERE chunk.file_id = %(file)s) made
 WHERE index.file_id = %(file)s AND index.version_id = %(version)s AND made.is_whole
"""
# Texts that no file of the space has any more.
PRUNE = """
DELETE FROM memory_filevector vector WHERE space_id = %(space)s AND NOT EXISTS (
    SELECT FROM memory_filechunk chunk WHERE chunk.space_id = %(space)s AND chunk.text_key = vector.text_key)
"""
PRUNE_TEXTS = PRUNE + " AND text_key = ANY(%(keys)s::bigint[])"


def embed_file(file_id: int) -> None:
    """Embed every chunk of the file that lacks a vector by the current model. Idempotent.

    Raise EmbeddingError if the server fails: the file stays pending, and is found by words.
    """
    model = embedder()
    index = FileIndex.objects.filter(pk=file_id, units__gt=0).defer("data", "bits").first()
    if model is None or index is None:
        return
    known = current_model_id(model)
    missing = list(_missing(file_id, index.space_id, known).values_list("text_key", "heading", "text"))
    for start in range(0, len(missing), BATCH_TEXTS):
        batch = missing[start : start + BATCH_TEXTS]
        texts = [embedded_text(meant_text(heading, text)) for _, heading, text in batch]
        try:
            made = model.embed(texts, of_space(index.space_id))
        except EmbeddingError as failure:
            record_error(model, failure.reason)
            raise
        counts = record_dimensions(model, made.shape[1])
        rows = [json.dumps(row) for row in made.round(5).astype(float).tolist()]
        with transaction.atomic(), connection.cursor() as cursor:
            # A text is not removed between the look at it and the commit of its vector.
            hold(_lock(index.space_id), shared=True)
            keys = [key for key, _, _ in batch]
            cursor.execute(STORE, {"space": index.space_id, "model": counts, "keys": keys, "vectors": rows})
        record_error(model, None)
        if counts != known:
            # The server has another model under the same name: the file is embedded by it with the next sweep.
            return
    with transaction.atomic(), connection.cursor() as cursor:
        hold(_lock(index.space_id), shared=True)
        cursor.execute(MARK_EMBEDDED, {"model": known, "file": file_id, "version": index.version_id})


def embed_pending(limit: int = PENDING_MAX_FILES) -> int:
    """Embed files that lack vectors, and return how many were embedded. The first failure of the server ends it."""
    model = embedder()
    if model is None:
        return 0
    waiting = FileIndex.objects.filter(units__gt=0).exclude(embedded_by=current_model_id(model))
    ids = list(waiting.order_by("-pk").values_list("pk", flat=True)[:limit])
    for done, file_id in enumerate(ids):
        try:
            embed_file(file_id)
        except EmbeddingError as failure:
            logger.info("%d files of libraries wait for their vectors: %s", len(ids) - done, failure)
            return done
    return len(ids)


@contextmanager
def without_unused(file: LibraryFile) -> Iterator[None]:
    """Remove or replace the chunks of `file` in this block: afterwards, the vectors of texts that no file of the space
    has any more are deleted. Must be entered in the transaction, before it locks the row of a file."""
    space_id = file.space_id
    hold(_lock(space_id))
    keys = list(FileChunk.objects.filter(file=file.pk).values_list("text_key", flat=True).distinct())
    yield
    with connection.cursor() as cursor:
        cursor.execute(PRUNE_TEXTS, {"space": space_id, "keys": keys})


def prune_left() -> int:
    """Delete the vectors that were left in any space, and return how many were deleted."""
    used = FileChunk.objects.filter(space=OuterRef("space"), text_key=OuterRef("text_key"))
    left = FileVector.objects.filter(~Exists(used)).values_list("space_id", flat=True).distinct()
    return sum(prune(space_id) for space_id in list(left))


def prune(space_id: int) -> int:
    """Delete the vectors of texts that no file of the space has any more, and return how many were deleted."""
    with transaction.atomic(), connection.cursor() as cursor:
        hold(_lock(space_id))
        cursor.execute(PRUNE, {"space": space_id})
        return cursor.rowcount


def _missing(file_id: int, space_id: int, known: int) -> "QuerySet[FileChunk]":
    there = FileVector.objects.filter(space=space_id, model=known, text_key=OuterRef("text_key"))
    chunks = FileChunk.objects.filter(~Exists(there), file=file_id)
    return chunks.order_by("text_key").distinct("text_key")


def _lock(space_id: int) -> str:
    return f"library vectors {space_id}"
