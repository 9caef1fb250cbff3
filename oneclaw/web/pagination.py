"""Where a page of a list ends, so that the next one begins after it: one opaque word for a program to hand back."""

import base64
import binascii
import datetime as dt
import json
from collections.abc import Callable
from typing import Any


class BadCursorError(ValueError):
    """This is no cursor that this list has given out."""


def cursor_of(*parts: str | int) -> str:
    """The word for the place after a row, which `parts` name in the order of the list."""
    return base64.urlsafe_b64encode(json.dumps(parts).encode()).decode().rstrip("=")


def moment(text: str) -> dt.datetime:
    """A kind of part: a point in time with its timezone."""
    at = dt.datetime.fromisoformat(text)
    if at.tzinfo is None:
        raise ValueError("a moment without a timezone")
    return at.astimezone(dt.UTC)


def place_of(cursor: str, *kinds: Callable[[Any], Any]) -> list[Any]:
    """The parts again, each made into its kind; BadCursorError for anything else."""
    try:
        parts = json.loads(base64.b64decode(cursor + "=" * (-len(cursor) % 4), altchars=b"-_", validate=True))
        if not isinstance(parts, list):
            raise BadCursorError
        return [kind(part) for kind, part in zip(kinds, parts, strict=True)]
    except (binascii.Error, ValueError, OverflowError, TypeError, AttributeError, RecursionError):
        raise BadCursorError from None
