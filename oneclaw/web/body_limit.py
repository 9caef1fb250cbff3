"""A bound for what a request may bring, before any of it is stored: Django reads a body whole before a view sees it."""

import json
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

from django.utils import translation
from django.utils.translation import gettext_lazy

from oneclaw.people.preferences import accepted_by, language_of

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
Application = Callable[[Any, Any, Any], Awaitable[None]]

REFUSAL = gettext_lazy("This request is too large.")


class BodyTooLargeError(Exception):
    """More came than was announced and allowed."""


class BoundedBodies:
    """An ASGI application for HTTP whose requests have at most `largest` bytes; others are answered with 413."""

    def __init__(self, application: Application, largest: int) -> None:
        self._application, self._largest = application, largest

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        announced = next((value for name, value in scope["headers"] if name == b"content-length"), b"0")
        if announced.isdigit() and int(announced) > self._largest:
            await refuse(scope, send)
            return
        room = self._largest
        answered = False

        async def bounded() -> Message:
            nonlocal room
            message = await receive()
            room -= len(message.get("body", b""))
            if room < 0:
                raise BodyTooLargeError
            return message

        async def noted(message: Message) -> None:
            nonlocal answered
            answered = True
            await send(message)

        try:
            await self._application(scope, bounded, noted)
        except BodyTooLargeError:
            if not answered:
                await refuse(scope, send)


async def refuse(scope: Message, send: Send) -> None:
    """Before anybody knows who asks, the browser says in which language."""
    with translation.override(language_of(None, accepted_by(scope))):
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
