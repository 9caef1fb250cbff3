"""Every page is in the person's own language and timezone."""

from collections.abc import Awaitable, Callable

from asgiref.sync import iscoroutinefunction, markcoroutinefunction
from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.utils import timezone, translation

from oneclaw.models import User

GetResponse = Callable[[HttpRequest], HttpResponse | Awaitable[HttpResponse]]


class OwnPreferences:
    """Middleware: what a person chose goes before what their browser says."""

    sync_capable = async_capable = True

    def __init__(self, get_response: GetResponse) -> None:
        self.get_response = get_response
        if iscoroutinefunction(get_response):
            markcoroutinefunction(self)

    def __call__(self, request: HttpRequest) -> HttpResponse | Awaitable[HttpResponse]:
        if iscoroutinefunction(self.get_response):
            return self._answer(request)
        with timezone.override(None), translation.override(translation.get_language()):
            activate(request.user)
            return self.get_response(request)

    async def _answer(self, request: HttpRequest) -> HttpResponse:
        with timezone.override(None), translation.override(translation.get_language()):
            activate(await request.auser())
            return await self.get_response(request)  # type: ignore[misc]


def activate(user: object) -> None:
    """The person's timezone and language, from here on in this context."""
    if isinstance(user, User):
        timezone.activate(user.zone)
        if user.language in dict(settings.LANGUAGES):
            translation.activate(user.language)
