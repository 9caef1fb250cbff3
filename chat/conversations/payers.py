"""For whom the calls of models in a conversation are, and what for."""

from chat.models import ChatSession
from oneclaw.models import Spend
from oneclaw.spend.calls import Payer

# What an answer is for, by the kind of its conversation.
ANSWERS = {
    ChatSession.Kind.CONVERSATION: Spend.Purpose.ANSWER,
    ChatSession.Kind.SUB_SESSION: Spend.Purpose.SUB_SESSION,
    ChatSession.Kind.BEAT: Spend.Purpose.SCHEDULE,
}


def payer_of(session: ChatSession, purpose: Spend.Purpose, *, is_in_turn: bool = False) -> Payer:
    """Return the payer of a call for `session`; `is_in_turn`: a turn that has begun waits for it."""
    return Payer(purpose, session.owner_id, session.pk, session.space_id, is_in_turn)


def payer_of_answers(session: ChatSession) -> Payer:
    """Return the payer of the answers in `session`."""
    return payer_of(session, ANSWERS[ChatSession.Kind(session.kind)], is_in_turn=True)
