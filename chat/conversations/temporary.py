"""Temporary conversations: in no list, in no memory, and erased once they have ended."""

import datetime as dt
import uuid

from django.conf import settings
from django.db import transaction
from django.db.models import Q

from chat.attachments import store
from chat.models import ChatSession, Presence
from oneclaw.models import User, clock


def is_left(session: ChatSession) -> bool:
    """Return whether the person has left the temporary conversation: then its address opens it no more."""
    return not Presence.objects.filter(user=session.owner_id, session=session, here=True).exists()


def leave(user: User) -> None:
    """Record that the person has left the temporary conversation that is their current one, if it is one."""
    temporary = Presence.objects.filter(user=user, session__mode=ChatSession.Mode.TEMPORARY)
    temporary.update(session=None)


@transaction.atomic
def erase(session_id: uuid.UUID) -> bool:
    """Erase every message and file of a temporary conversation, and mark it as deleted.

    Return False while an answer is running: it is asked to stop, and the next sweep erases the rest. The session's row
    stays without content, so that a page that still shows it learns that it was deleted. What a legal hold keeps is
    only marked.
    """
    ours = ChatSession.objects.filter(pk=session_id, mode=ChatSession.Mode.TEMPORARY)
    session = ours.select_for_update(no_key=True).first()
    if session is None:
        return True
    if ours.held().exists():
        ours.filter(deleted_at=None).update(deleted_at=clock.database_now())
        return True
    session.deleted_at = session.deleted_at or clock.database_now()
    session.title, session.head, session.used_rounds = "", None, []
    session.save(update_fields=["deleted_at", "title", "head", "used_rounds"])
    session.heads.all().delete()
    session.context_rounds.all().delete()
    if session.turns.running().update(stop_requested=True):
        return False
    session.turns.all().delete()
    session.messages.all().delete()
    store.delete_files_of(session)
    session.last_seq = 0
    session.save(update_fields=["last_seq"])
    return True


def sweep() -> int:
    """Erase temporary conversations that are deleted or inactive for TEMPORARY_HOURS; return how many."""
    oldest = clock.database_now() - dt.timedelta(hours=settings.TEMPORARY_HOURS)
    written = ChatSession.objects.filter(mode=ChatSession.Mode.TEMPORARY, last_seq__gt=0)
    written = written.not_held()
    over = written.filter(Q(active_at__lt=oldest) | Q(deleted_at__isnull=False))
    return sum(erase(session_id) for session_id in over.values_list("pk", flat=True))
