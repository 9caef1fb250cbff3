"""Serve static files before all other middleware, with the headers that every answer has."""

import functools
from collections.abc import Mapping
from wsgiref.headers import Headers

from csp.middleware import CSPMiddleware
from django.http import HttpRequest, HttpResponse
from django.middleware.security import SecurityMiddleware
from servestatic.middleware import ServeStaticMiddleware


class StaticFilesMiddleware(ServeStaticMiddleware):
    """A middleware that answers requests for static files itself; they reach no other middleware."""

    def add_cache_headers(self, headers: Headers, path: str, url: str) -> None:
        """Add the headers of caching and of all other responses to `headers`."""
        super().add_cache_headers(headers, path, url)
        for name, value in headers_of_all().items():
            headers[name] = value


@functools.cache
def headers_of_all() -> Mapping[str, str]:
    """Return the headers that the security and CSP middleware add to every response."""
    request, response = HttpRequest(), HttpResponse()
    del response["Content-Type"]
    for middleware in (SecurityMiddleware, CSPMiddleware):
        middleware(lambda _: response).process_response(request, response)
    return dict(response.items())
