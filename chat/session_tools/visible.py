"""Decide which conversations of the same person the model of a conversation may see, and what of them."""

import uuid

from chat.extensions import ToolError
from chat.models import ChatSession, ChatSessionQuerySet, MemoryChoice
from oneclaw.reasons import Reason


def visible_sessions(session: ChatSession) -> ChatSessionQuerySet:
    """Return the other conversations that the model of `session` may see.

    They are of the same owner, never temporary, deleted, without memory or of a scheduled turn. An agent with a memory
    of its own sees only its own conversations, and no other agent sees those.
    """
    found = ChatSession.objects.private_to(session.owner).filter(last_seq__gt=0).exclude(pk=session.pk)
    found = found.exclude(mode=ChatSession.Mode.TEMPORARY).exclude(kind=ChatSession.Kind.BEAT)
    found = found.exclude(memory=MemoryChoice.NONE)
    if session.agent.own_memory:
        return found.filter(agent=session.agent_id)
    return found.exclude(agent__own_memory=True)


def find_session(session: ChatSession, id: str) -> ChatSession:
    """Return the conversation with this id that the model of `session` may see.

    Raise ToolError alike for another person's, a hidden and an unknown one.
    """
    try:
        wanted = uuid.UUID(id)
    except ValueError:
        wanted = None
    found = visible_sessions(session).select_related("agent", "owner").filter(pk=wanted).first() if wanted else None
    if found is None:
        message = f"There is no conversation “{id}”. sessions_list shows those that there are."
        raise ToolError("unknown_session", message, Reason("sessions.unknown"))
    return found
