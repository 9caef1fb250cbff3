"""Split a JSON file into its conversations, with no more memory than its largest one needs."""

import re
from collections.abc import Iterator
from typing import Protocol

from chat.transfer.importing.reasons import CONVERSATION_MAX_BYTES, NESTING_MAX_LEVELS, ImportFileRefusedError

# Bytes that are read at a time.
PIECE_BYTES = 256 * 1024
# White space, and the bytes of the mark that Windows puts in front.
BLANK = b" \t\r\n\xef\xbb\xbf"
# Brackets and quotes outside of a string, and a string up to its end. In UTF-8, ASCII bytes have no other meaning.
OUTSIDE = re.compile(rb'["\[\]{}]')
INSIDE = re.compile(rb'(?:[^"\\]++|\\.)*+', re.DOTALL)

# The keys of lists of conversations in an object that is the whole file, which may be larger than one may be.
WRAPPER = re.compile(rb'"(?:conversations|chats|data|items)"\s*:\s*$')
WRAPPER_MAX_BYTES = 64

# The JSON of one conversation and "", or b"" and the code of the reason (of_conversation in reasons.py).
Element = tuple[bytes, str]


class ByteReader(Protocol):
    def read(self, size: int, /) -> bytes: ...


def elements(stream: ByteReader) -> Iterator[Element]:
    """Yield the objects of the array in the stream, or the objects in it one after another, undecoded.

    Raises FileRefused when it holds neither, or ends too early. What is between the objects is passed over.
    """
    splitter = None
    while piece := stream.read(PIECE_BYTES):
        if splitter is None:
            piece = piece.lstrip(BLANK)
            if not piece:
                continue
            if piece[:1] not in (b"[", b"{"):
                raise ImportFileRefusedError("not_json")
            splitter = Splitter(level=1 if piece[:1] == b"[" else 0)
        yield from splitter.take(piece)
    if splitter is None or splitter.is_open:
        raise ImportFileRefusedError("cut")


class Splitter:
    """A parser that takes bytes and yields whole elements. `level` is the nesting depth of the elements."""

    def __init__(self, level: int) -> None:
        self._level = level
        self._depth = 0
        self._in_string = self._after_backslash = False
        # The element that is open: its bytes so far, or why they are not kept.
        self._kept = bytearray()
        self._within = False
        self._refused = ""
        # The end of the piece before, in which a key may have begun.
        self._before = b""

    @property
    def is_open(self) -> bool:
        return self._depth > 0 or self._in_string

    def take(self, piece: bytes) -> Iterator[Element]:
        at = begin = 0
        if self._after_backslash:
            at, self._after_backslash = 1, False
        while at < len(piece):
            if self._in_string:
                at = INSIDE.match(piece, at).end()  # type: ignore[union-attr]
                # Before its end there may be the end of the piece, or half an escape.
                self._after_backslash = piece[at : at + 1] == b"\\"
                if at == len(piece) or self._after_backslash:
                    break
                self._in_string = False
                at += 1
                continue
            found = OUTSIDE.search(piece, at)
            if found is None:
                break
            sign, at = found.group(), found.end()
            if sign == b'"':
                self._in_string = True
            elif sign in b"[{":
                if sign == b"[" and self._depth == 1 and self._wraps(piece, found.start()):
                    self._level, self._within = 2, False
                    self._kept.clear()
                elif self._depth == self._level:
                    begin, self._within, self._refused = found.start(), True, ""
                self._depth += 1
                if self._depth > self._level + NESTING_MAX_LEVELS:
                    self._refuse("too_deep")
            else:
                self._depth -= 1
                if self._depth < 0:
                    raise ImportFileRefusedError("cut")
                if self._within and self._depth == self._level:
                    self._keep(piece[begin:at])
                    self._within = False
                    yield (b"", self._refused) if self._refused else (bytes(self._kept), "")
                    self._kept.clear()
                if self._level == 2 and self._depth == 1:
                    # What else is in the object around conversations is none.
                    self._level = -1
                elif self._level == -1 and self._depth == 0:
                    self._level = 0
        if self._within:
            self._keep(piece[begin:])
        self._before = (self._before + piece[-WRAPPER_MAX_BYTES:])[-WRAPPER_MAX_BYTES:]

    def _wraps(self, piece: bytes, at: int) -> bool:
        """Return whether the array that begins at `at` of `piece`, in an object that is no part of a list, has a key of
        those that hold conversations."""
        if self._level not in (0, -1):
            return False
        before = piece[max(0, at - WRAPPER_MAX_BYTES) : at]
        return WRAPPER.search((self._before + before)[-WRAPPER_MAX_BYTES:]) is not None

    def _keep(self, part: bytes) -> None:
        if not self._refused:
            self._kept += part
        if len(self._kept) > CONVERSATION_MAX_BYTES:
            self._refuse("too_large")

    def _refuse(self, code: str) -> None:
        self._refused = self._refused or code
        self._kept.clear()
