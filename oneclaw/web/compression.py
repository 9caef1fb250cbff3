"""Compress pages with gzip, to about a tenth; except small ones, other types than HTML, and search results."""

from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.middleware.gzip import GZipMiddleware

# Below this size, compression gains nothing.
COMPRESSION_MIN_BYTES = 1500


class PageCompressionMiddleware(GZipMiddleware):
    """Django's middleware for some responses only.

    Against the BREACH attack, Django masks the CSRF token anew in each response and adds up to 100 random bytes.
    """

    def process_response(self, request: HttpRequest, response: HttpResponseBase) -> HttpResponseBase:
        """Return the response, compressed if it may be."""
        return super().process_response(request, response) if may_be_compressed(request, response) else response


def may_be_compressed(request: HttpRequest, response: HttpResponseBase) -> bool:
    """Return whether the response may be compressed.

    A page that repeats words of its address (a search) may not: by its length it could reveal other text (BREACH).
    """
    return (
        isinstance(response, HttpResponse)
        and len(response.content) >= COMPRESSION_MIN_BYTES
        and response.get("Content-Type", "").startswith("text/html")
        and "q" not in request.GET
    )
