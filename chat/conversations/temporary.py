"""Conversations that leave nothing behind: in no list, in no memory, and erased once they are over."""

import datetime as dt
import uuid

from django.conf import settings
from django.db import transaction
from django.db.models import Q
from django.utils import timezone

from chat.attachments import store
from chat.models import ChatSession


@transaction.atomic
def erase(session_id: uuid.UUID) -> bool:
    """Take every word and file of a temporary conversation away, and close it for good. False while an answer
    runs in it: that one is stopped, and the sweep comes again.

    A row without words stays, so that a page which still shows it is told that it is gone.
    """
    ours = ChatSession.objects.filter(pk=session_id, mode=ChatSession.Mode.TEMPORARY)
    session = ours.select_for_update(no_key=True).first()
    if session is None:
        return True
    session.deleted_at = session.deleted_at or timezone.now()
    session.title, session.system_prompt, session.system_context = "", None, {}
    session.save(update_fields=["deleted_at", "title", "system_prompt", "system_context"])
    if session.turns.running().update(stop_requested=True):
        return False
    session.turns.all().delete()
    session.messages.all().delete()
    store.forget(session)
    session.last_seq = 0
    session.save(update_fields=["last_seq"])
    return True


def sweep() -> int:
    """Erase the temporary conversations that are over, or in which nobody has written for TEMPORARY_HOURS; how many."""
    oldest = timezone.now() - dt.timedelta(hours=settings.TEMPORARY_HOURS)
    written = ChatSession.objects.filter(mode=ChatSession.Mode.TEMPORARY, last_seq__gt=0)
    over = written.filter(Q(active_at__lt=oldest) | Q(deleted_at__isnull=False))
    return sum(erase(session_id) for session_id in over.values_list("pk", flat=True))
