"""Retention: deleted conversations are removed after DELETED_DAYS, with their messages, files and shared links, and
conversations and files by age where a rule says so. Nothing that a legal hold keeps is removed."""

import datetime as dt
import logging
import uuid

from django.conf import settings
from django.db import Error as DatabaseFailure
from django.db import transaction

from chat.attachments import store
from chat.conversations import lifecycle
from chat.models import Agent, Attachment, ChatSession, ChatSessionQuerySet, Turn
from oneclaw.audit import holds
from oneclaw.models import RetentionRule, clock

logger = logging.getLogger(__name__)

# Limit of one run; the next one continues.
SWEEP_MAX_SESSIONS = 500


def sweep(now: dt.datetime | None = None) -> int:
    """Purge the conversations that were deleted more than DELETED_DAYS ago; return how many."""
    latest = (now or clock.database_now()) - dt.timedelta(days=settings.DELETED_DAYS)
    due = ChatSession.objects.filter(deleted_at__lt=latest).not_held()
    ids = list(due.order_by("deleted_at").values_list("pk", flat=True)[:SWEEP_MAX_SESSIONS])
    count = sum(purge_or_log(due, session_id) for session_id in ids)
    # A deleted agent is removed together with its last conversation.
    unused = Agent.objects.exclude(deleted_at=None).filter(sessions=None)
    unused.exclude(owner__in=holds.held_people()).delete()
    return count


def sweep_by_age() -> int:
    """Remove the conversations and files that are older than their rules; return how many. The next run continues."""
    count = 0
    for rule in RetentionRule.objects.filter(kind=RetentionRule.Kind.CONVERSATIONS):
        old = ChatSession.objects.filter(rule.where("space"), active_at__lt=rule.latest())
        old = old.exclude(turns__status=Turn.Status.RUNNING).not_held()
        for session in old.select_related("owner", "agent").order_by("active_at")[:SWEEP_MAX_SESSIONS]:
            if session.deleted_at is None:
                lifecycle.delete(session, by_age=True)
            count += purge_or_log(old, session.pk)
    for rule in RetentionRule.objects.filter(kind=RetentionRule.Kind.FILES):
        files = Attachment.objects.filter(rule.where("session__space"), created_at__lt=rule.latest())
        count += store.delete_all(files.not_held(), SWEEP_MAX_SESSIONS)
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

    Return False when it has been restored, or is kept by a legal hold. Notes about it in memory stay: they are the
    person's documents.
    """
    session = due.not_held().select_for_update(of=("self",)).filter(pk=session_id).first()
    if session is None:
        return False
    session.turns.all().store_calls()
    session.turns.all().delete()
    session.messages.all().delete()
    store.delete_files_of(session)
    session.delete()
    return True
