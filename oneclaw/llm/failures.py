"""The failures of requests to the model: one class each; oneclaw/wordings.py has their sentences."""

import datetime as dt
import logging
import re
import time
from typing import Any, ClassVar

from oneclaw.reasons import Reason

logger = logging.getLogger(__name__)


class ModelRequestError(Exception):
    """The model could not answer."""

    # The code of its wording: what happened, and what to do next. Rows store it.
    reason_code: ClassVar[str] = "model.failed"
    # The code of an `error` frame (docs/protocol.md) and of a failed turn.
    code: ClassVar[str] = "model_error"
    # Whether the same request may succeed a little later; it is retried as long as nothing has been shown.
    retryable: ClassVar[bool] = False

    def __init__(self, detail: str = "", retry_after: float | None = None, error_code: str = "") -> None:
        """Take the server's text for the log, the seconds that the server asked to wait, and its code of the error."""
        super().__init__(detail or type(self).__doc__)
        self.detail = detail
        self.retry_after = retry_after
        # `details.error_code` of the API, such as "compaction_content_mismatch"; most errors have none.
        self.error_code = error_code

    def __str__(self) -> str:
        """Return what a log may hold: the status and the type of the error.

        The server's own sentence may quote the conversation; it is added at the log level debug.
        """
        return super().__str__() if logger.isEnabledFor(logging.DEBUG) else self.text_for_logs

    @property
    def text_for_logs(self) -> str:
        """Return the status and the type of the error, or what happened in words of ours."""
        return super().__str__().partition(": ")[0]

    @property
    def explanation(self) -> str:
        """Return the server's own sentence, without the status and the type of the error."""
        return self.detail.partition(": ")[2]

    @property
    def reason(self) -> Reason:
        """Return the reason to store and to show."""
        return Reason(self.reason_code)

    @property
    def sentence(self) -> str:
        """Return the sentence of the reason in the active language."""
        return str(self.reason)


class NoKeyError(ModelRequestError):
    """No API key is set."""

    reason_code = "model.no_key"
    code = "no_key"


class KeyUnreadableError(ModelRequestError):
    """The stored key of a model server cannot be read, because the secret key of the installation was changed."""

    reason_code = "model.key_unreadable"
    code = "no_key"


class KeyRefusedError(ModelRequestError):
    """The model's server refused the API key."""

    reason_code = "model.key_refused"
    code = "key_refused"


class MemoryStaysHomeError(ModelRequestError):
    """The request may hold something of a memory, and no server that has the model may be sent that."""

    reason_code = "model.memory_stays_home"
    code = "memory_stays_home"


class RateLimitedError(ModelRequestError):
    """The model's server takes no more requests for the moment."""

    reason_code = "model.rate_limited"
    code = "rate_limited"
    retryable = True

    @property
    def reason(self) -> Reason:
        """Return the reason, with the seconds to wait if the server named them."""
        seconds = {"seconds": max(1, round(self.retry_after))} if self.retry_after else {}
        return Reason(self.reason_code, seconds)


class OverloadedError(ModelRequestError):
    """The model is overloaded."""

    reason_code = "model.overloaded"
    code = "overloaded"
    retryable = True


class UnreachableError(ModelRequestError):
    """The model's server cannot be reached."""

    reason_code = "model.unreachable"
    code = "unreachable"
    retryable = True


class AddressRefusedError(UnreachableError):
    """Nothing may be sent to the address of the model's server."""

    retryable = False

    def __init__(self, refusal: Reason) -> None:
        """Take the reason of the guard of outgoing requests."""
        super().__init__(f"{refusal.code}: {refusal.in_english}")
        self._refusal = refusal

    @property
    def reason(self) -> Reason:
        """Return the reason of the guard, which names the setting that would allow the address."""
        return self._refusal


class ModelTimeoutError(ModelRequestError):
    """The model's server fell silent."""

    reason_code = "model.timed_out"
    code = "timed_out"


class TurnTimeoutError(ModelRequestError):
    """This answer took longer than one may, so it was ended."""

    reason_code = "model.took_too_long"
    code = "took_too_long"


class AnswerTooLargeError(ModelRequestError):
    """This answer grew larger than one may be, so it was ended."""

    reason_code = "model.answer_too_large"
    code = "answer_too_large"


class CutOffError(ModelRequestError):
    """The connection to the model broke before the answer was whole."""

    reason_code = "model.cut_off"
    code = "cut_off"


class ContextTooLongError(ModelRequestError):
    """The request is too long for the model. A person reads it only when one message alone does not fit: everything
    else of a conversation gives way to a summary (chat/compaction/room.py)."""

    reason_code = "model.context_too_long"
    code = "context_too_long"
    # Whether the newest message alone takes most of the window; otherwise the conversation does, which cannot be
    # summarised any further.
    is_by_message = True

    @property
    def reason(self) -> Reason:
        """Return the reason, by what takes the window."""
        return Reason(self.reason_code if self.is_by_message else "model.window_full")

    @property
    def tokens(self) -> int | None:
        """Return the tokens of the prompt, if the server named them."""
        return self._sizes[0]

    @property
    def limit(self) -> int | None:
        """Return the most tokens that fit into the window, if the server named them."""
        return self._sizes[1]

    @property
    def _sizes(self) -> tuple[int | None, int | None]:
        said = THOUSANDS.sub("", self.detail)
        if found := TOO_LONG.search(said):
            return int(found[1]), int(found[2])
        return _number(PROMPT.search(said)), _number(WINDOW.search(said))


class SpendLimitError(ModelRequestError):
    """The account at the model's provider has reached its spending limit."""

    reason_code = "model.spend_limit"
    code = "spend_limit"


class UnknownModelError(ModelRequestError):
    """The model's server does not know this model."""

    reason_code = "model.unknown_model"
    code = "unknown_model"


class BadRequestError(ModelRequestError):
    """The model's server did not accept the request."""

    reason_code = "model.bad_request"
    code = "bad_request"


class ThinkingBoundError(BadRequestError):
    """The signed thinking of an earlier answer does not belong to what the conversation now says before it."""

    reason_code = "model.thinking_bound"
    code = "thinking_bound"


class CompactionRefusedError(BadRequestError):
    """The model's server cannot summarise these messages; `error_code` says why."""

    reason_code = "model.compaction_refused"
    code = "compaction_refused"


class CompactionBlockError(BadRequestError):
    """The model's server refused the block of an earlier compaction, or its place; `error_code` says why."""

    reason_code = "model.compaction_block"
    code = "compaction_block"


class CompactionUnavailableError(OverloadedError):
    """The model's server could not make or read the block of a compaction for the moment."""

    reason_code = "model.compaction_unavailable"
    code = "compaction_unavailable"


class CompactionUnsupportedError(ModelRequestError):
    """The model on this server makes no summaries on demand, and reads none."""

    reason_code = "model.compaction_unsupported"
    code = "compaction_unsupported"


class TruncatedAnswerError(ModelRequestError):
    """The answer was cut off at its largest size."""

    reason_code = "model.truncated"
    code = "truncated_answer"


class EmptyAnswerError(ModelRequestError):
    """The answer has no text."""

    reason_code = "model.empty"
    code = "empty_answer"


class AnswerRefusedError(ModelRequestError):
    """The model declined to answer this; `detail` says why, in words of its server, or nothing."""

    reason_code = "model.refused"
    code = "refused"

    @property
    def reason(self) -> Reason:
        """Return the reason, with the words of the server if there are any."""
        return Reason(self.reason_code, {"why": self.detail} if self.detail else {})


class ToolsWithoutEndError(ModelRequestError):
    """The model went on calling tools when it was to answer in words."""

    reason_code = "model.only_tools"
    code = "only_tools"


class UnreadableAnswerError(ModelRequestError):
    """The model's server answered with something that cannot be read."""

    reason_code = "model.unreadable"


class ServerFaultError(ModelRequestError):
    """The model's server had a fault of its own."""

    reason_code = "model.server_fault"
    retryable = True


class BudgetUsedUpError(ModelRequestError):
    """A budget of the person, of one of their groups or of everybody is used up; the model was not asked."""

    reason_code = "model.budget_used_up"
    code = "budget_used_up"
    # Until a budget ends, work in the background looks again this often: an admin may raise it.
    LOOK_AGAIN_SECONDS: ClassVar[float] = 3_600

    def __init__(self, scope: str, period: str, ends: dt.datetime) -> None:
        """Take whose budget it is (person, group, all), its period (day, month), and its end by the person's clock."""
        super().__init__(f"the budget of a {period} is used up: {scope}", max(1.0, ends.timestamp() - time.time()))
        self.scope, self.period, self.ends = scope, period, ends

    @property
    def reason(self) -> Reason:
        """Return the reason, with whose budget it is and when it ends."""
        return Reason(self.reason_code, {"scope": self.scope, "period": self.period, "ends": self.ends.isoformat()})

    @property
    def wait_seconds(self) -> float:
        """Return the seconds until work in the background is tried again."""
        return min(self.retry_after or 0.0, self.LOOK_AGAIN_SECONDS)


# Failures by `error.type` of the API; other types are decided by the HTTP status.
BY_TYPE: dict[str, type[ModelRequestError]] = {
    "authentication_error": KeyRefusedError,
    "permission_error": KeyRefusedError,
    "billing_error": SpendLimitError,
    "not_found_error": UnknownModelError,
    "request_too_large": ContextTooLongError,
    "rate_limit_error": RateLimitedError,
    "overloaded_error": OverloadedError,
    "timeout_error": ServerFaultError,
    "api_error": ServerFaultError,
    "invalid_request_error": BadRequestError,
}
# Failures by `error.details.error_code` of the API.
BY_CAUSE: dict[str, type[ModelRequestError]] = {
    "compaction_block_ambiguous": CompactionBlockError,
    "compaction_block_misplaced": CompactionBlockError,
    "compaction_content_mismatch": CompactionBlockError,
    "compaction_signature_invalid": CompactionBlockError,
    "compaction_tool_changes_mismatch": CompactionBlockError,
    "compaction_incomplete_turn": CompactionRefusedError,
    "compaction_nothing_to_summarize": CompactionRefusedError,
    "compaction_too_many_tool_references": CompactionRefusedError,
    "compaction_unavailable": CompactionUnavailableError,
}
# A type of an error, as the API and compatible servers have them.
TYPE_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_.-]{0,63}|")
CONTEXT = re.compile(r"context (?:window|limit|length|size)|max_model_len")
# "prompt is too long: N tokens > M maximum"; older models: "… exceed context limit: N + max_tokens > M".
TOO_LONG = re.compile(r"(?<!\d)(\d{1,15}) (?:tokens|\+ \d{1,15}) > (\d{1,15})")
# The same in the words of vLLM, SGLang, OpenAI, llama.cpp and LM Studio.
WINDOW = re.compile(
    r"(?:maximum context length|context (?:window|length|size))(?: (?:is|of|only|has)){0,4} ?\(?(\d{1,15})"
    r"|n_ctx\W{1,4}(\d{1,15})|max_model_len\W{1,4}(\d{1,15})"
)
PROMPT = re.compile(
    r"\((\d{1,15}) in the messages|(?<!\d)(\d{1,15}) (?:input tokens|tokens from the input)"
    r"|messages resulted in (\d{1,15})|request \((\d{1,15}) tokens|n_prompt_tokens\W{1,4}(\d{1,15})"
    r"|input length \(?(\d{1,15})|(?:prompt|input) (?:has|is) (\d{1,15})"
)
# Between the digits of a number.
THOUSANDS = re.compile(r"(?<=\d)[,_](?=\d{3}\b)")
# The numbers that llama.cpp says beside its sentence.
SIZE_FIELDS = ("n_prompt_tokens", "n_ctx")
THINKING_BOUND = re.compile(r"bound to a different conversation|invalid `?signature`? in `?thinking`?")
REDIRECTS = (301, 302, 303, 307, 308)
BY_STATUS: dict[int, type[ModelRequestError]] = {
    401: KeyRefusedError,
    402: SpendLimitError,
    403: KeyRefusedError,
    404: UnknownModelError,
    408: ServerFaultError,
    413: ContextTooLongError,
    429: RateLimitedError,
    503: OverloadedError,
    529: OverloadedError,
}


def failure_of_response(status: int, body: Any, retry_after: float | None = None) -> ModelRequestError:
    """Return the failure for an error response: its HTTP `status` (200 inside a stream) and its JSON `body`."""
    said = body.get("error") if isinstance(body, dict) else None
    error = said if isinstance(said, dict) else {}
    # Compatible servers have errors of other shapes.
    words = error.get("message") or ("" if error else said or body or "")
    sizes = "".join(f" ({name}: {error[name]})" for name in SIZE_FIELDS if isinstance(error.get(name), int))
    kind, detail = str(error.get("type") or ""), f"{words}{sizes}"
    if not TYPE_NAME.fullmatch(kind):
        # It is logged: whole sentences may quote the conversation.
        kind, detail = "", f"{kind} {detail}".strip()
    details = error.get("details")
    cause = str(details.get("error_code") or "") if isinstance(details, dict) else ""
    return _which(status, kind, cause, detail)(f"{status} {kind}: {detail}"[:1000], retry_after, cause)


def _number(found: re.Match[str] | None) -> int | None:
    """Return the number in the one group that has matched."""
    return next((int(each) for each in found.groups() if each), None) if found else None


def _which(status: int, kind: str, cause: str, detail: str) -> type[ModelRequestError]:
    if "spend_limit" in cause or "billing" in cause:
        return SpendLimitError
    if cause in BY_CAUSE:
        return BY_CAUSE[cause]
    if status in REDIRECTS or (status == 404 and not kind):
        # The server at this address is not the API.
        return UnreachableError
    # Inside a stream, of which the status says nothing, an error of no known type is one of the server.
    otherwise = ServerFaultError if status >= 500 or status < 300 else BadRequestError
    found = BY_TYPE.get(kind) or BY_STATUS.get(status) or otherwise
    if found is ServerFaultError and kind and 400 <= status < 500 and status != 408:
        # Some servers have one type for all errors.
        found = BadRequestError
    wording = detail.lower()
    if found is ServerFaultError and CONTEXT.search(wording) and WINDOW.search(wording):
        return ContextTooLongError
    if found is BadRequestError:
        # The API has no types for these failures: only their text tells them apart.
        if THINKING_BOUND.search(wording):
            return ThinkingBoundError
        if "prompt is too long" in wording or CONTEXT.search(wording):
            return ContextTooLongError
        if "credit balance" in wording or "usage limit" in wording or "spend limit" in wording:
            return SpendLimitError
    return found
