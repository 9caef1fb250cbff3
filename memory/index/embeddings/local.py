"""Embed texts without a server, a download or a GPU, with the word vectors of the wordllama package.

The vector of a text is the mean of its tokens' vectors: 0.03 ms per question, 16 MB mapped from the file. The package
itself is not imported, only two of its files are read.
"""

import importlib.util
import json
import math
import threading
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from tokenizers import Tokenizer

from memory.text.languages import STOP_WORDS
from oneclaw.spend.calls import Payer

# How the tokenizer marks a token that begins a word.
WORD_START = "▁"
VECTOR_DIMENSIONS = 256
_loading = threading.Lock()


class WordVectors:
    """The local model that is always available."""

    name = "local/wordllama-l2-supercat-256"
    dimensions: int | None = None
    # How many texts are embedded during a save.
    save_batch_size = 200
    trust = 0.75
    unrelated: float | None = 0.24
    related: float | None = 0.51

    def embed_question(self, text: str, payer: Payer | None = None) -> NDArray[np.float32]:
        """Return the vector of the question `text`."""
        return self.embed([text])[0]

    def embed(self, texts: Sequence[str], payer: Payer | None = None) -> NDArray[np.float32]:
        """Return for each of `texts` a row of length 1, or of zeros if the text has no token."""
        with _loading:
            tokenizer, vectors = _model()
        rows = np.zeros((len(texts), VECTOR_DIMENSIONS), np.float32)
        for row, encoded in zip(rows, tokenizer.encode_batch(list(texts), add_special_tokens=False), strict=True):
            if encoded.ids:
                row[:] = vectors[encoded.ids].astype(np.float32).mean(axis=0)
        return rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-9)


# The cosine from which on a word is near, and the number of near words that count.
NEAR_MIN_SCORE, NEAR_MAX_WORDS = 0.4, 20
# Words whose near words are cached, and their length: longer words have no near words.
CACHED_MAX_WORDS, WORD_MAX_CHARS = 8192, 40
_near: dict[str, Mapping[str, float]] = {}


def near_words(words: Sequence[str]) -> list[Mapping[str, float]]:
    """Return for each of `words` the common words close in meaning, with the squares of their cosines: dog → pet."""
    # One lookup per word, because another thread may clear the cache at any moment.
    kept = {word: {} if len(word) > WORD_MAX_CHARS else _near.get(word) for word in words}
    known: dict[str, Mapping[str, float]] = {word: near for word, near in kept.items() if near is not None}
    if unknown := [word for word in kept if word not in known]:
        # One scan of the vocabulary for all of them: reading its vectors is what takes time.
        common, vectors = _vocabulary()
        found: dict[str, Mapping[str, float]] = {}
        for word, cosines in zip(unknown, WordVectors().embed(unknown) @ vectors.T, strict=True):
            near = np.flatnonzero(cosines >= NEAR_MIN_SCORE)
            best = near[np.argsort(-cosines[near], kind="stable")[:NEAR_MAX_WORDS]]
            found[word] = {common[at]: float(cosines[at]) ** 2 for at in best if common[at] != word}
        if len(_near) > CACHED_MAX_WORDS:
            _near.clear()
        _near.update(found)
        known |= found
    return [known[word] for word in words]


# Tokens up to this number are in words that say little ("each", "month"); those of the last third are rare words.
COMMON_MAX_TOKEN, RARE_MIN_TOKEN = 600, 12_000


def rarities(words: Sequence[str]) -> list[float]:
    """Return for each of `words` how rare it is in texts of any kind, from 0 to 1.

    The tokens of byte-pair encoding are numbered by how often they occurred (Sennrich et al., 2016), so that the number
    of a word which is one token is a rank of its frequency; other words are rare.
    """
    tokenizer = _model()[0]
    found = []
    for encoded in tokenizer.encode_batch([word.lower() for word in words], add_special_tokens=False):
        rank = encoded.ids[0] if len(encoded.ids) == 1 else RARE_MIN_TOKEN
        share = math.log(max(rank, 1) / COMMON_MAX_TOKEN) / math.log(RARE_MIN_TOKEN / COMMON_MAX_TOKEN)
        found.append(min(max(share, 0.1), 1.0))
    return found


@cache
def _vocabulary() -> tuple[list[str], NDArray[np.float32]]:
    """Return the English words that are one token of the tokenizer, and their vectors."""
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
    return tokenizer, _map_tensor(folder / "weights" / "l2_supercat_256.safetensors", "embedding.weight")


def _map_tensor(path: Path, name: str) -> NDArray[np.float16]:
    """Return a tensor of a safetensors file, memory-mapped: only the rows that are used are read."""
    with path.open("rb") as file:
        length = int.from_bytes(file.read(8), "little")
        header = json.loads(file.read(length))[name]
    start = 8 + length + header["data_offsets"][0]
    return np.memmap(path, np.float16, mode="r", offset=start, shape=tuple(header["shape"]))
