"""How a request reaches its view: static files at once, everything else through all middleware in one thread."""

import functools
from collections.abc import Mapping
from wsgiref.headers import Headers

from asgiref.sync import sync_to_async
from csp.middleware import CSPMiddleware
from django.core.handlers.asgi import ASGIHandler
from django.core.handlers.exception import convert_exception_to_response
from django.http import HttpRequest, HttpResponse
from django.middleware.security import SecurityMiddleware
from servestatic.middleware import ServeStaticMiddleware


class Pages(ASGIHandler):
    """Django's ASGI application, but for its middleware, for each of which that changes threads twice: this costs more
    than what they do. Async views run in the event loop as ever."""

    def load_middleware(self, is_async: bool = False) -> None:
        super().load_middleware(is_async=False)
        inside = sync_to_async(self._middleware_chain, thread_sensitive=True)  # type: ignore[has-type]
        self._middleware_chain = convert_exception_to_response(StaticFiles(inside))


class StaticFiles(ServeStaticMiddleware):
    """They pass no other middleware, and have the headers of every answer all the same."""

    def add_cache_headers(self, headers: Headers, path: str, url: str) -> None:
        super().add_cache_headers(headers, path, url)
        for name, value in headers_of_all().items():
            headers[name] = value


@functools.cache
def headers_of_all() -> Mapping[str, str]:
    """What browsers are told with every answer: to run nothing from elsewhere, and to guess no types."""
    request, response = HttpRequest(), HttpResponse()
    del response["Content-Type"]
    for middleware in (SecurityMiddleware, CSPMiddleware):
        middleware(lambda _: response).process_response(request, response)
    return dict(response.items())
