"""Refuse a request before Django knows it: a small answer from the ASGI application itself."""

import json
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

from django.utils import translation

from oneclaw.people.preferences import accept_language_of, language_of
from oneclaw.text import StrOrPromise

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
        # The rest of the request's body is not read.
        (b"connection", b"close"),
        (b"cache-control", b"no-store"),
        (b"content-security-policy", b"default-src 'none'"),
        (b"x-content-type-options", b"nosniff"),
    ]
    if retry_after is not None:
        headers.append((b"retry-after", str(retry_after).encode()))
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
