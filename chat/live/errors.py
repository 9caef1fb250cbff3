"""The protocol errors of requests that cannot be carried out: one table for socket, POST and HTTP API."""

from django.utils.translation import gettext_lazy as _

from chat.attachments import store
from chat.conversations import branches, lifecycle, model_choice, transcript
from chat.conversations.shared import queue
from chat.routes import identities
from chat.turns import retry
from chat.turns.admission import MaintenanceError
from chat.turns.slots import TooManyTurnsError
from oneclaw.llm import BudgetUsedUpError
from oneclaw.text import InvalidTextError, StrOrPromise
from oneclaw.web.rate_limit import TooManyRequestsError


class FrameError(InvalidTextError):
    """A frame cannot be carried out: a protocol error code and one sentence for the person.

    Sentences of the code `bad_frame` are in English, for the developer of the client.
    """


# The code and sentence of each exception that the handlers of frames raise.
CODES: dict[type[Exception], tuple[str, StrOrPromise]] = {
    lifecycle.SessionNotFoundError: ("not_found", _("This conversation no longer exists.")),
    lifecycle.ReadOnlySessionError: ("read_only", lifecycle.ReadOnlySessionError.wording),
    branches.MessageNotShownError: ("not_shown", branches.MessageNotShownError.wording),
    retry.NothingToRepeatError: (
        "not_found",
        _("Only the last answer of a conversation can be regenerated, and this is no longer the last one."),
    ),
    transcript.OtherModeError: ("other_mode", transcript.OtherModeError.wording),
    transcript.ClientIdConflictError: ("conflict", transcript.ClientIdConflictError.wording),
    store.FileMissingError: ("file_gone", store.FileMissingError.wording),
    identities.WrongCodeError: ("wrong_code", identities.WrongCodeError.wording),
    queue.QueueFullError: ("too_many_turns", queue.QueueFullError.wording),
    TooManyTurnsError: ("too_many_turns", TooManyTurnsError.wording),
    transcript.SessionBusyError: ("busy", transcript.SessionBusyError.wording),
}
# The exceptions that have a code and a sentence themselves.
WITH_SENTENCE = (
    InvalidTextError,
    model_choice.NotOfferedError,
    BudgetUsedUpError,
    TooManyRequestsError,
    MaintenanceError,
)
# The exceptions that `described` has a code and a sentence for.
CLIENT_ERRORS: tuple[type[Exception], ...] = (
    *WITH_SENTENCE,
    *CODES,
)


def code_and_sentence(error: Exception) -> tuple[str, str]:
    """Return the protocol error code and the sentence, in the active language, of `error`, one of CLIENT_ERRORS."""
    if isinstance(error, WITH_SENTENCE):
        return error.code, error.sentence
    code, sentence = next(known for kind, known in CODES.items() if isinstance(error, kind))
    return code, str(sentence)


def retry_after(error: Exception) -> float | None:
    """Return the seconds after which the same request may succeed; None when nothing says so."""
    return error.retry_after if isinstance(error, BudgetUsedUpError | TooManyRequestsError | MaintenanceError) else None
