"""What the API answers instead of a message: an error with a status, a type, a message and sometimes a code."""

from collections.abc import Mapping
from typing import Any


class RefusedError(Exception):
    """The request is not one that the API accepts."""

    def __init__(self, status: int, kind: str, message: str, details: Mapping[str, Any] | None = None):
        super().__init__(message)
        self.status, self.kind, self.message, self.details = status, kind, message, details


def invalid(message: str, error_code: str = "") -> RefusedError:
    """Return the error of an invalid request; `error_code` goes into its details."""
    return RefusedError(400, "invalid_request_error", message, {"error_code": error_code} if error_code else None)


def too_large() -> RefusedError:
    """Return the error of a request with more bytes than the API takes."""
    return RefusedError(413, "request_too_large", "Request exceeds the maximum size")


def missing(what: str) -> RefusedError:
    """Return the error of something that does not exist."""
    return RefusedError(404, "not_found_error", what)
