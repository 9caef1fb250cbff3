"""Which model makes the vectors, as the settings choose."""

from collections.abc import Mapping
from typing import Protocol

import numpy as np
from django.conf import settings
from numpy.typing import NDArray


class Embedder(Protocol):
    """A model that turns texts into vectors. `name` is kept with every vector that it made."""

    name: str
    width: int
    at_once: bool
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
    from memory.embeddings.local import WordVectors  # 30 MB that a process without search does without

    return WordVectors()


def near_words(word: str) -> Mapping[str, float]:
    """The common words near this one in meaning, each with a weight below 1."""
    from memory.embeddings import local

    return local.near_words(word)
