"""Sentence-transformers models (all-MiniLM, BGE, E5, GTE …) from a folder with an ONNX file, run by onnxruntime.

onnxruntime is optional: this module is imported only where ONECLAW_LOCAL_MODEL names a folder.
"""

import json
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any
from zlib import crc32

import numpy as np
from django.core.exceptions import ImproperlyConfigured
from numpy.typing import NDArray
from tokenizers import Tokenizer

from oneclaw.spend.calls import Payer

try:
    import onnxruntime
except ImportError as missing:
    raise ImproperlyConfigured(
        "ONECLAW_LOCAL_MODEL names a folder, and the package that runs its model is not installed:"
        " .venv/bin/python -m pip install onnxruntime"
    ) from missing

# The model that was measured, recognised by the name of its folder.
MINILM = "all-MiniLM-L6-v2"
# Where published folders have the model, the first that exists counts.
MODEL_FILES = ("onnx/model.onnx", "model.onnx")
TEXT_MAX_TOKENS, BATCH_MAX_TOKENS = 256, 2048
_loading = threading.Lock()


class OnnxFolder:
    """A local model from a folder with `onnx/model.onnx` or `model.onnx`, and `tokenizer.json`."""

    dimensions: int | None = None
    save_batch_size = 8  # some 15 ms each
    trust = 1.0

    def __init__(self, folder: Path):
        self.folder = folder
        self.name = f"local/{folder.name}-{fingerprint(folder):08x}"
        self.unrelated: float | None = 0.26 if folder.name == MINILM else None
        self.related: float | None = 0.55 if folder.name == MINILM else None

    def embed_question(self, text: str, payer: Payer | None = None) -> NDArray[np.float32]:
        """Return the vector of a question, of length 1."""
        return self.embed([text])[0]

    def embed(self, texts: Sequence[str], payer: Payer | None = None) -> NDArray[np.float32]:
        """Return one row of length 1 for each text."""
        with _loading:
            model = _loaded(self.folder)
        encoded = model.tokenizer.encode_batch(list(texts))
        rows: list[NDArray[np.float32]] = [np.zeros(0, np.float32)] * len(texts)
        for batch in _batches([len(one.ids) for one in encoded]):
            for at, row in zip(batch, model.embed([encoded[at].ids for at in batch]), strict=True):
                rows[at] = row
        return np.array(rows, np.float32)


@lru_cache(maxsize=4)
def fingerprint(folder: Path) -> int:
    """Return a checksum of the weights, which tells another model in a folder of the same name apart."""
    path, checksum = _model_file(folder), 0
    # A large model has its weights in further files: model.onnx_data, model.onnx.data.
    for part in sorted(path.parent.glob(f"{path.name}*")):
        with part.open("rb") as file:
            while block := file.read(1 << 20):
                checksum = crc32(block, checksum)
    return checksum


@dataclass(frozen=True)
class LoadedModel:
    """A model in memory. A text's vector is the mean over its tokens, or its first token's (`uses_first_token`)."""

    session: Any
    tokenizer: Tokenizer
    pad: int
    uses_first_token: bool

    def embed(self, tokens: Sequence[Sequence[int]]) -> NDArray[np.float32]:
        """Return one row of length 1 for each list of tokens."""
        shape = len(tokens), max(map(len, tokens))
        ids, mask = np.full(shape, self.pad, np.int64), np.zeros(shape, np.int64)
        for row, text in enumerate(tokens):
            ids[row, : len(text)], mask[row, : len(text)] = text, 1
        offered = {"input_ids": ids, "attention_mask": mask, "token_type_ids": np.zeros(shape, np.int64)}
        taken = {one.name: offered[one.name] for one in self.session.get_inputs()}
        states = self.session.run(None, taken)[0].astype(np.float32)
        if self.uses_first_token:
            pooled = states[:, 0]
        else:
            pooled = (states * mask[:, :, None]).sum(axis=1) / np.maximum(mask.sum(axis=1, keepdims=True), 1)
        unit: NDArray[np.float32] = pooled / np.maximum(np.linalg.norm(pooled, axis=1, keepdims=True), 1e-9)
        return unit


@lru_cache(maxsize=1)
def _loaded(folder: Path) -> LoadedModel:
    path, pooling = _model_file(folder), folder / "1_Pooling" / "config.json"
    options = onnxruntime.SessionOptions()
    # One thread: a question is a few milliseconds, and the other cores have other people's turns to do.
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    try:
        uses_first_token = pooling.exists() and json.loads(pooling.read_text()).get("pooling_mode_cls_token", False)
        tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
        session = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    except Exception as error:  # tokenizers raises Exception itself, onnxruntime classes of its own
        raise ImproperlyConfigured(f"The model in {folder} cannot be read: {error}") from error
    pad = (tokenizer.padding or {}).get("pad_id", 0)
    tokenizer.no_padding()
    tokenizer.enable_truncation(TEXT_MAX_TOKENS)
    return LoadedModel(session, tokenizer, pad, uses_first_token)


def _model_file(folder: Path) -> Path:
    for name in MODEL_FILES:
        if (path := folder / name).is_file():
            return path
    if any(folder.glob("*.safetensors")):
        raise ImproperlyConfigured(
            f"The model in {folder} has no ONNX file. Export it into a new folder, on any machine, and name that"
            ' one: pip install "sentence-transformers[onnx]", then python -c "from sentence_transformers import'
            f" SentenceTransformer as S; S('{folder}', backend='onnx').save_pretrained('NEW_FOLDER')\""
        )
    raise ImproperlyConfigured(
        f"There is no model in {folder}: ONECLAW_LOCAL_MODEL must name a folder with tokenizer.json and"
        f" {' or '.join(MODEL_FILES)}."
    )


def _batches(lengths: Sequence[int]) -> Iterator[list[int]]:
    """Yield the places of all texts in batches; texts of like length together, so that little is padded."""
    batch: list[int] = []
    for at in sorted(range(len(lengths)), key=lengths.__getitem__):
        if batch and (len(batch) + 1) * lengths[at] > BATCH_MAX_TOKENS:
            yield batch
            batch = []
        batch.append(at)
    if batch:
        yield batch
