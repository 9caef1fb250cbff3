"""Make guarded HTTP requests for libraries that take a session of requests."""

import io
import logging
import os
import ssl
from typing import Any

import httpx2
import requests
from requests.adapters import HTTPAdapter
from urllib3 import HTTPHeaderDict, HTTPResponse

from oneclaw.outgoing.client import client
from oneclaw.outgoing.guard import RefusedError
from oneclaw.outgoing.purposes import Purpose

logger = logging.getLogger(__name__)

# The exception of requests for each of httpx2, the more specific one first.
ERRORS: tuple[tuple[type[Exception], type[requests.RequestException]], ...] = (
    (httpx2.ConnectTimeout, requests.ConnectTimeout),
    (httpx2.TimeoutException, requests.ReadTimeout),
    (httpx2.DecodingError, requests.exceptions.ContentDecodingError),
    (httpx2.HTTPError, requests.ConnectionError),
    (httpx2.InvalidURL, requests.exceptions.InvalidURL),
)


def session(purpose: Purpose) -> requests.Session:
    """Return a session whose requests go through the guard; a refusal is a RefusedSessionError."""
    made = requests.Session()
    # Neither credentials of .netrc nor proxies: the guard chooses these.
    made.trust_env = False
    made.max_redirects = purpose.redirects_max_count
    for prefix in list(made.adapters):
        made.mount(prefix, GuardedAdapter(purpose))
    return made


class RefusedSessionError(requests.ConnectionError):
    """Nothing is sent to this address; the text is the sentence in English."""


class GuardedAdapter(HTTPAdapter):
    """An adapter of requests that sends by our client. An answer is read whole, within the bounds of its purpose."""

    def __init__(self, purpose: Purpose) -> None:
        super().__init__()
        self._purpose = purpose

    def send(
        self,
        request: requests.PreparedRequest,
        stream: bool = False,
        timeout: Any = None,
        verify: bool | str = True,
        cert: Any = None,
        proxies: Any = None,
    ) -> requests.Response:
        body = request.body
        if not isinstance(body, str | bytes | None):
            raise TypeError("The guard sends bodies whole: pass text or bytes.")
        try:
            with (
                client(self._purpose, seconds=_seconds(timeout), context=_context(verify, cert)) as http,
                http.stream(
                    request.method or "GET",
                    request.url or "",
                    headers={name: _text(value) for name, value in request.headers.items()},
                    content=body,
                    follow_redirects=False,
                ) as answer,
            ):
                content = answer.read()
        except RefusedError as error:
            # The libraries that use the session do not show why it failed.
            logger.warning("%s", error.reason.in_english)
            raise RefusedSessionError(error.reason.in_english, request=request) from error
        except tuple(known for known, _ in ERRORS) as error:
            meant = next(meant for known, meant in ERRORS if isinstance(error, known))
            raise meant(str(error), request=request) from error
        received = HTTPResponse(
            io.BytesIO(content),
            headers=HTTPHeaderDict(answer.headers.multi_items()),
            status=answer.status_code,
            reason=answer.reason_phrase,
            preload_content=False,
        )
        return self.build_response(request, received)


def _text(value: str | bytes) -> str:
    return value.decode("latin-1") if isinstance(value, bytes) else value


def _seconds(timeout: Any) -> float | None:
    """Return the seconds of a request; requests takes one number or two, for connecting and reading."""
    return max(filter(None, timeout), default=None) if isinstance(timeout, tuple) else timeout


def _context(verify: bool | str, cert: Any) -> ssl.SSLContext | None:
    """Return the certificates that a library has chosen; None: the trusted ones."""
    if not cert and not isinstance(verify, str):
        return None
    path = verify if isinstance(verify, str) else None
    is_folder = path is not None and os.path.isdir(path)
    context = ssl.create_default_context(cafile=None if is_folder else path, capath=path if is_folder else None)
    if cert:
        context.load_cert_chain(*([cert] if isinstance(cert, str) else cert))
    return context
