"""What a signed-in person sees is kept by no cache: not for the next one at the same device, and not for “back”, where
it would be out of date."""

from collections.abc import Awaitable, Callable

from asgiref.sync import iscoroutinefunction, markcoroutinefunction
from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.utils.cache import patch_cache_control

GetResponse = Callable[[HttpRequest], HttpResponse | Awaitable[HttpResponse]]


class KeptByNoCache:
    """Middleware: whatever answers a browser with a sign-in is not stored, unless the answer says otherwise itself."""

    sync_capable = async_capable = True

    def __init__(self, get_response: GetResponse) -> None:
        self.get_response = get_response
        if iscoroutinefunction(get_response):
            markcoroutinefunction(self)

    def __call__(self, request: HttpRequest) -> HttpResponse | Awaitable[HttpResponse]:
        if iscoroutinefunction(self.get_response):
            return self._answer(request)
        return marked(request, self.get_response(request))  # type: ignore[arg-type]

    async def _answer(self, request: HttpRequest) -> HttpResponse:
        return marked(request, await self.get_response(request))  # type: ignore[misc]


def marked(request: HttpRequest, response: HttpResponse) -> HttpResponse:
    if settings.SESSION_COOKIE_NAME in request.COOKIES and not response.has_header("Cache-Control"):
        patch_cache_control(response, private=True, no_store=True)
    return response
