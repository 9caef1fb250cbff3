"""The HTTP transport of the SDK's client: aiohttp, which takes a third of the time of httpx2's own for a stream.

The SDK brings one too, but its responses do not give their socket, which `reading.py` needs.
"""

import contextlib
import ssl
from collections.abc import AsyncIterator, Generator
from typing import Any

import aiohttp
import httpx2

# The exception of httpx2 for each of aiohttp, the more specific one first; the SDK tells them apart.
ERRORS: tuple[tuple[type[Exception], type[httpx2.TransportError]], ...] = (
    (aiohttp.ConnectionTimeoutError, httpx2.ConnectTimeout),
    (aiohttp.SocketTimeoutError, httpx2.ReadTimeout),
    (aiohttp.ServerTimeoutError, httpx2.ReadTimeout),
    (aiohttp.ClientHttpProxyError, httpx2.ProxyError),
    (aiohttp.ClientProxyConnectionError, httpx2.ProxyError),
    (aiohttp.ClientConnectorError, httpx2.ConnectError),
    (aiohttp.NonHttpUrlClientError, httpx2.UnsupportedProtocol),
    (aiohttp.InvalidURL, httpx2.UnsupportedProtocol),
    (aiohttp.ClientError, httpx2.ReadError),
    # A deadline of aiohttp that is none of a socket: no connection of the pool was free.
    (TimeoutError, httpx2.PoolTimeout),
)


class AiohttpTransport(httpx2.AsyncBaseTransport):
    """A transport of httpx2 on a pool of aiohttp's connections.

    As with httpx2's own, a response has the extension "network_stream", whose `get_extra_info("transport")` is the
    asyncio transport of its connection.
    """

    def __init__(self, certificates: ssl.SSLContext, limits: httpx2.Limits, *, trust_env: bool) -> None:
        """Take the trusted certificates, and whether proxies of the environment are used."""
        self._certificates, self._limits, self._trust_env = certificates, limits, trust_env
        self._session: aiohttp.ClientSession | None = None

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        if self._session is None:
            connector = aiohttp.TCPConnector(
                limit=self._limits.max_connections or 0,
                keepalive_timeout=self._limits.keepalive_expiry,
                ssl=self._certificates,
            )
            self._session = aiohttp.ClientSession(
                connector=connector,
                trust_env=self._trust_env,
                cookie_jar=aiohttp.DummyCookieJar(),
                auto_decompress=False,
            )
        seconds = request.extensions.get("timeout", {})
        with _errors_of_httpx2():
            response = await self._session.request(
                request.method,
                str(request.url),
                headers=request.headers.multi_items(),
                data=await request.aread() or None,
                allow_redirects=False,
                timeout=aiohttp.ClientTimeout(
                    connect=seconds.get("pool"), sock_connect=seconds.get("connect"), sock_read=seconds.get("read")
                ),
            )
        connection = response.connection
        return httpx2.Response(
            response.status,
            headers=response.raw_headers,
            stream=_Body(response),
            extensions={"network_stream": NetworkStream(connection.transport if connection else None)},
            request=request,
        )

    async def aclose(self) -> None:
        if self._session is not None:
            await self._session.close()


class NetworkStream:
    """The connection of a response, as far as httpx2's extension "network_stream" is used here."""

    def __init__(self, transport: Any) -> None:
        self._transport = transport

    def get_extra_info(self, name: str) -> Any:
        """Return the asyncio transport for "transport", None when the response was read whole at once."""
        return self._transport if name == "transport" else None


class _Body(httpx2.AsyncByteStream):
    def __init__(self, response: aiohttp.ClientResponse) -> None:
        self._response = response

    async def __aiter__(self) -> AsyncIterator[bytes]:
        with _errors_of_httpx2():
            async for data in self._response.content.iter_any():
                yield data

    async def aclose(self) -> None:
        # A connection whose response was not read to its end cannot be used again, and is closed.
        self._response.close() if not self._response.content.at_eof() else self._response.release()


@contextlib.contextmanager
def _errors_of_httpx2() -> Generator[None]:
    try:
        yield
    except (aiohttp.ClientError, TimeoutError) as error:
        for known, meant in ERRORS:
            if isinstance(error, known):
                raise meant(str(error)) from error
        raise
