"""What a person is told when what they asked for cannot be done: one table for frames by socket and by POST."""

from django.utils.translation import gettext_lazy as _

from chat import attachments, attempts, branches, choices, sessions, transcript
from oneclaw.text import BadText, Words


class Refusal(Exception):
    """A frame that cannot be done: a protocol error code and one sentence for the person.

    What only a broken client can come by (`bad_frame`) is said in English, to whoever mends it.
    """

    def __init__(self, code: str, sentence: Words):
        super().__init__(sentence)
        self.code, self.sentence = code, sentence


NOT_FOUND = Refusal("not_found", _("This conversation no longer exists."))

TOLD: dict[type[Exception], Refusal] = {
    sessions.SessionNotFound: NOT_FOUND,
    branches.NotShown: Refusal("not_shown", branches.NotShown.words),
    attempts.NothingToRepeat: Refusal(
        "not_found", _("Only the last answer of a conversation can be regenerated, and this is no longer the last one.")
    ),
    transcript.OtherMode: Refusal("other_mode", transcript.OtherMode.words),
    transcript.Conflict: Refusal("conflict", transcript.Conflict.words),
    attachments.Missing: Refusal("file_gone", attachments.Missing.words),
    transcript.Busy: Refusal("busy", transcript.Busy.words),
}
# Whatever `refusal_of` has words for.
REFUSED: tuple[type[Exception], ...] = (Refusal, BadText, choices.NotOffered, *TOLD)


def refusal_of(error: Exception) -> tuple[str, str]:
    """The protocol error code and the person's sentence of one of REFUSED."""
    if isinstance(error, Refusal | BadText | choices.NotOffered):
        return error.code, str(error.sentence)
    told = next(told for kind, told in TOLD.items() if isinstance(error, kind))
    return told.code, str(told.sentence)
