"""Make guarded HTTP requests from async code: a transport of httpx2 on aiohttp, which takes a third of the time of
httpx2's own for a stream.

The SDK of the model brings one too, but its responses do not give their socket, which oneclaw/llm/transport/reading.py
needs.
"""

import asyncio
import contextlib
import socket
from collections.abc import AsyncIterator, Generator
from typing import Any

import aiohttp
import httpx2
from aiohttp import AddrInfoType, SocketFactoryType

from oneclaw.outgoing import certificates, guard
from oneclaw.outgoing.answers import BoundedAnswer, kept_headers, sent_headers
from oneclaw.outgoing.guard import RefusedError
from oneclaw.outgoing.purposes import Purpose

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
    """A transport of httpx2 on a pool of aiohttp's connections to addresses that the guard has checked.

    As with httpx2's own, a response has the extension "network_stream", whose `get_extra_info("transport")` is the
    asyncio transport of its connection.
    """

    def __init__(self, purpose: Purpose, limits: httpx2.Limits) -> None:
        self._purpose, self._limits, self._proxies = purpose, limits, guard.Proxies(purpose)
        # Direct connections, and those to a proxy of the environment, whose own address is not checked.
        self._direct: aiohttp.ClientSession | None = None
        self._proxied: aiohttp.ClientSession | None = None

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        purpose, url = self._purpose, request.url
        guard.check_form(url.scheme, url.host, bool(url.userinfo), purpose)
        proxy = self._proxies.proxy_of(url.scheme, url.host)
        if proxy:
            guard.check_url(str(url), purpose)
            port = url.port or guard.DEFAULT_PORTS[url.scheme]
            await asyncio.to_thread(guard.check_behind_proxy, url.host, port, purpose)
        seconds = request.extensions.get("timeout", {})
        with _errors_of_httpx2(url.host):
            response = await self._session(proxy).request(
                request.method,
                str(url),
                headers=[(name.decode(), value.decode()) for name, value in sent_headers(request, "identity")],
                data=await request.aread() or None,
                allow_redirects=False,
                proxy=proxy,
                timeout=aiohttp.ClientTimeout(
                    total=purpose.seconds,
                    connect=seconds.get("pool"),
                    sock_connect=seconds.get("connect"),
                    sock_read=seconds.get("read"),
                ),
            )
        try:
            bounded = BoundedAnswer(response.raw_headers, purpose.answer_max_bytes)
        except httpx2.HTTPError:
            response.close()
            raise
        connection = response.connection
        return httpx2.Response(
            response.status,
            headers=kept_headers(response.raw_headers),
            stream=_Body(response, bounded),
            extensions={"network_stream": NetworkStream(connection.transport if connection else None)},
            request=request,
        )

    async def aclose(self) -> None:
        for session in (self._direct, self._proxied):
            if session is not None:
                await session.close()

    def _session(self, proxy: str | None) -> aiohttp.ClientSession:
        if proxy is None:
            self._direct = self._direct or self._new_session(self._checked_socket)
            return self._direct
        self._proxied = self._proxied or self._new_session(None)
        return self._proxied

    def _new_session(self, socket_factory: SocketFactoryType | None) -> aiohttp.ClientSession:
        connector = aiohttp.TCPConnector(
            limit=self._limits.max_connections or 0,
            keepalive_timeout=self._limits.keepalive_expiry,
            ssl=certificates.trusted(),
            socket_factory=socket_factory,
        )
        return aiohttp.ClientSession(connector=connector, cookie_jar=aiohttp.DummyCookieJar(), auto_decompress=False)

    def _checked_socket(self, found: AddrInfoType) -> socket.socket:
        """Return the socket for a connection that begins now. `found` has the address of it, which is not resolved
        again."""
        family, kind, protocol, _, address = found
        guard.check_address(address[0], address[1], self._purpose)
        return socket.socket(family, kind, protocol)


class NetworkStream:
    """The connection of a response, as far as httpx2's extension "network_stream" is used here."""

    def __init__(self, transport: Any) -> None:
        self._transport = transport

    def get_extra_info(self, name: str) -> Any:
        """Return the asyncio transport for "transport", None when the response was read whole at once."""
        return self._transport if name == "transport" else None


class _Body(httpx2.AsyncByteStream):
    def __init__(self, response: aiohttp.ClientResponse, bounded: BoundedAnswer) -> None:
        self._response, self._bounded = response, bounded

    async def __aiter__(self) -> AsyncIterator[bytes]:
        with _errors_of_httpx2():
            async for data in self._response.content.iter_any():
                for piece in self._bounded.pieces(data):
                    yield piece

    async def aclose(self) -> None:
        # A connection whose response was not read to its end cannot be used again, and is closed.
        self._response.close() if not self._response.content.at_eof() else self._response.release()


@contextlib.contextmanager
def _errors_of_httpx2(host: str = "") -> Generator[None]:
    try:
        yield
    except (aiohttp.ClientError, TimeoutError) as error:
        if isinstance(error, aiohttp.ClientConnectorError) and isinstance(error.os_error, RefusedError):
            raise error.os_error.of_host(host) from None
        for known, meant in ERRORS:
            if isinstance(error, known):
                raise meant(str(error)) from error
        raise
