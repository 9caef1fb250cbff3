"""Refuse a request before Django knows it: a small answer from the ASGI application itself."""

import json
from collections.abc import Awaitable, Callable, Mapping, MutableMapping
from typing import Any

from django.utils import translation

from oneclaw.people.preferences import accept_language_of, language_of
from oneclaw.text import StrOrPromise

# A body up to this length costs less to drop than a new connection, for the request that is sent again.
DROPPED_MAX_BYTES = 64 * 1024

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
Application = Callable[[Any, Any, Any], Awaitable[None]]


async def refuse(
    scope: Message, send: Send, status: int, code: str, text: StrOrPromise, retry_after: int | None = None
) -> None:
    """Send `status` with `code` and the sentence `text`, in the language of the Accept-Language header: the person is
    not known yet. A browser that opens a page, or a part of one, gets the sentence alone."""
    with translation.override(language_of(None, accept_language_of(scope))):
        sentence = str(text)
    sent = dict(scope["headers"])
    is_page = b"text/html" in sent.get(b"accept", b"") or b"hx-request" in sent
    body = (sentence if is_page else json.dumps({"code": code, "text": sentence})).encode()
    headers = [
        (b"content-type", b"text/plain; charset=utf-8" if is_page else b"application/json"),
        (b"content-length", str(len(body)).encode()),
        (b"cache-control", b"no-store"),
        (b"content-security-policy", b"default-src 'none'"),
        (b"x-content-type-options", b"nosniff"),
    ]
    if retry_after is not None:
        headers.append((b"retry-after", str(retry_after).encode()))
    if retry_after is None or not _has_short_body(sent):
        # The rest of the request's body is not read.
        headers.append((b"connection", b"close"))
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})


def _has_short_body(headers: Mapping[bytes, bytes]) -> bool:
    """Return whether a request with these headers has no body, or one that the server drops as it arrives."""
    length = headers.get(b"content-length", b"0")
    return b"transfer-encoding" not in headers and length.isdigit() and int(length) <= DROPPED_MAX_BYTES
