"""What a client is told when its request cannot be carried out: one table for socket, POST and HTTP API."""

from django.utils.translation import gettext_lazy as _

from chat.attachments import store
from chat.conversations import branches, lifecycle, model_choice, transcript
from chat.turns import retry
from oneclaw.text import BadText, Words


class FrameError(Exception):
    """A frame cannot be carried out: a protocol error code and one sentence for the person.

    Sentences of the code `bad_frame` are in English, for the developer of the client.
    """

    def __init__(self, code: str, sentence: Words):
        super().__init__(sentence)
        self.code, self.sentence = code, sentence


NOT_FOUND = FrameError("not_found", _("There is no such conversation any more."))

FRAME_ERRORS: dict[type[Exception], FrameError] = {
    lifecycle.SessionNotFound: NOT_FOUND,
    branches.NotShown: FrameError("not_shown", branches.NotShown.words),
    retry.NothingToRepeatError: FrameError(
        "not_found", _("Only the last answer of a conversation can be repeated, and this is not it any more.")
    ),
    transcript.OtherMode: FrameError("other_mode", transcript.OtherMode.words),
    transcript.Conflict: FrameError("conflict", transcript.Conflict.words),
    store.Missing: FrameError("file_gone", store.Missing.words),
    transcript.Busy: FrameError("busy", transcript.Busy.words),
}
# The exceptions that `described` has a code and a sentence for.
CLIENT_ERRORS: tuple[type[Exception], ...] = (FrameError, BadText, model_choice.NotOffered, *FRAME_ERRORS)


def described(error: Exception) -> tuple[str, str]:
    """Return the protocol error code and the sentence, in the reader's language, of one of CLIENT_ERRORS."""
    if isinstance(error, FrameError | BadText | model_choice.NotOffered):
        return error.code, str(error.sentence)
    known = next(known for kind, known in FRAME_ERRORS.items() if isinstance(error, kind))
    return known.code, str(known.sentence)
