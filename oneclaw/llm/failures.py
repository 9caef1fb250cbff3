"""What can go wrong with the model: one class per outcome, with what the person reads."""

import re
from typing import Any, ClassVar

from django.utils import translation
from django.utils.translation import gettext, ngettext
from django.utils.translation import gettext_lazy as _

from oneclaw.text import Words


class ModelFailure(Exception):
    """The model could not answer."""

    # What happened and what to do next, for the person.
    words: Words = _("The model could not answer. Try again.")
    # The code of an `error` frame (docs/protocol.md) and of a failed turn.
    code: ClassVar[str] = "model_error"
    # Whether the same request may succeed by itself a little later, as long as nothing has been shown.
    retryable: ClassVar[bool] = False

    def __init__(self, detail: str = "", retry_after: float | None = None) -> None:
        """`detail` is what the server said, for the log; `retry_after` the seconds that it asked to wait."""
        super().__init__(detail or type(self).__doc__)
        self.detail = detail
        self.retry_after = retry_after

    @property
    def sentence(self) -> str:
        """The words in the language of whoever asks."""
        return str(self.words)

    @property
    def kept(self) -> str:
        """What a row keeps of it: the sentence in English, which `shown` knows again."""
        with translation.override("en"):
            return self.sentence


class NoKey(ModelFailure):
    """No API key is set."""

    words = _("No API key is set. Set ANTHROPIC_API_KEY, start OneClaw again, and send your message once more.")
    code = "no_key"


class KeyRefused(ModelFailure):
    """The model's server refused the API key."""

    words = _("The model's server refused the API key. Check ANTHROPIC_API_KEY and start OneClaw again.")
    code = "key_refused"


class RateLimited(ModelFailure):
    """The model's server takes no more requests for the moment."""

    words = _("The model's server takes no more requests for the moment. Wait a little and try again.")
    code = "rate_limited"
    retryable = True

    @property
    def sentence(self) -> str:
        if not self.retry_after:
            return super().sentence
        if self.retry_after < 90:
            seconds = max(1, round(self.retry_after))
            return ngettext(
                "The model's server takes no more requests for the moment. Try again in %(number)d second.",
                "The model's server takes no more requests for the moment. Try again in %(number)d seconds.",
                seconds,
            ) % {"number": seconds}
        minutes = round(self.retry_after / 60)
        return ngettext(
            "The model's server takes no more requests for the moment. Try again in %(number)d minute.",
            "The model's server takes no more requests for the moment. Try again in %(number)d minutes.",
            minutes,
        ) % {"number": minutes}


class Overloaded(ModelFailure):
    """The model is overloaded."""

    words = _("The model is overloaded. Wait a little and try again.")
    code = "overloaded"
    retryable = True


class Unreachable(ModelFailure):
    """The model's server cannot be reached."""

    words = _("The model's server cannot be reached. Check the network and ANTHROPIC_BASE_URL, then try again.")
    code = "unreachable"
    retryable = True


class TimedOut(ModelFailure):
    """The model's server fell silent."""

    words = _("The model's server fell silent. Try again.")
    code = "timed_out"


class TookTooLong(ModelFailure):
    """This answer took longer than one may, so it was ended."""

    words = _("This answer took longer than one may, so it was ended. What arrived is kept: continue it, or try again.")
    code = "took_too_long"


class AnswerTooLarge(ModelFailure):
    """This answer grew larger than one may be, so it was ended."""

    words = _(
        "This answer grew larger than one may be, so it was ended. What arrived is kept: continue it, or try again."
    )
    code = "answer_too_large"


class CutOff(ModelFailure):
    """The connection to the model broke before the answer was whole."""

    words = _("The connection to the model broke before the answer was whole. What arrived is kept.")
    code = "cut_off"


class ContextTooLong(ModelFailure):
    """This conversation has become too long for the model."""

    words = _("This conversation has become too long for the model. Start a new one: what is remembered comes along.")
    code = "context_too_long"


class SpendLimit(ModelFailure):
    """The account at the model's provider has reached its spending limit."""

    words = _("The account at the model's provider has reached its spending limit. Raise it there, then try again.")
    code = "spend_limit"


class UnknownModel(ModelFailure):
    """The model's server does not know this model."""

    words = _("The model's server does not know this model. Choose another one, or check ONECLAW_MODEL.")
    code = "unknown_model"


class BadRequest(ModelFailure):
    """The model's server did not accept the request."""

    words = _("The model's server did not accept the request. Start a new conversation if it happens again.")
    code = "bad_request"


class Refused(ModelFailure):
    """The model declined to answer this."""

    words = _("The model declined to answer this. Put it in other words, or start a new conversation.")
    code = "refused"


class ModelError(ModelFailure):
    """The model's server answered with something that cannot be read."""

    words = _("The model's server answered with something that cannot be read. Try again.")


class ServerFault(ModelFailure):
    """The model's server had a fault of its own."""

    words = _("The model's server had a fault of its own. Try again.")
    retryable = True


# By `error.type` of the API; what is not here goes by the status.
BY_TYPE: dict[str, type[ModelFailure]] = {
    "authentication_error": KeyRefused,
    "permission_error": KeyRefused,
    "billing_error": SpendLimit,
    "not_found_error": UnknownModel,
    "request_too_large": ContextTooLong,
    "rate_limit_error": RateLimited,
    "overloaded_error": Overloaded,
    "timeout_error": ServerFault,
    "api_error": ServerFault,
    "invalid_request_error": BadRequest,
}
WAITING = re.compile(r"The model's server takes no more requests .* Try again in (\d+) (second|minute)s?\.")
CONTEXT = re.compile(r"context (?:window|limit|length)")
REDIRECTS = (301, 302, 303, 307, 308)
BY_STATUS: dict[int, type[ModelFailure]] = {
    401: KeyRefused,
    402: SpendLimit,
    403: KeyRefused,
    404: UnknownModel,
    408: ServerFault,
    413: ContextTooLong,
    429: RateLimited,
    503: Overloaded,
    529: Overloaded,
}


def shown(kept: str) -> str:
    """The sentence that a row keeps, in the language of whoever reads it."""
    if waiting := WAITING.fullmatch(kept):
        seconds = int(waiting[1]) * (60 if waiting[2] == "minute" else 1)
        return RateLimited(retry_after=seconds).sentence
    return gettext(kept)


def of_answer(status: int, body: Any, retry_after: float | None = None) -> ModelFailure:
    """The failure that an error answer means: its HTTP status (200 when it came inside a stream) and its JSON."""
    error = body.get("error") if isinstance(body, dict) else None
    error = error if isinstance(error, dict) else {}
    kind, detail = str(error.get("type") or ""), str(error.get("message") or "")
    details = error.get("details")
    cause = str(details.get("error_code") or "") if isinstance(details, dict) else ""
    return _which(status, kind, cause, detail)(f"{status} {kind}: {detail}"[:1000], retry_after)


def _which(status: int, kind: str, cause: str, detail: str) -> type[ModelFailure]:
    if "spend_limit" in cause or "billing" in cause:
        return SpendLimit
    if status in REDIRECTS or (status == 404 and not kind):
        # Whoever answers there, it is not the API.
        return Unreachable
    found = BY_TYPE.get(kind) or BY_STATUS.get(status) or (ServerFault if status >= 500 else BadRequest)
    if found is BadRequest:
        # The API has no type of its own for these two: its wording is all there is.
        wording = detail.lower()
        if "prompt is too long" in wording or CONTEXT.search(wording):
            return ContextTooLong
        if "credit balance" in wording or "usage limit" in wording or "spend limit" in wording:
            return SpendLimit
    return found
