"""The client of the Messages API: the only module that sends requests to a model.

async for event in llm.stream(llm.Request(model, system, messages), Spending(payer)):
    …                       # BlockStarted, TextDelta, …, at last Finished; or a ModelRequestError is raised
"""

import asyncio
import contextlib
import functools
import logging
import random
import time
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Collection, Mapping
from dataclasses import replace
from typing import Any, TypeVar
from uuid import uuid4

from django.conf import settings

from oneclaw.llm.budgets import refuse_if_used_up
from oneclaw.llm.call_ids import OwnIds
from oneclaw.llm.connection import client_of_loop, timeouts
from oneclaw.llm.events import AnswerReader, Event, Finished, Retrying, TextDelta
from oneclaw.llm.facts import Refusal, cached_facts_at, current_facts, learn
from oneclaw.llm.failures import (
    AnswerRefusedError,
    BadRequestError,
    CompactionBlockError,
    ContextTooLongError,
    EmptyAnswerError,
    ModelRequestError,
    NoKeyError,
    TruncatedAnswerError,
    UnknownModelError,
    UnreadableAnswerError,
)
from oneclaw.llm.known_models import Facts
from oneclaw.llm.request import (
    ANSWER_MIN_TOKENS,
    COMPACTION_BETA,
    Request,
    counted_parts_of,
    may_be_silent,
    parts_of,
    refusal_in,
)
from oneclaw.llm.transport.errors import failure_of_error
from oneclaw.llm.transport.reading import FrameReads
from oneclaw.llm.upstreams import failing, servers
from oneclaw.llm.upstreams.access import permitted
from oneclaw.llm.upstreams.portable import event_at, request_at, routes_for
from oneclaw.llm.upstreams.routes import Route
from oneclaw.spend.calls import Payer, Spending, paid_by
from oneclaw.spend.usage import counts_of, is_counted, whole_usage
from oneclaw.telemetry import metrics
from oneclaw.threads import in_database

log = logging.getLogger(__name__)
T = TypeVar("T")

# Attempts of one request, and the backoff between them.
MAX_ATTEMPTS = 3
RETRY_MAX_SECONDS = 30.0
RETRY_FIRST_SECONDS = 0.5

# The stop reason of an answer that has filled the window, and the least that is taken for one.
WINDOW_FULL = "model_context_window_exceeded"
WINDOW_MIN_TOKENS = 2_000
# The stop reasons after which the text of complete() is not whole.
FAILED_ENDINGS: dict[str, type[ModelRequestError]] = {
    "refusal": AnswerRefusedError,
    "max_tokens": TruncatedAnswerError,
    WINDOW_FULL: ContextTooLongError,
}
# How many times SILENCE_TIMEOUT a model that thinks may be silent outside of a text: neither thinking nor the arguments
# of a tool are promised to arrive steadily, and a summary on demand arrives whole.
THINKING_SILENCE_FACTOR = 10
# Refusals of optional fields after which one request is sent once more.
MAX_REFUSALS = 4


async def stream(request: Request, spending: Spending) -> AsyncGenerator[Event]:
    """Yield the events of the answer as they arrive. The answer is complete if and only if the last one is Finished.

    What the server says that each attempt took is in `spending` as soon as it is read; the caller stores it, however
    the answer ends.

    Raise a ModelRequestError otherwise, and no other exception. Before the first event, a retryable failure is followed
    by the next server that may answer; after the last one, by a Retrying event and another attempt from the first. Use
    contextlib.aclosing when you may stop before the end.
    """
    await servers.follow()
    routes = routes_for(request)
    at, attempt = 0, 1
    is_checked = False
    home_failure: ModelRequestError | None = None
    while True:
        try:
            async with contextlib.aclosing(stream_at(request, routes[at], spending)) as events:
                async for event in events:
                    yield event
            return
        except NothingArrivedError as nothing:
            failing.has_failed(routes[at], nothing.failure)
            # A person is told what the model's home says, whatever the others answered.
            home_failure = failure = home_failure if at and home_failure else nothing.failure
        if failure.retryable and len(routes) > 1 and not is_checked:
            # The home was chosen for the person; the servers in its place were not.
            routes = [routes[0], *await in_database(permitted, routes[1:], spending.payer.user_id)]
            is_checked = True
        has_next = failure.retryable and at + 1 < len(routes)
        seconds = None if has_next else _wait(failure, attempt)
        if has_next:
            at += 1
            log.warning("The server %s is asked for %s now: %s", routes[at].name, routes[at].model, failure)
        elif seconds is not None:
            yield Retrying(failure, seconds)
            await asyncio.sleep(seconds)
            at, attempt = 0, attempt + 1
        else:
            raise failure


async def stream_at(request: Request, route: Route, spending: Spending) -> AsyncGenerator[Event]:
    """Yield the events of one attempt on `route`, without the optional fields that its server refuses.

    Raise NothingArrivedError before the first event, another ModelRequestError later.
    """
    arrived, refusals = False, 0
    try:
        sent = request_at(request, route)
        ids = OwnIds(request.messages, sent.server)
        facts = await current_facts(route)
        parts = parts_of(sent, facts)
        while True:
            try:
                async with contextlib.aclosing(_attempt(parts, may_be_silent(parts, facts), spending, route)) as events:
                    async for event in events:
                        arrived = True
                        if isinstance(event, Finished) and event.stop_reason == WINDOW_FULL:
                            await _learn_window(event, facts, route)
                        if passed := event_at(ids.event(event), route):
                            yield passed
                return
            except ModelRequestError as failure:
                accepted = None
                if not arrived and refusals < MAX_REFUSALS:
                    accepted = await _without_refused(failure, sent, parts, facts, route)
                if accepted is None:
                    raise
            parts, refusals, facts = accepted, refusals + 1, cached_facts_at(route)
    except ModelRequestError as failure:
        if arrived:
            raise
        raise NothingArrivedError(failure) from failure.__cause__


class NothingArrivedError(Exception):
    """An attempt failed with `failure` before the first event of the answer."""

    def __init__(self, failure: ModelRequestError) -> None:
        super().__init__(str(failure))
        self.failure = failure


async def complete(request: Request, spending: Spending) -> str:
    """Return the text of a whole answer, for titles and summaries. Raise a ModelRequestError.

    What it took is added to `spending`. A cut answer is asked for once more with twice the room, and then raises
    TruncatedAnswerError; one without text raises EmptyAnswerError.
    """
    try:
        return await _complete(request, spending)
    except TruncatedAnswerError:
        if request.max_tokens is None:
            raise
    return await _complete(replace(request, max_tokens=2 * request.max_tokens), spending)


def complete_sync(request: Request, payer: Payer) -> str:
    """Return the text of a whole answer, for sync code such as a task, and store what it has cost.

    Raise a ModelRequestError, which may be BudgetUsedUpError; RuntimeError when an event loop runs in this thread.
    """
    if not payer.is_in_turn:
        refuse_if_used_up(payer.user_id)
    with paid_by(payer) as spending:
        return asyncio.run(complete(request, spending))


async def count_tokens(request: Request) -> int:
    """Return how many tokens the request has for its model. Raise a ModelRequestError."""
    await servers.follow()
    route = routes_for(request)[0]
    facts = await current_facts(route)
    parts = counted_parts_of(request_at(request, route), facts)

    async def ask() -> int:
        counted = await _messages_for(parts, route).count_tokens(**parts)
        return int(counted.input_tokens)

    try:
        return await _with_retries(ask)
    except CompactionBlockError:
        raise
    except (BadRequestError, UnknownModelError) as failure:
        refusal = refusal_in(failure, parts, facts)
        # Of the fields, only a block is not what every server counts.
        await learn(route, refusal if refusal and refusal.feature == "compacts" else Refusal("counts"))
        raise


async def describe(wanted: Collection[str]) -> dict[str, dict[str, Any]]:
    """Return what the server says about each of its models, and about those of `wanted` that its list does not name.

    A model that it does not know is left out. Raise a ModelRequestError.
    """

    # Only with the header of that beta does the server say which models make summaries on demand.
    header: dict[str, Any] = {"betas": [COMPACTION_BETA]}
    try:
        found = await _with_retries(functools.partial(_describe_all, **header))
    except BadRequestError:
        header = {}
        found = await _with_retries(_describe_all)
    for name in sorted(set(wanted) - found.keys()):
        try:
            found[name] = await _with_retries(functools.partial(_describe, name, **header))
        except (BadRequestError, UnknownModelError):
            log.info("The model's server does not describe %s.", name)
    return found


async def _describe_all(**header: Any) -> dict[str, dict[str, Any]]:
    listed = client_of_loop().beta.models.list(limit=1000, **header)
    return {model.id: model.to_dict(warnings=False) async for model in listed}


async def _describe(name: str, **header: Any) -> dict[str, Any]:
    return (await client_of_loop().beta.models.retrieve(name, **header)).to_dict(warnings=False)


async def models() -> list[str]:
    """Return the ids of the models that the server offers, newest first. Raise a ModelRequestError."""

    async def ask() -> list[str]:
        return [model.id async for model in client_of_loop().models.list(limit=1000)]

    return await _with_retries(ask)


def load() -> None:
    """Import the SDK, which takes 75 MB and a second, before a process forks others that share its memory."""
    import anthropic
    import anthropic.types  # noqa: F401


async def warm_up() -> None:
    """Load what the first answer would otherwise wait for: facts, and code by a request to a mock server."""
    import httpx2

    try:
        client = client_of_loop()
    except NoKeyError:
        return
    answer = httpx2.MockTransport(lambda _: httpx2.Response(200, content=b""))
    async with httpx2.AsyncClient(transport=answer) as http:
        request = Request("warm", [], [{"role": "user", "content": "warm"}])
        parts = parts_of(request, await current_facts(Route(request.model)))
        offline = client.with_options(http_client=http)
        async with offline.messages.with_streaming_response.create(**parts, stream=True) as response:
            await response.read()


# -- One attempt ---------------------------------------------------------------------------------


async def _attempt(
    parts: dict[str, Any], may_be_silent: bool, spending: Spending, route: Route
) -> AsyncGenerator[Event]:
    reader, call_id = AnswerReader(parts["model"]), uuid4()
    noted = reader.usage
    arrived, outcome, began = False, "abandoned", time.monotonic()
    silence = settings.SILENCE_TIMEOUT
    longest = silence * (THINKING_SILENCE_FACTOR if may_be_silent else 1)
    try:
        create: Any = _messages_for(parts, route).with_streaming_response.create
        async with create(**parts, stream=True, timeout=timeouts(longest)) as response:
            kind = response.headers.get("content-type", "")
            if kind.startswith("text/html"):
                raise UnreadableAnswerError(f"status {response.status_code} with {kind} where a stream should be")
            # Our parser takes a third of the time of the SDK's.
            chunks = response.http_response.aiter_bytes()
            with FrameReads(response.http_response) as reads:
                while not (reader.finished or reader.failure):
                    async with asyncio.timeout(silence if reader.is_writing else longest):
                        data = await anext(chunks, b"")
                    events = reader.feed(data) if data else reader.close()
                    if reader.usage is not noted:
                        noted = reader.usage
                        spending.note(call_id, reader.model, whole_usage(noted), upstream=route.upstream)
                    if events and not arrived:
                        failing.has_answered(route)
                        metrics.first_events.labels(parts["model"]).observe(time.monotonic() - began)
                    for event in events:
                        arrived = True
                        if isinstance(event, Finished):
                            reads.release()
                            await _read_to_the_end(chunks)
                        yield event
                    if not data:
                        break
                    if events:
                        reads.hold()
        if reader.failure:
            raise reader.failure
    except Exception as error:
        # Every exception of the transport becomes a typed failure.
        failure = failure_of_error(error, arrived)
        outcome = failure.code
        if failure is error:
            raise
        raise failure from _cause(error)
    finally:
        metrics.model_requests.labels(parts["model"], "ok" if reader.finished else outcome).inc()
        # Also of an attempt that failed, or is not read to its end.
        if reader.usage:
            call = (reader.model, whole_usage(reader.usage))
            spending.add(*call, is_whole=reader.finished, upstream=route.upstream, call_id=call_id)


def _messages_for(parts: Mapping[str, Any], route: Route) -> Any:
    """Return the SDK's messages: those with betas, if the parts name some."""
    client = client_of_loop(route.upstream)
    return client.beta.messages if "betas" in parts else client.messages


async def _complete(request: Request, spending: Spending) -> str:
    text: list[str] = []
    reason = ""
    async for event in stream(request, spending):
        if isinstance(event, TextDelta):
            text.append(event.text)
        elif isinstance(event, Finished):
            reason = event.stop_reason
    if ending := FAILED_ENDINGS.get(reason):
        raise ending
    whole = "".join(text)
    if not whole.strip():
        raise EmptyAnswerError(f"stop reason {reason}")
    return whole


async def _without_refused(
    failure: ModelRequestError, request: Request, parts: dict[str, Any], facts: Facts, route: Route
) -> dict[str, Any] | None:
    """Learn what the server has refused, and return the body without it; None when that would change nothing."""
    if refusal := refusal_in(failure, parts, facts):
        log.warning("The model's server refuses %s for %s: %s", refusal, request.model, failure)
        await learn(route, refusal)
    changed = parts_of(request, cached_facts_at(route)) if refusal else parts
    if isinstance(failure, ContextTooLongError):
        # Many servers count the room for the answer, too.
        room = changed["max_tokens"] if changed["max_tokens"] > ANSWER_MIN_TOKENS else 0
        if failure.limit and failure.tokens:
            room = failure.limit - failure.tokens
        elif room >= parts["max_tokens"] and "max_tokens" in failure.explanation:
            room = parts["max_tokens"] // 2
        return {**parts, "max_tokens": room} if ANSWER_MIN_TOKENS <= room < parts["max_tokens"] else None
    return changed if changed != parts else None


async def _learn_window(finished: Finished, facts: Facts, route: Route) -> None:
    """Learn the window of a model from an answer that has filled it."""
    usage = whole_usage(finished.usage)
    window = sum(counts_of(usage).values())
    if is_counted(usage) and WINDOW_MIN_TOKENS <= window < facts.window_tokens:
        log.warning("The window of %s is full at %d tokens.", route.model, window)
        await learn(route, Refusal("window", window))


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
        except Exception as error:  # noqa: BLE001
            failure = failure_of_error(error, arrived=False)
            seconds = _wait(failure, attempt)
            if seconds is None:
                raise failure from _cause(error)
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


def _cause(error: Exception) -> Exception | None:
    """Return `error` to be logged below its failure; None unless debugging, because the server's text may quote the
    conversation."""
    return error if log.isEnabledFor(logging.DEBUG) else None
