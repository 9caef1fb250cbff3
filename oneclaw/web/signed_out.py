"""Send a whole page to the sign-in page when an htmx request for a part of it finds the sign-in ended."""

from collections.abc import Callable
from typing import cast
from urllib.parse import urlsplit

from django.conf import settings
from django.contrib.auth.views import redirect_to_login
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import resolve_url
from django_htmx.http import HttpResponseClientRedirect

from oneclaw.people.requests import SignedInRequest


def sign_in_redirect_middleware(
    get_response: Callable[[HttpRequest], HttpResponse],
) -> Callable[[HttpRequest], HttpResponse]:
    """Return a middleware that replaces a redirect to the sign-in page by a redirect of the whole page.

    Otherwise htmx would follow it and insert the sign-in page as the part. Signing in leads back to the page.
    """

    def answer(request: HttpRequest) -> HttpResponse:
        response = get_response(request)
        htmx = cast(SignedInRequest, request).htmx
        if not htmx or not leads_to_sign_in(response):
            return response
        return HttpResponseClientRedirect(redirect_to_login(htmx.current_url_abs_path or "/").url)

    return answer


def leads_to_sign_in(response: HttpResponse) -> bool:
    """Return whether `response` redirects to the sign-in page."""
    return isinstance(response, HttpResponseRedirect) and urlsplit(response.url).path == resolve_url(settings.LOGIN_URL)
