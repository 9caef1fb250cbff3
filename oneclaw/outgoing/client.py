"""Make guarded HTTP requests from sync code.

    with client(EMBEDDINGS) as http:
        response = http.post(address, json=body)

It raises RefusedError, EndlessAnswerError and the other errors of httpx2.
"""

import contextlib
import ssl
import time
from collections.abc import Generator, Iterable, Iterator
from contextvars import ContextVar
from typing import Any

import httpcore2
import httpx2

from oneclaw.outgoing import certificates, guard
from oneclaw.outgoing.answers import BoundedAnswer, EndlessAnswerError, kept_headers, sent_headers
from oneclaw.outgoing.purposes import Purpose

ENCODINGS = "gzip, deflate"
# The exception of httpx2 for each of httpcore2, the more specific one first.
ERRORS: tuple[tuple[type[Exception], type[httpx2.TransportError]], ...] = (
    (httpcore2.ConnectTimeout, httpx2.ConnectTimeout),
    (httpcore2.ReadTimeout, httpx2.ReadTimeout),
    (httpcore2.WriteTimeout, httpx2.WriteTimeout),
    (httpcore2.PoolTimeout, httpx2.PoolTimeout),
    (httpcore2.TimeoutException, httpx2.ReadTimeout),
    (httpcore2.ConnectError, httpx2.ConnectError),
    (httpcore2.WriteError, httpx2.WriteError),
    (httpcore2.NetworkError, httpx2.ReadError),
    (httpcore2.LocalProtocolError, httpx2.LocalProtocolError),
    (httpcore2.ProtocolError, httpx2.RemoteProtocolError),
    (httpcore2.UnsupportedProtocol, httpx2.UnsupportedProtocol),
)
# When the request that is made here must have ended.
_ends_at: ContextVar[float | None] = ContextVar("_ends_at", default=None)


def client(purpose: Purpose, *, seconds: float | None = None, context: ssl.SSLContext | None = None) -> httpx2.Client:
    """Return a client for requests of `purpose`, to be closed.

    A request with its answer takes at most `seconds`, or those of the purpose. `context`: other certificates than
    the trusted ones.
    """
    longest = seconds or purpose.seconds
    return httpx2.Client(
        transport=GuardedTransport(purpose, longest, context or certificates.trusted()),
        timeout=longest,
        follow_redirects=purpose.redirects_max_count > 0,
        max_redirects=purpose.redirects_max_count,
        trust_env=False,
    )


class GuardedTransport(httpx2.BaseTransport):
    """A transport of httpx2 that connects to addresses that the guard has checked."""

    def __init__(self, purpose: Purpose, seconds: float | None, context: ssl.SSLContext) -> None:
        """Take the purpose, the time of a request with its answer, and the trusted certificates."""
        self._purpose, self._seconds, self._context = purpose, seconds, context
        self._proxies = guard.Proxies(purpose)
        # By the proxy; None: direct connections.
        self._pools: dict[str | None, httpcore2.ConnectionPool] = {}

    def handle_request(self, request: httpx2.Request) -> httpx2.Response:
        purpose, url = self._purpose, request.url
        guard.check_form(url.scheme, url.host, bool(url.userinfo), purpose)
        proxy = self._proxies.proxy_of(url.scheme, url.host)
        if proxy:
            guard.check_url(str(url), purpose)
            guard.check_behind_proxy(url.host, url.port or guard.DEFAULT_PORTS[url.scheme], purpose)
        sent = httpcore2.Request(
            request.method,
            httpcore2.URL(scheme=url.raw_scheme, host=url.raw_host, port=url.port, target=url.raw_path),
            headers=sent_headers(request, ENCODINGS),
            content=request.stream,
            extensions=request.extensions,
        )
        ends_at = time.monotonic() + self._seconds if self._seconds else None
        with _until(ends_at), _errors_of_httpx2():
            pool = self._pools.get(proxy) or self._pools.setdefault(proxy, self._new_pool(proxy))
            answer = pool.handle_request(sent)
        try:
            bounded = BoundedAnswer(answer.headers, purpose.answer_max_bytes)
        except httpx2.HTTPError:
            answer.close()
            raise
        body = _Body(answer, bounded, ends_at)
        return httpx2.Response(answer.status, headers=kept_headers(answer.headers), stream=body)

    def close(self) -> None:
        for pool in self._pools.values():
            pool.close()

    def _new_pool(self, proxy: str | None) -> httpcore2.ConnectionPool:
        if proxy is None:
            return httpcore2.ConnectionPool(self._context, network_backend=_Backend(self._purpose))
        # The proxy is of the environment: its own address is not checked.
        known = httpx2.Proxy(proxy)
        return httpcore2.HTTPProxy(
            str(known.url), known.raw_auth, ssl_context=self._context, network_backend=_Backend(None)
        )


class _Backend(httpcore2.NetworkBackend):
    """Connects to what the guard allows for a purpose, and ends what takes longer than its request may; None: to
    every address."""

    def __init__(self, purpose: Purpose | None) -> None:
        self._purpose, self._plain = purpose, httpcore2.SyncBackend()

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[httpcore2.SOCKET_OPTION] | None = None,
    ) -> httpcore2.NetworkStream:
        try:
            addresses = guard.resolved(host, port, self._purpose) if self._purpose else [host]
        except guard.RefusedError:
            raise
        except (OSError, UnicodeError) as error:
            raise httpcore2.ConnectError(str(error)) from error
        for last, address in zip([*[False] * (len(addresses) - 1), True], addresses, strict=True):
            try:
                connected = self._plain.connect_tcp(address, port, _left(timeout), local_address, socket_options or [])
                return _Stream(connected)
            except (httpcore2.ConnectError, httpcore2.ConnectTimeout):
                if last:
                    raise
        raise AssertionError("the last attempt returns or raises")

    def sleep(self, seconds: float) -> None:
        self._plain.sleep(seconds)


class _Stream(httpcore2.NetworkStream):
    """A connection on which nothing takes longer than the request that is made in this thread may."""

    def __init__(self, stream: httpcore2.NetworkStream) -> None:
        self._stream = stream

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        return self._stream.read(max_bytes, _left(timeout))

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        self._stream.write(buffer, _left(timeout))

    def close(self) -> None:
        self._stream.close()

    def start_tls(
        self, ssl_context: ssl.SSLContext, server_hostname: str | None = None, timeout: float | None = None
    ) -> httpcore2.NetworkStream:
        return _Stream(self._stream.start_tls(ssl_context, server_hostname, _left(timeout)))

    def get_extra_info(self, info: str) -> Any:
        return self._stream.get_extra_info(info)


class _Body(httpx2.SyncByteStream):
    def __init__(self, answer: httpcore2.Response, bounded: BoundedAnswer, ends_at: float | None) -> None:
        self._answer, self._bounded, self._ends_at = answer, bounded, ends_at

    def __iter__(self) -> Iterator[bytes]:
        assert isinstance(self._answer.stream, Iterable)
        received = iter(self._answer.stream)
        while True:
            try:
                with _until(self._ends_at), _errors_of_httpx2():
                    data = next(received, None)
            except httpx2.ReadTimeout as error:
                if self._ends_at is not None and time.monotonic() >= self._ends_at:
                    raise EndlessAnswerError("the answer took too long") from error
                raise
            if data is None:
                return
            yield from self._bounded.pieces(data)

    def close(self) -> None:
        self._answer.close()


@contextlib.contextmanager
def _until(ends_at: float | None) -> Generator[None]:
    token = _ends_at.set(ends_at)
    try:
        yield
    finally:
        _ends_at.reset(token)


def _left(timeout: float | None) -> float | None:
    """Return the seconds that one step may take. Raise EndlessAnswerError when the request has taken too long."""
    ends_at = _ends_at.get()
    if ends_at is None:
        return timeout
    left = ends_at - time.monotonic()
    if left <= 0:
        raise EndlessAnswerError("the request took too long")
    return left if timeout is None else min(left, timeout)


@contextlib.contextmanager
def _errors_of_httpx2() -> Generator[None]:
    try:
        yield
    except tuple(known for known, _ in ERRORS) as error:
        raise next(meant for known, meant in ERRORS if isinstance(error, known))(str(error)) from error
