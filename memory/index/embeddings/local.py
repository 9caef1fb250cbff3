"""Vectors without a server, a download or a GPU: the word vectors that come inside the wordllama package.

A text is the mean of its tokens' vectors: 0.03 ms a question, 16 MB mapped from the file. The package itself is not
imported, only its two files are read.
"""

import importlib.util
import json
import threading
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from tokenizers import Tokenizer

from memory.text.languages import STOP_WORDS

# How the tokenizer marks a token that begins a word.
WORD_START = "▁"
WIDTH = 256
_loading = threading.Lock()


class WordVectors:
    """The local model that is always there."""

    name = "local/wordllama-l2-supercat-256"
    width: int | None = None
    # Texts that are embedded within a save's own time.
    at_once = 200
    trust = 0.75
    unrelated: float | None = 0.24
    related: float | None = 0.51

    def embed_question(self, text: str) -> NDArray[np.float32]:
        return self.embed([text])[0]

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """One row of length 1 for each text; zeros for a text without a token."""
        with _loading:
            tokenizer, vectors = _model()
        rows = np.zeros((len(texts), WIDTH), np.float32)
        for row, encoded in zip(rows, tokenizer.encode_batch(list(texts), add_special_tokens=False), strict=True):
            if encoded.ids:
                row[:] = vectors[encoded.ids].astype(np.float32).mean(axis=0)
        return rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-9)


# How near a word must be (cosine), and how many are taken.
NEAR, NEIGHBOURS = 0.4, 20
# Words whose neighbours are kept, and their longest: longer ones have none.
REMEMBERED, LONGEST_WORD = 8192, 40
_near: dict[str, Mapping[str, float]] = {}


def near_words(words: Sequence[str]) -> list[Mapping[str, float]]:
    """For each word the common words near it in meaning with the squares of their cosines: dog → dogs, animal, pet."""
    # Each is looked up once, for another thread may clear them at any moment.
    kept = {word: {} if len(word) > LONGEST_WORD else _near.get(word) for word in words}
    known: dict[str, Mapping[str, float]] = {word: near for word, near in kept.items() if near is not None}
    if unknown := [word for word in kept if word not in known]:
        # One look at the vocabulary for all of them: what costs is to read its vectors.
        common, vectors = _vocabulary()
        found: dict[str, Mapping[str, float]] = {}
        for word, cosines in zip(unknown, WordVectors().embed(unknown) @ vectors.T, strict=True):
            near = np.flatnonzero(cosines >= NEAR)
            best = near[np.argsort(-cosines[near], kind="stable")[:NEIGHBOURS]]
            found[word] = {common[at]: float(cosines[at]) ** 2 for at in best if common[at] != word}
        if len(_near) > REMEMBERED:
            _near.clear()
        _near.update(found)
        known |= found
    return [known[word] for word in words]


@cache
def _vocabulary() -> tuple[list[str], NDArray[np.float32]]:
    """The whole English words that the tokenizer knows as one token, and their vectors."""
    tokens = _model()[0].get_vocab()
    words = sorted(
        {
            token[1:].lower()
            for token in tokens
            if token.startswith(WORD_START) and len(token) > 4 and token[1:].isascii() and token[1:].isalpha()
        }
        - STOP_WORDS
    )
    return words, WordVectors().embed(words)


@cache
def _model() -> tuple[Tokenizer, NDArray[np.float16]]:
    spec = importlib.util.find_spec("wordllama")
    if spec is None or spec.origin is None:
        raise RuntimeError("The package wordllama is not installed: install the requirements again.")
    folder = Path(spec.origin).parent
    tokenizer = Tokenizer.from_file(str(folder / "tokenizers" / "l2_supercat_tokenizer_config.json"))
    tokenizer.no_padding()
    tokenizer.no_truncation()
    return tokenizer, _mapped(folder / "weights" / "l2_supercat_256.safetensors", "embedding.weight")


def _mapped(path: Path, name: str) -> NDArray[np.float16]:
    """One tensor of a safetensors file, mapped: only the rows that are used come into memory."""
    with path.open("rb") as file:
        length = int.from_bytes(file.read(8), "little")
        about = json.loads(file.read(length))[name]
    start = 8 + length + about["data_offsets"][0]
    return np.memmap(path, np.float16, mode="r", offset=start, shape=tuple(about["shape"]))
