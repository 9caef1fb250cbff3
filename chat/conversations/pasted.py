"""What of a message its person pasted: ranges [start, end] of code points of its text, which the page tells.

A text without ranges was typed by who sent it. Pure.
"""

from collections.abc import Sequence
from itertools import chain

# Ranges that one message may have.
RANGES_MAX_COUNT = 1_000

Ranges = tuple[tuple[int, int], ...]


class BadRangesError(ValueError):
    """The ranges are not of the text: no pairs of whole numbers, not in ascending order, or beyond its end."""


def checked(value: object, text: str) -> Ranges:
    """Return `value`, which is from outside, as the ranges of `text`. Raise BadRangesError."""
    if not isinstance(value, list | tuple) or len(value) > RANGES_MAX_COUNT:
        raise BadRangesError
    found = tuple(_pair(each) for each in value)
    offsets = list(chain.from_iterable(found))
    if offsets != sorted(offsets) or any(start == end for start, end in found):
        raise BadRangesError
    if offsets and not 0 <= offsets[0] <= offsets[-1] <= len(text):
        raise BadRangesError
    return found


def within(ranges: Sequence[tuple[int, int]], start: int) -> Ranges:
    """Return the ranges of the part of a text that begins at `start`."""
    return tuple((max(begin - start, 0), end - start) for begin, end in ranges if end > start)


def ranges_of(parts: Sequence[str], text: str) -> Ranges:
    """Return where `parts`, which were pasted into an earlier version in this order, still are in `text`."""
    found, at = [], 0
    for part in parts:
        start = text.find(part, at)
        if part and start >= 0:
            at = start + len(part)
            found.append((start, at))
    return tuple(found)


def _pair(value: object) -> tuple[int, int]:
    if not isinstance(value, list | tuple) or len(value) != 2:
        raise BadRangesError
    start, end = value
    if type(start) is not int or type(end) is not int:
        raise BadRangesError
    return start, end
