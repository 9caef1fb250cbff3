"""What a signed-in person sees is kept by no cache: not for the next one at the same device, and not for “back”, where
it would be out of date."""

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.utils.cache import patch_cache_control

from oneclaw.middleware import Middleware


class KeptByNoCache(Middleware):
    """Whatever answers a browser with a sign-in is not stored, unless the answer says otherwise itself."""

    def answer(self, request: HttpRequest) -> HttpResponse:
        return marked(request, self.get_response(request))

    async def answer_soon(self, request: HttpRequest) -> HttpResponse:
        return marked(request, await self.get_response(request))


def marked(request: HttpRequest, response: HttpResponse) -> HttpResponse:
    if settings.SESSION_COOKIE_NAME in request.COOKIES and not response.has_header("Cache-Control"):
        patch_cache_control(response, private=True, no_store=True)
    return response
