"""Limit the size of request bodies while they arrive: Django reads a whole body before it calls a view."""

import json
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

from django.utils import translation
from django.utils.translation import gettext_lazy

from oneclaw.people.preferences import accept_language_of, language_of

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
Application = Callable[[Any, Any, Any], Awaitable[None]]

REFUSAL = gettext_lazy("This request is too large.")


class BodyTooLargeError(Exception):
    """The body is longer than allowed, although its Content-Length was not."""


class BodyLimitMiddleware:
    """An ASGI middleware that answers a request whose body has more than `max_bytes` bytes with 413."""

    def __init__(self, application: Application, max_bytes: int) -> None:
        self._application, self._max_bytes = application, max_bytes

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        announced = next((value for name, value in scope["headers"] if name == b"content-length"), b"0")
        if announced.isdigit() and int(announced) > self._max_bytes:
            await refuse(scope, send)
            return
        remaining_bytes = self._max_bytes
        has_started = False

        async def limited_receive() -> Message:
            nonlocal remaining_bytes
            message = await receive()
            remaining_bytes -= len(message.get("body", b""))
            if remaining_bytes < 0:
                raise BodyTooLargeError
            return message

        async def observed_send(message: Message) -> None:
            nonlocal has_started
            has_started = True
            await send(message)

        try:
            await self._application(scope, limited_receive, observed_send)
        except BodyTooLargeError:
            if not has_started:
                await refuse(scope, send)


async def refuse(scope: Message, send: Send) -> None:
    """Send 413 in the language of the Accept-Language header: the person is not known yet."""
    with translation.override(language_of(None, accept_language_of(scope))):
        body = json.dumps({"code": "too_large", "text": str(REFUSAL)}).encode()
    headers = [
        (b"content-type", b"application/json"),
        (b"content-length", str(len(body)).encode()),
        (b"connection", b"close"),
        (b"content-security-policy", b"default-src 'none'"),
        (b"x-content-type-options", b"nosniff"),
    ]
    await send({"type": "http.response.start", "status": 413, "headers": headers})
    await send({"type": "http.response.body", "body": body})
