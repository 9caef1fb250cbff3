"""What a person is told when what they asked for cannot be done: one table for frames by socket and by POST."""

from django.utils.translation import gettext_lazy as _

from chat.attachments import store
from chat.conversations import branches, lifecycle, model_choice, transcript
from chat.turns import retry
from oneclaw.text import BadText, Words


class Refusal(Exception):
    """A frame that cannot be done: a protocol error code and one sentence for the person.

    What only a broken client can come by (`bad_frame`) is said in English, to whoever mends it.
    """

    def __init__(self, code: str, sentence: Words):
        super().__init__(sentence)
        self.code, self.sentence = code, sentence


NOT_FOUND = Refusal("not_found", _("There is no such conversation any more."))

TOLD: dict[type[Exception], Refusal] = {
    lifecycle.SessionNotFound: NOT_FOUND,
    branches.NotShown: Refusal("not_shown", branches.NotShown.words),
    retry.NothingToRepeat: Refusal(
        "not_found", _("Only the last answer of a conversation can be repeated, and this is not it any more.")
    ),
    transcript.OtherMode: Refusal("other_mode", transcript.OtherMode.words),
    transcript.Conflict: Refusal("conflict", transcript.Conflict.words),
    store.Missing: Refusal("file_gone", store.Missing.words),
    transcript.Busy: Refusal("busy", transcript.Busy.words),
}
# Whatever `refusal_of` has words for.
REFUSED: tuple[type[Exception], ...] = (Refusal, BadText, model_choice.NotOffered, *TOLD)


def refusal_of(error: Exception) -> tuple[str, str]:
    """The protocol error code and the person's sentence of one of REFUSED."""
    if isinstance(error, Refusal | BadText | model_choice.NotOffered):
        return error.code, str(error.sentence)
    told = next(told for kind, told in TOLD.items() if isinstance(error, kind))
    return told.code, str(told.sentence)
