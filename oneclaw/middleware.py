"""What every middleware of ours shares: it stands around sync and async views without a thread of its own."""

from collections.abc import Awaitable, Callable
from typing import Any

from asgiref.sync import iscoroutinefunction, markcoroutinefunction
from django.http import HttpRequest, HttpResponse


class Middleware:
    """`answer` and `answer_soon` are the same for sync and async views; `get_response` is what stands inside."""

    sync_capable = async_capable = True

    def __init__(self, get_response: Callable[[HttpRequest], Any]) -> None:
        self.get_response = get_response
        if iscoroutinefunction(get_response):
            markcoroutinefunction(self)

    def __call__(self, request: HttpRequest) -> HttpResponse | Awaitable[HttpResponse]:
        return self.answer_soon(request) if iscoroutinefunction(self.get_response) else self.answer(request)

    def answer(self, request: HttpRequest) -> HttpResponse:
        raise NotImplementedError

    async def answer_soon(self, request: HttpRequest) -> HttpResponse:
        raise NotImplementedError
