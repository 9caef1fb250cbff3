"""Lock the rows of conversations of which notes and indexes are made."""

import uuid
from collections.abc import Iterable

from chat.models import ChatSession


def lock_session(session_id: uuid.UUID) -> ChatSession | None:
    """Lock the row of the session and return it; None when it is deleted, or none that notes are made of.

    Must be called in a transaction.
    """
    return next(iter(lock_sessions([session_id])), None)


def lock_sessions(session_ids: Iterable[uuid.UUID]) -> list[ChatSession]:
    """Lock the rows of these sessions and return them, without those that are deleted, that are of a scheduled turn, or
    whose mode does not write memory.

    Must be called in a transaction. All callers lock in the same order, so that none waits for another in a circle.
    """
    kept = ChatSession.objects.filter(pk__in=list(session_ids), mode=ChatSession.Mode.AGENT, deleted_at=None)
    kept = kept.exclude(kind=ChatSession.Kind.BEAT).select_related("owner", "agent", "space")
    return list(kept.select_for_update(of=("self",), no_key=True).order_by("pk"))
