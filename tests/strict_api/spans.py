"""The bytes of the parts of a body as they came, without the marks of the cache, which do not count."""

import json
import re
from collections.abc import Iterator

_DECODER = json.JSONDecoder()
_SPACE = re.compile(r"[ \t\n\r]*")
MARK = "cache_control"


def members(text: str, start: int) -> Iterator[tuple[str, int, int]]:
    """Yield (key, where its value begins, where it ends) of each member of the object at `start`."""
    at = _next(text, start + 1)
    while text[at] != "}":
        key, at = _DECODER.raw_decode(text, at)
        begin = _next(text, _next(text, at) + 1)
        end = _DECODER.raw_decode(text, begin)[1]
        yield key, begin, end
        at = _after(text, end)


def elements(text: str, start: int) -> Iterator[tuple[int, int]]:
    """Yield (begin, end) of each element of the array at `start`."""
    at = _next(text, start + 1)
    while text[at] != "]":
        end = _DECODER.raw_decode(text, at)[1]
        yield at, end
        at = _after(text, end)


def blocks_at(text: str, start: int) -> list[bytes]:
    """Return the bytes of each block of the content at `start`. A string is short for one block of text with its type
    first."""
    if text[start] == "[":
        return [bare(text, *span).encode(errors="surrogatepass") for span in elements(text, start)]
    end = _DECODER.raw_decode(text, start)[1]
    return [f'{{"type":"text","text":{text[start:end]}}}'.encode(errors="surrogatepass")]


def bare(text: str, start: int, end: int) -> str:
    """Return the object from `start` to `end` without its mark of the cache, and without those inside its content."""
    if f'"{MARK}"' not in text[start:end]:
        return text[start:end]
    kept = []
    for key, begin, stop in members(text, start):
        value = text[begin:stop]
        if key == "content" and value.startswith("["):
            inside = (
                bare(text, *span) if text[span[0]] == "{" else text[slice(*span)] for span in elements(text, begin)
            )
            value = f"[{','.join(inside)}]"
        if key != MARK:
            kept.append(f"{json.dumps(key)}:{value}")
    return "{" + ",".join(kept) + "}"


def _next(text: str, at: int) -> int:
    found = _SPACE.match(text, at)
    return found.end() if found else at


def _after(text: str, at: int) -> int:
    """Return where the next member or element begins, or the closing bracket is."""
    at = _next(text, at)
    return _next(text, at + 1) if text[at] == "," else at
