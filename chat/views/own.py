"""Fetch what the signed-in person may see, write in or manage; all else is answered like what does not exist."""

import uuid

from django.shortcuts import get_object_or_404

from chat.models import ChatSession, placed
from oneclaw.models import User


def own_session(user: User, session_id: uuid.UUID, *related: str) -> ChatSession:
    """Return the conversation that the person may see, `placed` for them, with its agent and its `related` rows.

    Raise Http404 when there is none.
    """
    visible = placed(ChatSession.objects.visible_to(user), user)
    return get_object_or_404(visible.select_related("agent", *related), pk=session_id)


def written_session(user: User, session_id: uuid.UUID, *related: str) -> ChatSession:
    """Return the conversation that the person may write in, with its agent and its `related` rows. Raise Http404."""
    found = ChatSession.objects.continued_by(user).select_related("agent", *related)
    return get_object_or_404(found, pk=session_id)


def managed_session(user: User, session_id: uuid.UUID, *related: str) -> ChatSession:
    """Return the conversation that the person may rename, share and delete, with its agent and its `related` rows.

    Raise Http404 when there is none.
    """
    found = ChatSession.objects.managed_by(user).filter(deleted_at=None).select_related("agent", *related)
    return get_object_or_404(found, pk=session_id)


def is_closed_to(user: User, session: ChatSession) -> bool:
    """Return whether the person may only read the conversation, which they see."""
    if session.is_read_only or not session.is_shared:
        return session.is_read_only
    return not ChatSession.objects.continued_by(user).filter(pk=session.pk).exists()


def found_session(user: User, id: str) -> ChatSession | None:
    """Return the conversation with this id that the person may see, `placed` for them; None for any other text."""
    try:
        return placed(ChatSession.objects.visible_to(user), user).filter(pk=uuid.UUID(id)).first()
    except ValueError:
        return None
