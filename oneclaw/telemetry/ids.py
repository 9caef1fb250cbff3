"""The id of the request, and of the turn, that the present code works for; logs and spans carry them."""

import re
import uuid
from collections.abc import Callable, Mapping
from contextvars import ContextVar

from django.http import HttpRequest, HttpResponse

# What another program may call a request; anything else is replaced.
REQUEST_ID = re.compile(r"[A-Za-z0-9._-]{1,64}")

request_id: ContextVar[str] = ContextVar("request_id", default="")
turn_id: ContextVar[int | None] = ContextVar("turn_id", default=None)


def current_ids() -> Mapping[str, str | int]:
    """Return the ids that are known here, by their names: request_id, turn_id."""
    found = {"request_id": request_id.get(), "turn_id": turn_id.get()}
    return {name: value for name, value in found.items() if value}


def request_id_middleware(get_response: Callable[[HttpRequest], HttpResponse]) -> Callable[[HttpRequest], HttpResponse]:
    """Give each request an id, that of its header X-Request-ID if it has one, and its response the same header."""

    def answer(request: HttpRequest) -> HttpResponse:
        sent = request.headers.get("X-Request-ID", "")
        token = request_id.set(sent if REQUEST_ID.fullmatch(sent) else uuid.uuid4().hex)
        try:
            response = get_response(request)
            response["X-Request-ID"] = request_id.get()
            return response
        finally:
            request_id.reset(token)

    return answer
