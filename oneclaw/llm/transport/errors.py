"""Turn exceptions of the SDK and of its transport into typed failures."""

import logging
import math
from typing import TYPE_CHECKING

from oneclaw.llm.failures import (
    AddressRefusedError,
    CutOffError,
    ModelRequestError,
    ModelTimeoutError,
    UnreachableError,
    UnreadableAnswerError,
    failure_of_response,
)
from oneclaw.outgoing.guard import RefusedError

if TYPE_CHECKING:
    # At run time, functions import it: the SDK takes 75 MB and a second, which commands and idle workers do not need.
    import httpx2

log = logging.getLogger(__name__)


def failure_of_error(error: Exception, arrived: bool) -> ModelRequestError:
    """Return the typed failure for `error`; `arrived`: after the first event of an answer."""
    import anthropic
    import httpx2

    if isinstance(error, ModelRequestError):
        # Nothing has arrived, so the answer was not cut off: the server closed the connection.
        return UnreachableError(error.detail) if isinstance(error, CutOffError) and not arrived else error
    if isinstance(error, anthropic.APIStatusError):
        return failure_of_response(error.status_code, error.body, _retry_after(error.response))
    cause = error.__cause__ if isinstance(error, anthropic.APIConnectionError) else error
    if isinstance(cause, RefusedError):
        return AddressRefusedError(cause.reason)
    detail = f"{type(cause).__name__}: {cause}"
    if isinstance(cause, httpx2.ConnectTimeout | httpx2.PoolTimeout):
        return UnreachableError(detail)
    if isinstance(cause, httpx2.TimeoutException | TimeoutError):
        return ModelTimeoutError(detail)
    if isinstance(error, anthropic.APIConnectionError | httpx2.HTTPError | OSError):
        return CutOffError(detail) if arrived else UnreachableError(detail)
    log.error("The model's answer could not be handled", exc_info=error)
    return UnreadableAnswerError(detail)


def _retry_after(response: "httpx2.Response") -> float | None:
    """Return the seconds of the header `retry-after`; None when it is missing or a date."""
    try:
        seconds = float(response.headers.get("retry-after", ""))
    except ValueError:
        return None
    return max(0.0, seconds) if math.isfinite(seconds) else None
