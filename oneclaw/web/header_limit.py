"""Close connections that do not send the headers of a request in time, which uvicorn keeps open for ever."""

import asyncio

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

# From the connection, or from the first byte of a further request, to the end of the headers.
HEADERS_SECONDS = 20.0


class HeaderLimitProtocol(HttpToolsProtocol):
    """The HTTP protocol of uvicorn, with a limit of time for the headers. `body_limit` has that of the body."""

    _deadline: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begin to wait for a request."""
        super().connection_made(transport)
        self._wait_for_headers()

    def on_message_begin(self) -> None:
        """Begin to wait for the rest of the headers."""
        super().on_message_begin()
        self._wait_for_headers()

    def on_headers_complete(self) -> None:
        """Stop to wait for headers."""
        self._stop_waiting()
        super().on_headers_complete()

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop to wait for headers."""
        self._stop_waiting()
        super().connection_lost(exc)

    def _wait_for_headers(self) -> None:
        self._stop_waiting()
        self._deadline = asyncio.get_running_loop().call_later(HEADERS_SECONDS, self.transport.close)

    def _stop_waiting(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
