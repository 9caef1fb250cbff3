"""Pages leave the server compressed, a tenth as long; what is small, or not HTML, or repeats a question does not."""

import gzip
import io
import re
import secrets
from collections.abc import Callable

from django.http import HttpRequest, HttpResponse
from django.utils.cache import patch_vary_headers

# Bytes below which compressing gains nothing.
SMALL = 1500
# The quickest level: the best one makes a page a tenth shorter still and takes three times as long.
LEVEL = 1
# Bytes of which up to so many are put into the head of what is compressed, so that its length tells nobody how well
# something went with what else stands on the page (https://ieeexplore.ieee.org/document/9754554).
RANDOM = 100
GZIP = re.compile(r"\bgzip\b")


def compressed_pages(get_response: Callable[[HttpRequest], HttpResponse]) -> Callable[[HttpRequest], HttpResponse]:
    """A middleware. The token against forgery is another one in each answer, so that nobody learns it by lengths."""

    def answer(request: HttpRequest) -> HttpResponse:
        response = get_response(request)
        if may_be_compressed(request, response):
            patch_vary_headers(response, ["Accept-Encoding"])
            if GZIP.search(request.headers.get("Accept-Encoding", "")):
                response.content = compressed(response.content)
                response["Content-Length"] = str(len(response.content))
                response["Content-Encoding"] = "gzip"
        return response

    return answer


def may_be_compressed(request: HttpRequest, response: HttpResponse) -> bool:
    """Not what was searched for: an answer that repeats words of its address could be made to tell of others in it."""
    return (
        not response.streaming
        and len(response.content) >= SMALL
        and response.get("Content-Type", "").startswith("text/html")
        and not response.has_header("Content-Encoding")
        and "q" not in request.GET
    )


def compressed(content: bytes) -> bytes:
    out = io.BytesIO()
    name = "a" * secrets.randbelow(RANDOM)
    with gzip.GzipFile(filename=name, mode="wb", compresslevel=LEVEL, fileobj=out, mtime=0) as file:
        file.write(content)
    return out.getvalue()
