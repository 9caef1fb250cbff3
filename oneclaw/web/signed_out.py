"""A part of a page that is asked for when the sign-in has ended: the page goes to sign in, not the part of it."""

from collections.abc import Callable
from typing import cast
from urllib.parse import urlsplit

from django.conf import settings
from django.contrib.auth.views import redirect_to_login
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import resolve_url
from django_htmx.http import HttpResponseClientRedirect

from oneclaw.people.requests import SignedInRequest


def page_goes_to_sign_in(get_response: Callable[[HttpRequest], HttpResponse]) -> Callable[[HttpRequest], HttpResponse]:
    """A middleware: htmx would follow a redirect to the sign-in by itself, and put that page where the part was to
    stand. After signing in one is back on the page that asked."""

    def answer(request: HttpRequest) -> HttpResponse:
        response = get_response(request)
        htmx = cast(SignedInRequest, request).htmx
        if not htmx or not leads_to_sign_in(response):
            return response
        return HttpResponseClientRedirect(redirect_to_login(htmx.current_url_abs_path or "/").url)

    return answer


def leads_to_sign_in(response: HttpResponse) -> bool:
    return isinstance(response, HttpResponseRedirect) and urlsplit(response.url).path == resolve_url(settings.LOGIN_URL)
