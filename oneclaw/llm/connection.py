"""One client of the SDK for each event loop, with its connections to the model's server."""

import asyncio
import contextlib
import functools
from collections.abc import AsyncGenerator
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from django.conf import settings

from oneclaw.config.upstreams import Upstream
from oneclaw.llm.server import credentials

if TYPE_CHECKING:
    # At run time, functions import it: the SDK takes 75 MB and a second, which commands and idle workers do not need.
    import ssl

    import anthropic
    import httpx2

_clients: dict[tuple[asyncio.AbstractEventLoop, str, str], "tuple[anthropic.AsyncAnthropic, object]"] = {}


def client_of_loop(upstream: Upstream | None = None) -> "anthropic.AsyncAnthropic":
    """Return the client of the running event loop for `upstream`, or for the first server.

    It is made on first use and closed when the loop ends.
    """
    key, address = credentials(upstream)
    cache_key = (asyncio.get_running_loop(), key, address)
    if cache_key not in _clients:
        client = _new_client(key, address, is_compatible=bool(upstream or settings.ANTHROPIC_BASE_URL))
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


async def _closing(
    cache_key: tuple[asyncio.AbstractEventLoop, str, str], client: "anthropic.AsyncAnthropic"
) -> AsyncGenerator[None]:
    try:
        yield
    finally:
        del _clients[cache_key]
        await client.close()


def _new_client(key: str, address: str, *, is_compatible: bool) -> "anthropic.AsyncAnthropic":
    import anthropic
    import httpx2

    from oneclaw.llm.transport.http import AiohttpTransport

    loopback = urlsplit(address).hostname in ("127.0.0.1", "::1", "localhost")
    timeout = timeouts(settings.SILENCE_TIMEOUT)
    # Proxies of the environment are not used for this machine.
    limits = httpx2.Limits(max_connections=1000, max_keepalive_connections=100, keepalive_expiry=30)
    transport = AiohttpTransport(_certificates(not loopback), limits, trust_env=not loopback)
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


@functools.cache
def _certificates(trust_env: bool) -> "ssl.SSLContext":
    """Return the trusted certificates. Loading them takes 20 of the 22 ms of making a client, so they are cached."""
    import httpx2

    return httpx2.create_ssl_context(trust_env=trust_env)
