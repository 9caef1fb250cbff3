"""Decode JSON that may be nested deeper than Python can recurse."""

import json
import re
import secrets
from typing import Any

from oneclaw.text import replace_unstorable_in_json

# Brackets, and strings, in which they mean nothing. One that does not end goes up to the end, so that it is read once.
SIGN = re.compile(rb'"(?:[^"\\]++|\\.?)*+"?|[\[\]{}]', re.DOTALL)
# Levels that are decoded at a time; json.loads recurses, up to Python's limit of 1,000.
PART_LEVELS = 100


def decoded(raw: bytes) -> Any:
    """Return the value of the JSON `raw` without characters that cannot be stored. Raise ValueError when it is none."""
    try:
        value = json.loads(raw)
    except RecursionError:
        value = _decoded_in_parts(raw)
    return replace_unstorable_in_json(value)


def _decoded_in_parts(raw: bytes) -> object:
    """Return the value of `raw`: each part of PART_LEVELS levels is decoded by itself, the innermost first, and a key
    that no file can know represents it in what is around it."""
    key = secrets.token_hex(16)
    parts: list[object] = []

    def put_back(found: dict[str, Any]) -> object:
        return parts[found[key]] if key in found else found

    text, end = bytearray(), 0
    # Where each open bracket stands in `text`, and how many levels are in it.
    opened: list[tuple[int, int]] = []
    for sign in SIGN.finditer(raw):
        text += raw[end : sign.end()]
        end = sign.end()
        if raw[end - 1 : end] in (b"[", b"{"):
            opened.append((len(text) - 1, 0))
        elif raw[end - 1 : end] in (b"]", b"}"):
            if not opened:
                raise ValueError("A bracket is closed that was not opened.")
            begin, levels = opened.pop()
            levels += 1
            if levels == PART_LEVELS:
                parts.append(json.loads(text[begin:], object_hook=put_back))
                text[begin:] = json.dumps({key: len(parts) - 1}).encode()
                levels = 0
            if opened:
                opened[-1] = (opened[-1][0], max(opened[-1][1], levels))
    if opened:
        raise ValueError("A bracket is not closed.")
    return json.loads(text + raw[end:], object_hook=put_back)
