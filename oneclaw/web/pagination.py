"""Cursors of paginated lists: opaque strings that name the last row of a page, from which the next page starts."""

import base64
import binascii
import datetime as dt
import json
from collections.abc import Callable
from typing import Any


class BadCursorError(ValueError):
    """The text is not a cursor of this list."""


def encode_cursor(*parts: str | int) -> str:
    """Return the cursor after a row, which `parts` identify in the order of the list."""
    return base64.urlsafe_b64encode(json.dumps(parts).encode()).decode().rstrip("=")


def aware_moment(text: str) -> dt.datetime:
    """Return the moment in ISO format `text`, in UTC. Raise ValueError without a timezone. For `decode_cursor`."""
    at = dt.datetime.fromisoformat(text)
    if at.tzinfo is None:
        raise ValueError("a moment without a timezone")
    return at.astimezone(dt.UTC)


def decode_cursor(cursor: str, *kinds: Callable[[Any], Any]) -> list[Any]:
    """Return the parts of `cursor`, each converted by its function in `kinds`. Raise BadCursorError when invalid."""
    try:
        parts = json.loads(base64.b64decode(cursor + "=" * (-len(cursor) % 4), altchars=b"-_", validate=True))
        if not isinstance(parts, list):
            raise BadCursorError
        return [kind(part) for kind, part in zip(kinds, parts, strict=True)]
    except (binascii.Error, ValueError, OverflowError, TypeError, AttributeError, RecursionError):
        raise BadCursorError from None
