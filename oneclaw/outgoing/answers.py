"""Bound the answers to outgoing requests: their size after decompression, and what of their headers is kept."""

import zlib
from collections.abc import Iterable, Iterator

import httpx2

# What a decompressor gives at once.
PIECE_MAX_BYTES = 64 * 1024
# With this, zlib reads the headers of gzip and of zlib.
ANY_HEADER_BITS = zlib.MAX_WBITS | 32
ENCODINGS = ("gzip", "x-gzip", "deflate")
# They describe the body before it is decompressed, or are not kept from one request to the next.
DROPPED_HEADERS = (b"content-encoding", b"content-length", b"set-cookie", b"set-cookie2")


class EndlessAnswerError(httpx2.ReadError):
    """The answer is larger than its purpose allows, or takes longer."""


class BoundedAnswer:
    """The body of one answer, decompressed piece by piece."""

    def __init__(self, headers: Iterable[tuple[bytes, bytes]], max_bytes: int) -> None:
        """Raise EndlessAnswerError when the answer says that it is too large, and DecodingError when it is compressed
        in a way that was not asked for."""
        self._bytes_left = max_bytes
        named = {name.lower(): value.decode("latin-1").strip().lower() for name, value in headers}
        length, encoding = named.get(b"content-length", ""), named.get(b"content-encoding", "")
        if length.isdecimal() and int(length) > max_bytes:
            raise EndlessAnswerError(f"the answer has {length} bytes")
        if encoding not in ("", "identity", *ENCODINGS):
            raise httpx2.DecodingError(f"the answer has the encoding {encoding[:40]}")
        self._decompressor = zlib.decompressobj(ANY_HEADER_BITS) if encoding in ENCODINGS else None

    def pieces(self, data: bytes) -> Iterator[bytes]:
        """Yield the content of `data`. Raise EndlessAnswerError when the answer becomes too large."""
        if self._decompressor is None:
            yield self._counted(data)
            return
        while data:
            try:
                piece = self._decompressor.decompress(data, PIECE_MAX_BYTES)
            except zlib.error as error:
                raise httpx2.DecodingError(str(error)) from error
            if not piece:
                return
            yield self._counted(piece)
            data = self._decompressor.unconsumed_tail

    def _counted(self, piece: bytes) -> bytes:
        self._bytes_left -= len(piece)
        if self._bytes_left < 0:
            raise EndlessAnswerError("the answer is too large")
        return piece


def kept_headers(headers: Iterable[tuple[bytes, bytes]]) -> list[tuple[bytes, bytes]]:
    """Return the headers of an answer without cookies, and without those that describe its compressed body."""
    return [(name, value) for name, value in headers if name.lower() not in DROPPED_HEADERS]


def sent_headers(request: httpx2.Request, encodings: str) -> list[tuple[bytes, bytes]]:
    """Return the headers of `request` without cookies, and with the `encodings` that are decompressed here."""
    kept = [(name, value) for name, value in request.headers.raw if name.lower() not in (b"cookie", b"accept-encoding")]
    return [*kept, (b"accept-encoding", encodings.encode())]
