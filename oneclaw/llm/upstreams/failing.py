"""Remember which servers failed last in this process, for the page of health. Nothing here decides who is asked."""

import datetime as dt
from dataclasses import dataclass

from django.utils import timezone

from oneclaw.llm.failures import (
    KeyRefusedError,
    KeyUnreadableError,
    ModelRequestError,
    ModelTimeoutError,
    NoKeyError,
    OverloadedError,
    RateLimitedError,
    ServerFaultError,
    SpendLimitError,
    UnreachableError,
)
from oneclaw.llm.upstreams.routes import Route
from oneclaw.llm.upstreams.servers import upstreams

# What is about the server; other failures are about one request.
OF_SERVERS = (
    KeyRefusedError,
    KeyUnreadableError,
    ModelTimeoutError,
    NoKeyError,
    OverloadedError,
    RateLimitedError,
    ServerFaultError,
    SpendLimitError,
    UnreachableError,
)


@dataclass(frozen=True)
class ServerState:
    """A server by its name ("": the first one), and how its last request failed, if it did."""

    name: str
    failure: ModelRequestError | None = None
    at: dt.datetime | None = None


_failing: dict[str, ServerState] = {}


def has_failed(route: Route, failure: ModelRequestError) -> None:
    """Remember that the server of `route` did not answer a request."""
    if isinstance(failure, OF_SERVERS):
        _failing[route.name] = ServerState(route.name, failure, timezone.now())


def has_answered(route: Route) -> None:
    """Remember that the server of `route` answers."""
    _failing.pop(route.name, None)


def states() -> list[ServerState]:
    """Return all servers, in the order in which they are asked."""
    names = ["", *(each.name for each in upstreams())]
    return [_failing.get(name, ServerState(name)) for name in names]
