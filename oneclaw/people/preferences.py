"""Activate the language and timezone of the person for each request."""

from collections.abc import Callable
from typing import Any

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.utils import timezone, translation
from django.utils.translation.trans_real import parse_accept_lang_header

from oneclaw.models import User


def preferences_middleware(
    get_response: Callable[[HttpRequest], HttpResponse],
) -> Callable[[HttpRequest], HttpResponse]:
    """Return a middleware that activates the preferences of the signed-in person, which override the browser's."""

    def answer(request: HttpRequest) -> HttpResponse:
        with timezone.override(None), translation.override(translation.get_language()):
            activate(request.user)
            return get_response(request)

    return answer


def language_of(user: object, accepted: str = "") -> str:
    """Return the language of `user`: their choice, or else the first supported one in `accepted`.

    `accepted` is an Accept-Language header. For sockets, which the middleware does not see.
    """
    if isinstance(user, User) and user.language in dict(settings.LANGUAGES):
        return user.language
    for code, _ in parse_accept_lang_header(accepted):
        try:
            return translation.get_supported_language_variant(code)
        except LookupError:
            continue
    return settings.LANGUAGE_CODE


def accept_language_of(scope: Any) -> str:
    """Return the Accept-Language header of an ASGI scope; "" when it has none."""
    return next((value.decode("latin-1") for name, value in scope["headers"] if name == b"accept-language"), "")


def activate(user: object) -> None:
    """Activate the timezone and language of `user` in this context; do nothing for an anonymous user."""
    if isinstance(user, User):
        timezone.activate(user.zone)
        if user.language in dict(settings.LANGUAGES):
            translation.activate(user.language)
