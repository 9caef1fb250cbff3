"""Pages leave the server compressed, a tenth as long; what is small, or not HTML, or repeats a question does not."""

from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.middleware.gzip import GZipMiddleware

# Bytes below which compressing gains nothing.
SMALL = 1500


class CompressedPages(GZipMiddleware):
    """Django's, for some answers alone. The token against forgery is another one in each answer, and the length varies
    by up to a hundred random bytes, so that nobody learns from lengths what stands on a page."""

    def process_response(self, request: HttpRequest, response: HttpResponseBase) -> HttpResponseBase:
        return super().process_response(request, response) if may_be_compressed(request, response) else response


def may_be_compressed(request: HttpRequest, response: HttpResponseBase) -> bool:
    """Not what was searched for: an answer that repeats words of its address could be made to tell of others in it."""
    return (
        isinstance(response, HttpResponse)
        and len(response.content) >= SMALL
        and response.get("Content-Type", "").startswith("text/html")
        and "q" not in request.GET
    )
