"""Limit the size of request bodies and the time that they take, while they arrive: Django reads a whole body before it
calls a view."""

import asyncio

from django.utils.translation import gettext_lazy

from oneclaw.web.limits.early_refusal import Application, Message, Receive, Send, refuse

TOO_LARGE = gettext_lazy("This request is too large.")
TOO_SLOW = gettext_lazy("This request arrived too slowly. Try again.")
# The time that a body may take, and the bytes for each of which it gets a further second.
BODY_FIRST_SECONDS, BODY_MIN_BYTES_PER_SECOND = 30.0, 1_000


class BodyTooLargeError(Exception):
    """The body is longer than allowed, although its Content-Length was not."""


class BodyTooSlowError(Exception):
    """The rest of the body has not arrived in time."""


class BodyLimitMiddleware:
    """An ASGI middleware that answers a request whose body has more than `max_bytes` bytes with 413, and one whose body
    arrives too slowly with 408."""

    def __init__(self, application: Application, max_bytes: int) -> None:
        self._application, self._max_bytes = application, max_bytes

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        announced = next((value for name, value in scope["headers"] if name == b"content-length"), b"0")
        if announced.isdigit() and int(announced) > self._max_bytes:
            await refuse(scope, send, 413, "too_large", TOO_LARGE)
            return
        remaining_bytes = self._max_bytes
        deadline: float | None = None
        is_whole = has_started = False

        async def limited_receive() -> Message:
            nonlocal remaining_bytes, deadline, is_whole
            if is_whole:
                # The next message is the disconnection, which may be hours away.
                return await receive()
            if deadline is None:
                deadline = asyncio.get_running_loop().time() + BODY_FIRST_SECONDS
            try:
                async with asyncio.timeout_at(deadline):
                    message = await receive()
            except TimeoutError:
                raise BodyTooSlowError from None
            size = len(message.get("body", b""))
            remaining_bytes -= size
            if remaining_bytes < 0:
                raise BodyTooLargeError
            deadline += size / BODY_MIN_BYTES_PER_SECOND
            is_whole = not message.get("more_body", False)
            return message

        async def observed_send(message: Message) -> None:
            nonlocal has_started
            has_started = True
            await send(message)

        try:
            await self._application(scope, limited_receive, observed_send)
        except BodyTooLargeError:
            if not has_started:
                await refuse(scope, send, 413, "too_large", TOO_LARGE)
        except BodyTooSlowError:
            if not has_started:
                await refuse(scope, send, 408, "too_slow", TOO_SLOW)
