"""Embedding servers over HTTP: OpenAI's form (OpenAI, Ollama, vLLM, llama.cpp, LM Studio, Voyage) and Gemini's.

A server that fails is left alone for a while, longer each time: search goes on by words, and nobody storms it.
"""

import json
import logging
import re
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

import httpx2
import numpy as np
from numpy.typing import NDArray

from memory.index.embeddings.failures import EmbeddingError
from oneclaw.reasons import Reason
from oneclaw.text import mended

logger = logging.getLogger(__name__)

# A batch: tokens (guessed at three bytes each) and texts; batches under way at once.
BATCH_TOKENS, BATCH_TEXTS, AT_ONCE = 8000, 256, 4
# Tries of a batch, seconds before the second one (then double), and the longest that a server may make us wait.
TRIES, BACKOFF, LONGEST_WAIT = 3, 0.5, 10.0
# Seconds without an answer: for a batch of texts.
BATCH_TIMEOUT = 30.0
# Seconds for which a server that failed is left alone: the first time, and at most.
FIRST_REST, LONGEST_REST = 15.0, 300.0
# Characters of one text that are sent: no model reads more.
LONGEST_TEXT = 24_000
# Characters down to which a text is shortened that a server does not take: some models read few.
SHORTEST_TEXT = 64
# What a server is asked for that breaks over other texts.
PROBE = "a"
# Name and password in an address: they are in no model's name, which the database and the log hold.
CREDENTIALS = re.compile(r"(?<=//)[^/]*@")
# Bytes of an answer: 256 vectors of 4,096 numbers, written out.
LONGEST_ANSWER = 32_000_000


@dataclass
class Server:
    """A model behind HTTP: `request` builds the call for some texts, `read` takes the rows of its answer."""

    name: str
    request: Callable[[list[str], bool], tuple[str, dict[str, str], dict[str, Any]]]
    read: Callable[[Any], list[list[float]]]
    # The key, which some servers repeat when they refuse it.
    secret: str = field(repr=False)
    # Seconds that a person who searches waits for it.
    patience: float = 3.0
    at_once: int = 0
    trust: float = 1.0
    unrelated: float | None = None
    related: float | None = None
    width: int | None = field(default=0, init=False)
    _rest: float = field(default=0.0, init=False)
    _until: float = field(default=0.0, init=False)
    _why: Reason | None = field(default=None, init=False)
    _lock: threading.Lock = field(default_factory=threading.Lock, init=False, repr=False)

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """One row of length 1 for each text; EmbeddingError when the server does not give them."""
        batches = list(_batches(texts))
        with ThreadPoolExecutor(AT_ONCE) as pool, httpx2.Client(timeout=BATCH_TIMEOUT) as client:
            rows = list(pool.map(lambda batch: self._call(client, batch, question=False, tries=TRIES), batches))
        if len({made.shape[1] for made in rows}) > 1:
            raise EmbeddingError(Reason("embedding.several_widths"))
        return np.concatenate(rows) if rows else np.zeros((0, 0), np.float32)

    def embed_question(self, text: str) -> NDArray[np.float32]:
        """The vector of a question; asked once, for a person waits."""
        with httpx2.Client(timeout=self.patience) as client:
            return self._call(client, [text[:LONGEST_TEXT]], question=True, tries=1)[0]

    def _call(self, client: httpx2.Client, texts: list[str], *, question: bool, tries: int) -> NDArray[np.float32]:
        if self._why is not None and time.monotonic() < self._until:
            raise EmbeddingError(self._why)
        for left in range(tries - 1, -1, -1):
            try:
                rows = self._answer(client, texts, question)
            except EmbeddingError as failure:
                parts = None
                if failure.refused:
                    parts = self._parts(client, texts, question, tries)
                elif failure.broke and not left and not question and self._takes_others(client, texts):
                    # Each part is tried once: whatever else goes wrong now ends it.
                    parts = self._parts(client, texts, question, 1)
                if parts is not None:
                    return parts
                if not left or not failure.passing:
                    self._rest_a_while(failure.reason)
                    raise
                time.sleep(min(failure.retry_after or BACKOFF * 2 ** (tries - 1 - left), LONGEST_WAIT))
            else:
                self._rest = self._until = 0.0
                self.width = rows.shape[1]
                return rows
        raise AssertionError("the last try returns or raises")

    def _parts(self, client: httpx2.Client, texts: list[str], question: bool, tries: int) -> NDArray[np.float32] | None:
        """What the server gives for texts that it refuses together: for each half; for the beginning of one that may be
        too long; zeros for one that it will not take while it takes others; None when it takes nothing."""
        if len(texts) > 1:
            half = len(texts) // 2
            return np.concatenate(
                [self._call(client, part, question=question, tries=tries) for part in (texts[:half], texts[half:])]
            )
        if len(texts[0]) > SHORTEST_TEXT:
            return self._call(client, [texts[0][: len(texts[0]) // 2]], question=question, tries=tries)
        try:
            return np.zeros_like(self._answer(client, [PROBE], question))
        except EmbeddingError:
            return None

    def _takes_others(self, client: httpx2.Client, texts: list[str]) -> bool:
        """Whether the server, which breaks over these texts, gives the vector of another."""
        try:
            return texts != [PROBE] and len(self._answer(client, [PROBE], question=False)) == 1
        except EmbeddingError:
            return False

    def _answer(self, client: httpx2.Client, texts: list[str], question: bool) -> NDArray[np.float32]:
        """One row of length 1 for each text."""
        address, headers, body = self.request(texts, question)
        # The client's own timeout counts from byte to byte; this one counts the whole answer.
        until = time.monotonic() + (self.patience if question else BATCH_TIMEOUT)
        try:
            with client.stream("POST", address, headers=headers, json=body) as response:
                content = b""
                for part in response.iter_bytes():
                    content += part
                    if time.monotonic() > until or len(content) > LONGEST_ANSWER:
                        raise EmbeddingError(Reason("embedding.endless"), passing=True)
        except httpx2.HTTPError as error:
            reason = Reason("embedding.unreachable", {"error": type(error).__name__})
            raise EmbeddingError(reason, passing=True) from error
        if response.status_code != 200:
            said = content.decode(errors="replace")
            said = said.replace(self.secret, "…") if self.secret else said
            raise EmbeddingError(
                Reason("embedding.refused", {"status": response.status_code, "said": mended(said[:200])}),
                passing=response.status_code in (408, 409, 425, 429) or response.status_code >= 500,
                retry_after=_seconds(response.headers.get("retry-after")),
                refused=response.status_code in (400, 413, 422),
                broke=response.status_code == 500,
            )
        try:
            rows = np.array(self.read(json.loads(content)), float)
            # Greater ones cannot be kept; what is no number is not smaller either.
            if rows.ndim != 2 or len(rows) != len(texts) or not rows.shape[1] or not (abs(rows) < 1e30).all():
                raise ValueError("rows are missing")
        except (ValueError, KeyError, TypeError, IndexError, AttributeError, ArithmeticError, RecursionError) as error:
            raise EmbeddingError(Reason("embedding.no_vectors")) from error
        return (rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-9)).astype(np.float32)

    def _rest_a_while(self, why: Reason) -> None:
        with self._lock:
            self._why = why
            self._rest = min(self._rest * 2 or FIRST_REST, LONGEST_REST)
            self._until = time.monotonic() + self._rest
        logger.warning("%s is left alone for %d s: %s", self.name, self._rest, why.in_english)


def openai(base: str, key: str, model: str, width: int | None, patience: float) -> Server:
    """A server of OpenAI's form at `base` (`…/v1`)."""
    headers = {"Authorization": f"Bearer {key}"} if key else {}

    def request(texts: list[str], question: bool) -> tuple[str, dict[str, str], dict[str, Any]]:
        body = {"model": model, "input": texts, "encoding_format": "float"}
        return f"{base.rstrip('/')}/embeddings", headers, body | ({"dimensions": width} if width else {})

    def read(answer: Any) -> list[list[float]]:
        return [row["embedding"] for row in sorted(answer["data"], key=lambda row: row["index"])]

    return Server(f"openai/{CREDENTIALS.sub('', base)}/{model}/", request, read, key, patience)


def gemini(base: str, key: str, model: str, width: int | None, patience: float) -> Server:
    """Google's Gemini API."""

    def request(texts: list[str], question: bool) -> tuple[str, dict[str, str], dict[str, Any]]:
        about: dict[str, Any] = {
            "model": f"models/{model}",
            "taskType": "RETRIEVAL_QUERY" if question else "RETRIEVAL_DOCUMENT",
        }
        about |= {"outputDimensionality": width} if width else {}
        body = {"requests": [about | {"content": {"parts": [{"text": text}]}} for text in texts]}
        return f"{base.rstrip('/')}/models/{model}:batchEmbedContents", {"x-goog-api-key": key}, body

    def read(answer: Any) -> list[list[float]]:
        return [row["values"] for row in answer["embeddings"]]

    return Server(f"gemini/{model}/", request, read, key, patience)


def _batches(texts: Sequence[str]) -> list[list[str]]:
    batches: list[list[str]] = [[]]
    tokens = 0
    for text in texts:
        text = text[:LONGEST_TEXT] or " "  # an empty text is an error to most servers
        size = len(text.encode()) // 3 + 1
        if batches[-1] and (tokens + size > BATCH_TOKENS or len(batches[-1]) == BATCH_TEXTS):
            batches.append([])
            tokens = 0
        batches[-1].append(text)
        tokens += size
    return batches if batches[0] else []


def _seconds(header: str | None) -> float | None:
    try:
        return max(0.0, float(header)) if header else None
    except ValueError:
        return None
