"""Choose the embedding model by the settings."""

from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Protocol
from urllib.parse import urlsplit

import numpy as np
from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from numpy.typing import NDArray

from oneclaw.spend.calls import Payer

# What a kind of model needs (an HTTP client, a tokenizer, weights) is imported where it is chosen, so that a process
# that embeds nothing starts faster and needs less memory.
OPENAI, GEMINI = "https://api.openai.com/v1", "https://generativelanguage.googleapis.com/v1beta"
# The default model of each provider, and the dimensions requested: enough for lines of text, and fast to scan.
OPENAI_MODEL, OPENAI_DIMENSIONS = "text-embedding-3-small", 512
GEMINI_MODEL, GEMINI_DIMENSIONS = "gemini-embedding-001", 768


class Embedder(Protocol):
    """A model that turns texts into vectors. `name` is stored with every vector that it made."""

    name: str
    # The number of dimensions of its last vectors, 0 before the first; None if the name identifies the model. A server
    # can change the model behind a name.
    dimensions: int | None
    # How many texts are embedded as one batch during a save; with more of them, all wait for the sweep.
    save_batch_size: int
    # The weight of a deviation of its cosines, relative to the reference model all-MiniLM-L6-v2.
    trust: float
    # The best cosine that a question typically gets from a memory that does not answer it, and from one that does;
    # None if not measured.
    unrelated: float | None
    related: float | None

    def embed(self, texts: Sequence[str], payer: Payer) -> NDArray[np.float32]:
        """Return for each of `texts` a row of length 1 (or 0). Raise EmbeddingError if a server fails.

        What a server's calls have cost is stored for `payer`; a model in this process costs nothing.
        """

    def embed_question(self, text: str, payer: Payer) -> NDArray[np.float32]:
        """Return the vector of the question `text`, with a short timeout. Raise EmbeddingError if a server fails."""


def embedder() -> Embedder | None:
    """Return the model that the settings name, or None if search uses words only.

    Raise ImproperlyConfigured if its key, package or files are missing.
    """
    choice = settings.EMBEDDINGS
    if choice == "auto":
        choice = "openai" if settings.OPENAI_API_KEY else "gemini" if settings.GEMINI_API_KEY else "local"
    if choice == "none":
        return None
    if choice == "local":
        return local_model(settings.LOCAL_MODEL)
    model, timeout_seconds = settings.EMBEDDING_MODEL, settings.EMBEDDING_TIMEOUT
    if choice == "openai":
        return openai_server(settings.OPENAI_BASE_URL, settings.OPENAI_API_KEY, model, timeout_seconds)
    return gemini_server(settings.GEMINI_API_KEY, model, timeout_seconds)


# One object for each server, because it stores its failures.
@lru_cache(maxsize=8)
def openai_server(base: str, key: str, model: str, timeout_seconds: float) -> Embedder:
    """Return the embedder for a server with OpenAI's API; `timeout_seconds` is that of a question."""
    from memory.index.embeddings import remote

    if not key and urlsplit(base or OPENAI).hostname == urlsplit(OPENAI).hostname:
        raise ImproperlyConfigured(
            "ONECLAW_EMBEDDINGS is openai: set OPENAI_API_KEY, or OPENAI_BASE_URL to a server that needs no key."
        )
    dimensions = OPENAI_DIMENSIONS if (model or OPENAI_MODEL).startswith("text-embedding-3") else None
    return remote.openai(base or OPENAI, key, model or OPENAI_MODEL, dimensions, timeout_seconds)


@lru_cache(maxsize=8)
def gemini_server(key: str, model: str, timeout_seconds: float) -> Embedder:
    """Return the embedder for Google's Gemini API; `timeout_seconds` is that of a question."""
    from memory.index.embeddings import remote

    if not key:
        raise ImproperlyConfigured("ONECLAW_EMBEDDINGS is gemini: set GEMINI_API_KEY.")
    return remote.gemini(GEMINI, key, model or GEMINI_MODEL, GEMINI_DIMENSIONS, timeout_seconds)


def local_model(name: str) -> Embedder:
    """Return the model `name` (empty: the word vectors) that runs in this process. It is loaded on first use.

    Raise ImproperlyConfigured if its package is not installed.
    """
    if not name:
        from memory.index.embeddings.local import WordVectors

        return WordVectors()
    from memory.index.embeddings.onnx_folder import OnnxFolder

    return OnnxFolder(Path(name).expanduser())


def rarities(words: Sequence[str]) -> list[float]:
    """Return for each of `words` how rare it is in texts of any kind, from 0 to 1."""
    from memory.index.embeddings import local

    return local.rarities(words)


def near_words(words: Sequence[str]) -> list[Mapping[str, float]]:
    """Return for each of `words` the common words close in meaning, each with a weight below 1."""
    from memory.index.embeddings import local

    return local.near_words(words)
