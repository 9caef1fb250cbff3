"""One client of the SDK for each event loop, with its connections to the model's server."""

import asyncio
import contextlib
from collections.abc import AsyncGenerator
from typing import TYPE_CHECKING

from django.conf import settings

from oneclaw.config.upstreams import Upstream
from oneclaw.llm.server import credentials
from oneclaw.outgoing.purposes import ENTERED_MODEL_SERVER, MODEL_SERVER, Purpose

if TYPE_CHECKING:
    # At run time, functions import it: the SDK takes 75 MB and a second, which commands and idle workers do not need.
    import anthropic
    import httpx2

CacheKey = tuple[asyncio.AbstractEventLoop, str, str, Purpose]
_clients: dict[CacheKey, "tuple[anthropic.AsyncAnthropic, object]"] = {}


def client_of_loop(upstream: Upstream | None = None) -> "anthropic.AsyncAnthropic":
    """Return the client of the running event loop for `upstream`, or for the first server.

    It is made on first use and closed when the loop ends.
    """
    key, address = credentials(upstream)
    purpose = ENTERED_MODEL_SERVER if upstream and upstream.is_entered else MODEL_SERVER
    cache_key = (asyncio.get_running_loop(), key, address, purpose)
    if cache_key not in _clients:
        client = _new_client(key, address, purpose, is_compatible=bool(upstream or settings.ANTHROPIC_BASE_URL))
        # A loop closes its async generators when it ends; this one closes the client.
        closing = _closing(cache_key, client)
        with contextlib.suppress(StopIteration):
            closing.asend(None).send(None)
        _clients[cache_key] = client, closing
    return _clients[cache_key][0]


def timeouts(silence: float) -> "httpx2.Timeout":
    """Return the timeouts of a request whose answer may be silent for `silence` seconds."""
    import httpx2

    return httpx2.Timeout(silence, connect=settings.CONNECT_TIMEOUT, pool=settings.CONNECT_TIMEOUT)


async def _closing(cache_key: CacheKey, client: "anthropic.AsyncAnthropic") -> AsyncGenerator[None]:
    try:
        yield
    finally:
        del _clients[cache_key]
        await client.close()


def _new_client(key: str, address: str, purpose: Purpose, *, is_compatible: bool) -> "anthropic.AsyncAnthropic":
    import anthropic
    import httpx2

    from oneclaw.outgoing.streaming import AiohttpTransport

    timeout = timeouts(settings.SILENCE_TIMEOUT)
    limits = httpx2.Limits(max_connections=1000, max_keepalive_connections=100, keepalive_expiry=30)
    transport = AiohttpTransport(purpose, limits)
    return anthropic.AsyncAnthropic(
        api_key=key,
        base_url=address,
        max_retries=0,
        timeout=timeout,
        # Some compatible servers accept the key in this header only.
        default_headers={"x-api-key": key} if is_compatible else None,
        # Redirects would send the key to another server.
        http_client=httpx2.AsyncClient(transport=transport, timeout=timeout, follow_redirects=False),
    )
