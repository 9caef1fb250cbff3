"""Which model makes the vectors, as the settings choose."""

from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Protocol
from urllib.parse import urlsplit

import numpy as np
from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from numpy.typing import NDArray

# What a kind of model needs (an HTTP client, a tokenizer, weights) is imported where it is chosen: a process that
# embeds nothing starts faster and smaller without it.
OPENAI, GEMINI = "https://api.openai.com/v1", "https://generativelanguage.googleapis.com/v1beta"
# The model of each provider when none is named, and the width asked of it: enough for lines of text, and quick to scan.
OPENAI_MODEL, OPENAI_WIDTH = "text-embedding-3-small", 512
GEMINI_MODEL, GEMINI_WIDTH = "gemini-embedding-001", 768


class Embedder(Protocol):
    """A model that turns texts into vectors. `name` is kept with every vector that it made."""

    name: str
    # How many numbers its last vectors had, 0 before the first; None where the name tells one model from all others. A
    # server may have another model under the same name tomorrow.
    width: int | None
    # How many texts it takes within a save's own time; the rest waits for the sweep.
    at_once: int
    # What one deviation of its cosines is worth beside the reference's, all-MiniLM-L6-v2.
    trust: float
    # The best cosine that a question typically gets from a memory that knows nothing of it, and from one that does;
    # None where nobody has measured it.
    unrelated: float | None
    related: float | None

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """One row of length 1 (or 0) for each text. EmbeddingError when a server does not give them."""

    def embed_question(self, text: str) -> NDArray[np.float32]:
        """The vector of a question, for which a person waits."""


def embedder() -> Embedder | None:
    """The model that the settings name; None when search goes by words alone."""
    choice = settings.EMBEDDINGS
    if choice == "auto":
        choice = "openai" if settings.OPENAI_API_KEY else "gemini" if settings.GEMINI_API_KEY else "local"
    if choice == "none":
        return None
    if choice == "local":
        return local_model(settings.LOCAL_MODEL)
    model, patience = settings.EMBEDDING_MODEL, settings.EMBEDDING_TIMEOUT
    if choice == "openai":
        return openai_server(settings.OPENAI_BASE_URL, settings.OPENAI_API_KEY, model, patience)
    return gemini_server(settings.GEMINI_API_KEY, model, patience)


# One object for each server, for it remembers that it failed.
@lru_cache(maxsize=8)
def openai_server(base: str, key: str, model: str, patience: float) -> Embedder:
    from memory.index.embeddings import remote

    if not key and urlsplit(base or OPENAI).hostname == urlsplit(OPENAI).hostname:
        raise ImproperlyConfigured(
            "ONECLAW_EMBEDDINGS is openai: set OPENAI_API_KEY, or OPENAI_BASE_URL to a server that needs no key."
        )
    width = OPENAI_WIDTH if (model or OPENAI_MODEL).startswith("text-embedding-3") else None
    return remote.openai(base or OPENAI, key, model or OPENAI_MODEL, width, patience)


@lru_cache(maxsize=8)
def gemini_server(key: str, model: str, patience: float) -> Embedder:
    from memory.index.embeddings import remote

    if not key:
        raise ImproperlyConfigured("ONECLAW_EMBEDDINGS is gemini: set GEMINI_API_KEY.")
    return remote.gemini(GEMINI, key, model or GEMINI_MODEL, GEMINI_WIDTH, patience)


def local_model(name: str) -> Embedder:
    """A model that runs in this process. Loaded on first use: a process without search does without its memory."""
    if not name:
        from memory.index.embeddings.local import WordVectors

        return WordVectors()
    from memory.index.embeddings.onnx_folder import OnnxFolder

    return OnnxFolder(Path(name).expanduser())


def near_words(words: Sequence[str]) -> list[Mapping[str, float]]:
    """For each word the common words near it in meaning, each with a weight below 1."""
    from memory.index.embeddings import local

    return local.near_words(words)
