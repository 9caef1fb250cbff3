"""Conversations that were deleted are gone for good after DELETED_DAYS: with their messages, files and shared links."""

import datetime as dt
import logging
import uuid

from django.conf import settings
from django.db import Error as DatabaseFailure
from django.db import transaction
from django.utils import timezone

from chat.attachments import store
from chat.models import Agent, ChatSession, ChatSessionQuerySet

logger = logging.getLogger(__name__)

# Conversations that one run takes; the next one goes on.
MOST = 500


def sweep(now: dt.datetime | None = None) -> int:
    """Purge what was deleted long enough ago; how many conversations."""
    due = deleted_before((now or timezone.now()) - dt.timedelta(days=settings.DELETED_DAYS))
    ids = list(due.order_by("deleted_at").values_list("pk", flat=True)[:MOST])
    count = sum(purged_if_possible(due, session_id) for session_id in ids)
    # The last conversation of an agent that nobody can choose any more takes it along.
    Agent.objects.exclude(deleted_at=None).filter(sessions=None).delete()
    return count


def deleted_before(latest: dt.datetime) -> ChatSessionQuerySet:
    return ChatSession.objects.filter(deleted_at__lt=latest)


def purged_if_possible(due: ChatSessionQuerySet, session_id: uuid.UUID) -> bool:
    """Purge it; one that the database does not let go keeps nobody else's here, and is tried again."""
    try:
        return purge(due, session_id)
    except DatabaseFailure:
        logger.exception("Conversation %s could not be purged; the next run tries again.", session_id)
        return False


@transaction.atomic
def purge(due: ChatSessionQuerySet, session_id: uuid.UUID) -> bool:
    """Remove every row of the conversation, and the files that no other one names. False when it is restored by now.

    What was noted of it in memory stays: that is the person's own document.
    """
    session = due.select_for_update().filter(pk=session_id).first()
    if session is None:
        return False
    session.turns.all().delete()
    session.messages.all().delete()
    store.forget(session)
    session.delete()
    return True
