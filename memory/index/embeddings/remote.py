"""Call embedding servers over HTTP: OpenAI's API (OpenAI, Ollama, vLLM, llama.cpp, LM Studio, Voyage) and Gemini's.

After a failure a server is not called for a cooldown, which doubles each time; search continues by words.
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
from oneclaw.outgoing.answers import EndlessAnswerError
from oneclaw.outgoing.client import client as guarded_client
from oneclaw.outgoing.guard import RefusedError
from oneclaw.outgoing.purposes import EMBEDDINGS
from oneclaw.reasons import Reason
from oneclaw.spend.calls import Payer, Spending, paid_by
from oneclaw.text import replace_unstorable

logger = logging.getLogger(__name__)

# The size of a batch in tokens (estimated at three bytes each) and in texts, and how many batches run in parallel.
BATCH_MAX_TOKENS, BATCH_MAX_TEXTS, PARALLEL_BATCHES = 8000, 256, 4
# Attempts at a batch, the backoff before the second one (doubled for each further one), and its upper bound.
BATCH_ATTEMPTS, BACKOFF_SECONDS, RETRY_DELAY_MAX_SECONDS = 3, 0.5, 10.0
# The cooldown after a failure: the first one, and the upper bound.
COOLDOWN_MIN_SECONDS, COOLDOWN_MAX_SECONDS = 15.0, 300.0
# Longer texts are cut before they are sent: no model reads more.
TEXT_MAX_CHARS = 24_000
# A text that a server rejects is halved until it has at most this length: some models read little.
HALVED_TEXT_MIN_CHARS = 64
# The text by which a failing server is tested.
PROBE_TEXT = "a"
# Name and password in an address: removed from the name of the model, which is stored and logged.
CREDENTIALS = re.compile(r"(?<=//)[^/]*@")


@dataclass
class EmbeddingServer:
    """An embedding model behind HTTP: `request` builds the call for texts, `read` returns the rows of an answer."""

    name: str
    request: Callable[[list[str], bool], tuple[str, dict[str, str], dict[str, Any]]]
    read: Callable[[Any], list[list[float]]]
    # The API key, which some servers repeat in their error.
    secret: str = field(repr=False)
    # The timeout of a question.
    timeout_seconds: float = 3.0
    save_batch_size: int = 0
    trust: float = 1.0
    unrelated: float | None = None
    related: float | None = None
    # The name of the model at its provider, for its price.
    model: str = ""
    dimensions: int | None = field(default=0, init=False)
    _cooldown: float = field(default=0.0, init=False)
    _cooldown_until: float = field(default=0.0, init=False)
    _reason: Reason | None = field(default=None, init=False)
    _lock: threading.Lock = field(default_factory=threading.Lock, init=False, repr=False)

    def embed(self, texts: Sequence[str], payer: Payer) -> NDArray[np.float32]:
        """Return for each of `texts` a row of length 1, and store what that has cost. Raise EmbeddingError if the
        server fails."""
        batches = list(_batches(texts))

        def called(batch: list[str]) -> NDArray[np.float32]:
            return self._call(client, spending, batch, question=False, attempts=BATCH_ATTEMPTS)

        with (
            paid_by(payer) as spending,
            ThreadPoolExecutor(PARALLEL_BATCHES) as pool,
            guarded_client(EMBEDDINGS) as client,
        ):
            rows = list(pool.map(called, batches))
        if len({made.shape[1] for made in rows}) > 1:
            raise EmbeddingError(Reason("embedding.several_widths"))
        return np.concatenate(rows) if rows else np.zeros((0, 0), np.float32)

    def embed_question(self, text: str, payer: Payer) -> NDArray[np.float32]:
        """Return the vector of the question `text`, without retries. Raise EmbeddingError if the server fails."""
        with paid_by(payer) as spending, guarded_client(EMBEDDINGS, seconds=self.timeout_seconds) as client:
            return self._call(client, spending, [text[:TEXT_MAX_CHARS]], question=True, attempts=1)[0]

    def _call(
        self, client: httpx2.Client, spending: Spending, texts: list[str], *, question: bool, attempts: int
    ) -> NDArray[np.float32]:
        if self._reason is not None and time.monotonic() < self._cooldown_until:
            raise EmbeddingError(self._reason)
        for left in range(attempts - 1, -1, -1):
            try:
                rows = self._answer(client, spending, texts, question)
            except EmbeddingError as failure:
                parts = None
                if failure.refused:
                    parts = self._embed_parts(client, spending, texts, question, attempts)
                elif failure.broke and not left and not question and self._takes_others(client, spending, texts):
                    # One attempt at each part: any further failure ends it.
                    parts = self._embed_parts(client, spending, texts, question, 1)
                if parts is not None:
                    return parts
                if not left or not failure.passing:
                    self._start_cooldown(failure)
                    raise
                time.sleep(
                    min(failure.retry_after or BACKOFF_SECONDS * 2 ** (attempts - 1 - left), RETRY_DELAY_MAX_SECONDS)
                )
            else:
                self._cooldown = self._cooldown_until = 0.0
                self.dimensions = rows.shape[1]
                return rows
        raise AssertionError("the last attempt returns or raises")

    def _embed_parts(
        self, client: httpx2.Client, spending: Spending, texts: list[str], question: bool, attempts: int
    ) -> NDArray[np.float32] | None:
        """Embed texts that the server rejects together: each half; of a single text, which may be long, the first half.

        A text that cannot be shortened gets zeros if the server embeds another text; else return None.
        """
        if len(texts) > 1:
            half = len(texts) // 2
            halves = (texts[:half], texts[half:])
            rows = [self._call(client, spending, part, question=question, attempts=attempts) for part in halves]
            return np.concatenate(rows)
        if len(texts[0]) > HALVED_TEXT_MIN_CHARS:
            return self._call(client, spending, [texts[0][: len(texts[0]) // 2]], question=question, attempts=attempts)
        try:
            return np.zeros_like(self._answer(client, spending, [PROBE_TEXT], question))
        except EmbeddingError:
            return None

    def _takes_others(self, client: httpx2.Client, spending: Spending, texts: list[str]) -> bool:
        """Return whether the server, which fails for these texts, embeds another one."""
        try:
            return texts != [PROBE_TEXT] and len(self._answer(client, spending, [PROBE_TEXT], question=False)) == 1
        except EmbeddingError:
            return False

    def _answer(
        self, client: httpx2.Client, spending: Spending, texts: list[str], question: bool
    ) -> NDArray[np.float32]:
        """Return for each text a row of length 1."""
        address, headers, body = self.request(texts, question)
        try:
            response = client.post(address, headers=headers, json=body)
        except RefusedError as refused:
            raise EmbeddingError(refused.reason) from refused
        except EndlessAnswerError as error:
            raise EmbeddingError(Reason("embedding.endless"), passing=True) from error
        except httpx2.HTTPError as error:
            reason = Reason("embedding.unreachable", {"error": type(error).__name__})
            raise EmbeddingError(reason, passing=True) from error
        if response.status_code != 200:
            said = response.content.decode(errors="replace")
            said = said.replace(self.secret, "…") if self.secret else said
            raise EmbeddingError(
                Reason("embedding.refused", {"status": response.status_code, "said": replace_unstorable(said[:200])}),
                passing=response.status_code in (408, 409, 425, 429) or response.status_code >= 500,
                retry_after=_seconds(response.headers.get("retry-after")),
                refused=response.status_code in (400, 413, 422),
                broke=response.status_code == 500,
            )
        try:
            answer = json.loads(response.content)
            spending.add(self.model or self.name.strip("/"), _usage_of(answer))
            rows = np.array(self.read(answer), float)
            # Greater numbers cannot be stored; the comparison also excludes NaN.
            if rows.ndim != 2 or len(rows) != len(texts) or not rows.shape[1] or not (abs(rows) < 1e30).all():
                raise ValueError("rows are missing")
        except (ValueError, KeyError, TypeError, IndexError, AttributeError, ArithmeticError, RecursionError) as error:
            raise EmbeddingError(Reason("embedding.no_vectors")) from error
        return (rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-9)).astype(np.float32)

    def _start_cooldown(self, failure: EmbeddingError) -> None:
        with self._lock:
            self._reason = failure.reason
            self._cooldown = min(self._cooldown * 2 or COOLDOWN_MIN_SECONDS, COOLDOWN_MAX_SECONDS)
            self._cooldown_until = time.monotonic() + self._cooldown
        logger.warning("%s is left alone for %d s: %s", self.name, self._cooldown, failure.text_for_logs)


def openai(base: str, key: str, model: str, dimensions: int | None, timeout_seconds: float) -> EmbeddingServer:
    """Return a server with OpenAI's API at `base` (`…/v1`); `dimensions` None: the model's own."""
    headers = {"Authorization": f"Bearer {key}"} if key else {}

    def request(texts: list[str], question: bool) -> tuple[str, dict[str, str], dict[str, Any]]:
        body = {"model": model, "input": texts, "encoding_format": "float"}
        return f"{base.rstrip('/')}/embeddings", headers, body | ({"dimensions": dimensions} if dimensions else {})

    def read(answer: Any) -> list[list[float]]:
        return [row["embedding"] for row in sorted(answer["data"], key=lambda row: row["index"])]

    return EmbeddingServer(
        f"openai/{CREDENTIALS.sub('', base)}/{model}/", request, read, key, timeout_seconds, model=model
    )


def gemini(base: str, key: str, model: str, dimensions: int | None, timeout_seconds: float) -> EmbeddingServer:
    """Return a server with Google's Gemini API at `base`; `dimensions` None: the model's own."""

    def request(texts: list[str], question: bool) -> tuple[str, dict[str, str], dict[str, Any]]:
        common: dict[str, Any] = {
            "model": f"models/{model}",
            "taskType": "RETRIEVAL_QUERY" if question else "RETRIEVAL_DOCUMENT",
        }
        common |= {"outputDimensionality": dimensions} if dimensions else {}
        body = {"requests": [common | {"content": {"parts": [{"text": text}]}} for text in texts]}
        return f"{base.rstrip('/')}/models/{model}:batchEmbedContents", {"x-goog-api-key": key}, body

    def read(answer: Any) -> list[list[float]]:
        return [row["values"] for row in answer["embeddings"]]

    return EmbeddingServer(f"gemini/{model}/", request, read, key, timeout_seconds, model=model)


def _batches(texts: Sequence[str]) -> list[list[str]]:
    batches: list[list[str]] = [[]]
    tokens = 0
    for text in texts:
        text = text[:TEXT_MAX_CHARS] or " "  # an empty text is an error to most servers
        size = len(text.encode()) // 3 + 1
        if batches[-1] and (tokens + size > BATCH_MAX_TOKENS or len(batches[-1]) == BATCH_MAX_TEXTS):
            batches.append([])
            tokens = 0
        batches[-1].append(text)
        tokens += size
    return batches if batches[0] else []


def _usage_of(answer: Any) -> dict[str, Any]:
    """Return the tokens that a server says it has read, by the name of an answer's usage; {} when it does not say."""
    said = answer if isinstance(answer, dict) else {}
    for usage, name in (("usage", "prompt_tokens"), ("usageMetadata", "promptTokenCount")):
        if isinstance(said.get(usage), dict):
            return {"input_tokens": said[usage].get(name)}
    return {}


def _seconds(header: str | None) -> float | None:
    try:
        return max(0.0, float(header)) if header else None
    except ValueError:
        return None
