"""The vectors of the index: made once for each text, kept by model, caught up in the background."""

import hashlib
import json
import re
from collections.abc import Sequence
from functools import lru_cache

from django.db import connection
from numpy.typing import NDArray

from memory.chunking import SPEAKER, speaker_of, speakers
from memory.embeddings import Embedder, embedder
from memory.models import DocumentIndex, EmbeddingModel, MemoryChunk

# Texts in one go.
BATCH = 512

MARKUP = re.compile(r"\s*(?:[-*+•>#|]+\s+|\d{1,3}[.)]\s+)+")
MISSING = """
SELECT DISTINCT ON (chunk.text_key) chunk.text_key, chunk.text
  FROM memory_memorychunk chunk
 WHERE chunk.document_id = %s
   AND NOT EXISTS (SELECT FROM memory_textvector
                    WHERE space_id = chunk.space_id AND model_id = %s AND text_key = chunk.text_key)
"""
STORE = """
INSERT INTO memory_textvector (space_id, model_id, text_key, vector)
SELECT %s, %s, made.key, made.vector::halfvec FROM unnest(%s::bigint[], %s::text[]) AS made (key, vector)
    ON CONFLICT DO NOTHING
"""


def embedded_text(text: str, names: frozenset[str] = frozenset()) -> str:
    """What of a unit goes to the embedding model: its words, without markup and without the names of those who talk.

    Those swamp a vector: every line that greets Ada looks like every question about Ada.
    """
    text = MARKUP.sub("", text, count=1)
    if not names:
        return text.strip()
    if speaker_of(text) in names:
        text = SPEAKER.sub("", text, count=1)
    return " ".join(_pattern(names).sub(" ", text).split()) or text.strip()


@lru_cache(maxsize=256)
def _pattern(names: frozenset[str]) -> re.Pattern[str]:
    return re.compile(rf"\b(?:{'|'.join(map(re.escape, sorted(names)))})\b(?:['’]s)?")


def text_key(text: str) -> int:
    """The number by which a text's vector is kept."""
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "big", signed=True)


def embed_pending() -> int:
    """Embed what still waits for its vectors; how many documents that were. For the sweep and after an import."""
    model = embedder()
    if model is None:
        return 0
    waiting = DocumentIndex.objects.exclude(embedded_by=model_id(model)).order_by("-document_id")
    documents = list(waiting.values_list("document_id", flat=True))
    for document_id in documents:
        embed_document(document_id)
    return len(documents)


def embed_document(document_id: int, only_at_once: bool = False) -> None:
    """Give every unit of the document its vector by the current model. `only_at_once`: unless that would take long."""
    model = embedder()
    if model is None or (only_at_once and not model.at_once):
        return
    index = DocumentIndex.objects.filter(document_id=document_id).defer("data").first()
    if index is None:
        return
    known = model_id(model)
    missing = _missing(document_id, known)
    if only_at_once and len(missing) > model.at_once:
        return
    if missing:
        EmbeddingModel.objects.get_or_create(id=known, defaults={"name": model.name, "width": model.width})
        names = speakers(MemoryChunk.objects.filter(document_id=document_id).values_list("text", flat=True))
        for start in range(0, len(missing), BATCH):
            batch = missing[start : start + BATCH]
            _store(index.space_id, known, batch, model.embed([embedded_text(text, names) for _, text in batch]))
    DocumentIndex.objects.filter(document_id=document_id, version=index.version).update(embedded_by=known)


def model_id(model: Embedder) -> int:
    """The number that stands for this model beside every vector that it made."""
    return text_key(f"{model.name} {model.width}")


def _missing(document_id: int, known: int) -> list[tuple[int, str]]:
    with connection.cursor() as cursor:
        cursor.execute(MISSING, [document_id, known])
        return cursor.fetchall()


def _store(space_id: int, known: int, texts: Sequence[tuple[int, str]], vectors: NDArray) -> None:
    rows = [json.dumps(row) for row in vectors.round(5).astype(float).tolist()]
    with connection.cursor() as cursor:
        cursor.execute(STORE, [space_id, known, [key for key, _ in texts], rows])
