"""The client of the Messages API: the only module that sends requests to a model or imports the SDK.

async for event in llm.stream(llm.Request(model, system, messages)):
    …                       # BlockStarted, TextDelta, …, at last Finished; or a ModelRequestError is raised
"""

import asyncio
import contextlib
import functools
import logging
import math
import random
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import urlsplit

from django.conf import settings

from oneclaw.llm.blocks import ApiMessage, ApiTextMessage, Block, ToolDefinition
from oneclaw.llm.events import AnswerReader, Event, Finished, Retrying, TextDelta
from oneclaw.llm.failures import (
    AnswerRefusedError,
    CutOffError,
    ModelRequestError,
    ModelTimeoutError,
    NoKeyError,
    UnreachableError,
    UnreadableAnswerError,
    failure_of_response,
)

if TYPE_CHECKING:
    # At run time, functions import it: the SDK takes 75 MB and a second, which commands and idle workers do not need.
    import ssl

    import anthropic
    import httpx2

log = logging.getLogger(__name__)
T = TypeVar("T")

# Attempts of one request, and the backoff between them.
MAX_ATTEMPTS = 3
RETRY_MAX_SECONDS = 30.0
RETRY_FIRST_SECONDS = 0.5


@dataclass(frozen=True)
class Request:
    """A request to the model; all parts in the API's own form, `cache_control` included."""

    model: str
    system: Sequence[Block]
    messages: Sequence[ApiMessage | ApiTextMessage]
    tools: Sequence[ToolDefinition] = ()
    max_tokens: int = settings.MAX_OUTPUT_TOKENS
    # In the API's form; None leaves the choice to the model.
    tool_choice: dict[str, Any] | None = None
    # Tokens of thinking before the answer; 0: the server's default.
    thinking: int = 0


async def stream(request: Request) -> AsyncGenerator[Event]:
    """Yield the events of the answer as they arrive. The answer is complete if and only if the last one is Finished.

    Raise a ModelRequestError otherwise, and no other exception. Before the first event, a retryable failure is followed
    by a Retrying event and another attempt. Use contextlib.aclosing when you may stop before the end.
    """
    for attempt in range(1, MAX_ATTEMPTS + 1):
        arrived = False
        try:
            async with contextlib.aclosing(_attempt(request)) as events:
                async for event in events:
                    arrived = True
                    yield event
            return
        except ModelRequestError as failure:
            seconds = _wait(failure, attempt)
            if arrived or seconds is None:
                raise
            retrying = Retrying(failure, seconds)
        yield retrying
        await asyncio.sleep(retrying.seconds)


async def complete(request: Request) -> str:
    """Return the text of a whole answer, for titles and summaries; "" if it has none. Raise a ModelRequestError."""
    text: list[str] = []
    async for event in stream(request):
        if isinstance(event, TextDelta):
            text.append(event.text)
        elif isinstance(event, Finished) and event.stop_reason == "refusal":
            raise AnswerRefusedError
    return "".join(text)


def complete_sync(request: Request) -> str:
    """Return the text of a whole answer, for sync code such as a task. Raise a ModelRequestError.

    Raise RuntimeError when an event loop runs in this thread.
    """
    return asyncio.run(complete(request))


async def count_tokens(request: Request) -> int:
    """Return how many tokens the request has for its model. Raise a ModelRequestError."""
    parts = _parts(request)
    del parts["max_tokens"]

    async def ask() -> int:
        return (await _client().messages.count_tokens(**parts)).input_tokens

    return await _with_retries(ask)


async def models() -> list[str]:
    """Return the ids of the models that the server offers, newest first. Raise a ModelRequestError."""

    async def ask() -> list[str]:
        return [model.id async for model in _client().models.list(limit=1000)]

    return await _with_retries(ask)


def is_demo() -> bool:
    """Return whether the rule-based demo model answers, because there is neither a key nor a base URL."""
    return bool(settings.DEMO_URL and not settings.ANTHROPIC_API_KEY and not settings.ANTHROPIC_BASE_URL)


def load() -> None:
    """Import the SDK, which takes 75 MB and a second, before a process forks others that share its memory."""
    import anthropic
    import anthropic.types  # noqa: F401


async def warm_up() -> None:
    """Load what the first answer would otherwise wait for, by a request to a mock server. Nothing is sent."""
    import httpx2

    try:
        client = _client()
    except NoKeyError:
        return
    answer = httpx2.MockTransport(lambda _: httpx2.Response(200, content=b""))
    async with httpx2.AsyncClient(transport=answer) as http:
        parts = _parts(Request("warm", [], [{"role": "user", "content": "warm"}]))
        offline = client.with_options(http_client=http)
        async with offline.messages.with_streaming_response.create(**parts, stream=True) as response:
            await response.read()


# -- One attempt ---------------------------------------------------------------------------------


async def _attempt(request: Request) -> AsyncGenerator[Event]:
    reader = AnswerReader(request.model)
    arrived = False
    try:
        create = _client().messages.with_streaming_response.create
        async with create(**_parts(request), stream=True) as response:
            kind = response.headers.get("content-type", "text/event-stream")
            if not kind.startswith("text/event-stream"):
                raise UnreadableAnswerError(f"status {response.status_code} with {kind} where a stream should be")
            # Our parser takes a third of the time of the SDK's.
            chunks = response.http_response.aiter_bytes()
            async for data in chunks:
                for event in reader.feed(data):
                    arrived = True
                    if isinstance(event, Finished):
                        await _read_to_the_end(chunks)
                    yield event
                if reader.finished or reader.failure:
                    break
        reader.close()
        if reader.failure:
            raise reader.failure
    except Exception as error:
        # Every exception of the transport becomes a typed failure.
        failure = _failure(error, arrived)
        if failure is error:
            raise
        raise failure from error


async def _read_to_the_end(chunks: AsyncIterator[bytes]) -> None:
    """Read the rest of the response, so that its connection can be reused; ignore errors, the answer is complete."""
    import httpx2

    with contextlib.suppress(httpx2.HTTPError, TimeoutError):
        async with asyncio.timeout(0.2):
            async for _ in chunks:
                pass


async def _with_retries(ask: Callable[[], Awaitable[T]]) -> T:
    for attempt in range(1, MAX_ATTEMPTS + 1):
        try:
            return await ask()
        except Exception as error:
            failure = _failure(error, arrived=False)
            seconds = _wait(failure, attempt)
            if seconds is None:
                raise failure from error
        await asyncio.sleep(seconds)
    raise AssertionError("The last attempt returns or raises.")


def _wait(failure: ModelRequestError, attempt: int) -> float | None:
    """Return the seconds until the next attempt; None when there is none."""
    if not failure.retryable or attempt >= MAX_ATTEMPTS:
        return None
    if failure.retry_after is not None:
        return failure.retry_after if failure.retry_after <= RETRY_MAX_SECONDS else None
    # Jitter spreads the retries of requests that failed at the same time.
    return RETRY_FIRST_SECONDS * 2.0 ** (attempt - 1) * random.uniform(0.5, 1)  # noqa: S311


def _failure(error: Exception, arrived: bool) -> ModelRequestError:
    """Return the typed failure for `error`."""
    import anthropic
    import httpx2

    if isinstance(error, ModelRequestError):
        # Nothing has arrived, so the answer was not cut off: the server closed the connection.
        return UnreachableError(error.detail) if isinstance(error, CutOffError) and not arrived else error
    if isinstance(error, anthropic.APIStatusError):
        return failure_of_response(error.status_code, error.body, _retry_after(error.response))
    cause = error.__cause__ if isinstance(error, anthropic.APIConnectionError) else error
    detail = f"{type(cause).__name__}: {cause}"
    if isinstance(cause, httpx2.ConnectTimeout | httpx2.PoolTimeout):
        return UnreachableError(detail)
    if isinstance(cause, httpx2.TimeoutException | TimeoutError):
        return ModelTimeoutError(detail)
    if isinstance(error, anthropic.APIConnectionError | httpx2.HTTPError | OSError):
        return CutOffError(detail) if arrived else UnreachableError(detail)
    log.error("The model's answer could not be handled", exc_info=error)
    return UnreadableAnswerError(detail)


def _retry_after(response: "httpx2.Response") -> float | None:
    """Return the seconds of the header `retry-after`; None when it is missing or a date."""
    try:
        seconds = float(response.headers.get("retry-after", ""))
    except ValueError:
        return None
    return max(0.0, seconds) if math.isfinite(seconds) else None


def _parts(request: Request) -> dict[str, Any]:
    parts: dict[str, Any] = {
        "model": request.model,
        "messages": list(request.messages),
        "max_tokens": request.max_tokens,
    }
    if request.thinking:
        parts["thinking"] = {"type": "enabled", "budget_tokens": request.thinking}
    if request.system:
        parts["system"] = list(request.system)
    if request.tools:
        parts["tools"] = list(request.tools)
        if request.tool_choice:
            parts["tool_choice"] = request.tool_choice
    return parts


# -- One client for each event loop --------------------------------------------------------------

_clients: dict[tuple[asyncio.AbstractEventLoop, str, str], "tuple[anthropic.AsyncAnthropic, object]"] = {}


def _client() -> "anthropic.AsyncAnthropic":
    """Return the client of the running event loop, made on first use and closed when the loop ends."""
    key, address = _credentials()
    cache_key = (asyncio.get_running_loop(), key, address)
    if cache_key not in _clients:
        client = _new_client(key, address)
        # A loop closes its async generators when it ends; this one closes the client.
        closing = _closing(cache_key, client)
        with contextlib.suppress(StopIteration):
            closing.asend(None).send(None)
        _clients[cache_key] = client, closing
    return _clients[cache_key][0]


async def _closing(
    cache_key: tuple[asyncio.AbstractEventLoop, str, str], client: "anthropic.AsyncAnthropic"
) -> AsyncGenerator[None]:
    try:
        yield
    finally:
        del _clients[cache_key]
        await client.close()


def _new_client(key: str, address: str) -> "anthropic.AsyncAnthropic":
    import anthropic
    import httpx2

    loopback = urlsplit(address).hostname in ("127.0.0.1", "::1", "localhost")
    timeout = httpx2.Timeout(settings.SILENCE_TIMEOUT, connect=settings.CONNECT_TIMEOUT, pool=settings.CONNECT_TIMEOUT)
    return anthropic.AsyncAnthropic(
        api_key=key,
        base_url=address,
        max_retries=0,
        timeout=timeout,
        # Some compatible servers accept the key in this header only.
        default_headers={"x-api-key": key} if settings.ANTHROPIC_BASE_URL else None,
        # aiohttp takes a third of the time for a stream. Proxies of the environment are not used for this machine, and
        # redirects are not followed, because they would send the key to another server.
        http_client=anthropic.DefaultAioHttpClient(
            timeout=timeout,
            limits=httpx2.Limits(max_connections=1000, max_keepalive_connections=100, keepalive_expiry=30),
            verify=_certificates(not loopback),
            trust_env=not loopback,
            follow_redirects=False,
        ),
    )


@functools.cache
def _certificates(trust_env: bool) -> "ssl.SSLContext":
    """Return the trusted certificates. Loading them takes 20 of the 22 ms of making a client, so they are cached."""
    import httpx2

    return httpx2.create_ssl_context(trust_env=trust_env)


def _credentials() -> tuple[str, str]:
    """Return (key, base URL) from the settings: by itself the SDK would read the environment and the disk."""
    key, address = settings.ANTHROPIC_API_KEY, settings.ANTHROPIC_BASE_URL
    if not key and not address:
        address = settings.DEMO_URL or _demo_of_running_server()
        if not address:
            raise NoKeyError
    return key or "none", address or "https://api.anthropic.com"


def _demo_of_running_server() -> str:
    """Return the address of the demo model that `manage.py serve` has started, for commands; "" when there is none."""
    with contextlib.suppress(OSError):
        return settings.DEMO_ADDRESS_FILE.read_text().strip()
    return ""
