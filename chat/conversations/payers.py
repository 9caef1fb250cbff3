"""For whom the calls of models in a conversation are, and what for."""

from dataclasses import replace

from chat.models import ChatSession, Turn
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


def payer_of_answers(turn: Turn) -> Payer:
    """Return the payer of the answers of `turn`, whose session is loaded: who asked for them."""
    payer = payer_of(turn.session, ANSWERS[ChatSession.Kind(turn.session.kind)], is_in_turn=True)
    return replace(payer, user_id=turn.person_id)
