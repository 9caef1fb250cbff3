"""Retention: deleted conversations are removed after DELETED_DAYS, with their messages, files and shared links."""

import datetime as dt
import logging
import uuid

from django.conf import settings
from django.db import Error as DatabaseFailure
from django.db import transaction

from chat.attachments import store
from chat.models import Agent, ChatSession, ChatSessionQuerySet
from oneclaw.models import clock

logger = logging.getLogger(__name__)

# Limit of one run; the next one continues.
SWEEP_MAX_SESSIONS = 500


def sweep(now: dt.datetime | None = None) -> int:
    """Purge the conversations that were deleted more than DELETED_DAYS ago; return how many."""
    latest = (now or clock.database_now()) - dt.timedelta(days=settings.DELETED_DAYS)
    due = ChatSession.objects.filter(deleted_at__lt=latest)
    ids = list(due.order_by("deleted_at").values_list("pk", flat=True)[:SWEEP_MAX_SESSIONS])
    count = sum(purge_or_log(due, session_id) for session_id in ids)
    # A deleted agent is removed together with its last conversation.
    Agent.objects.exclude(deleted_at=None).filter(sessions=None).delete()
    return count


def purge_or_log(due: ChatSessionQuerySet, session_id: uuid.UUID) -> bool:
    """Purge the conversation; return whether it is gone. A database error is logged and does not stop the sweep."""
    try:
        return purge(due, session_id)
    except DatabaseFailure:
        logger.exception("Conversation %s could not be purged; the next run tries again.", session_id)
        return False


@transaction.atomic
def purge(due: ChatSessionQuerySet, session_id: uuid.UUID) -> bool:
    """Remove every row of the conversation, and the files that no other one references.

    Return False when it has been restored. Notes about it in memory stay: they are the person's documents.
    """
    session = due.select_for_update().filter(pk=session_id).first()
    if session is None:
        return False
    session.turns.all().delete()
    session.messages.all().delete()
    store.delete_files_of(session)
    session.delete()
    return True
