"""Every page is in the person's own language and timezone."""

from collections.abc import Callable
from typing import Any

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.utils import timezone, translation
from django.utils.translation.trans_real import parse_accept_lang_header

from oneclaw.models import User


def own_preferences(get_response: Callable[[HttpRequest], HttpResponse]) -> Callable[[HttpRequest], HttpResponse]:
    """A middleware: what a person chose goes before what their browser says."""

    def answer(request: HttpRequest) -> HttpResponse:
        with timezone.override(None), translation.override(translation.get_language()):
            activate(request.user)
            return get_response(request)

    return answer


def language_of(user: object, accepted: str = "") -> str:
    """The language of a person: their own choice, else the first that their browser accepts and we have.

    `accepted` is an Accept-Language header. For whoever comes by a socket, past the middleware.
    """
    if isinstance(user, User) and user.language in dict(settings.LANGUAGES):
        return user.language
    for code, _ in parse_accept_lang_header(accepted):
        try:
            return translation.get_supported_language_variant(code)
        except LookupError:
            continue
    return settings.LANGUAGE_CODE


def accepted_by(scope: Any) -> str:
    """The Accept-Language header of an ASGI scope."""
    return next((value.decode("latin-1") for name, value in scope["headers"] if name == b"accept-language"), "")


def activate(user: object) -> None:
    """The person's timezone and language, from here on in this context."""
    if isinstance(user, User):
        timezone.activate(user.zone)
        if user.language in dict(settings.LANGUAGES):
            translation.activate(user.language)
