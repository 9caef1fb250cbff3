"""What else is written about a conversation, each once, late or retried like a flush: its last messages, its summary.

errand = request(session, Errand.Kind.RECENT, through_seq)      # any number of times
run(errand.pk)                                                  # any worker, any number of times
"""

import datetime as dt
import logging
import uuid

from django.conf import settings
from django.db import transaction
from django.utils import timezone

from chat.models import ChatSession
from memory.models import Errand
from memory.notes import last_messages, recent
from memory.notes.claims import DELAYS, ClaimLost, in_words, is_noted
from memory.policy.access import locked, own_space

logger = logging.getLogger(__name__)

# Each has compose(errand), which may ask the model, and write(errand, composed), which runs in the transaction that
# finishes the errand.
WRITERS = {Errand.Kind.LAST_MESSAGES: last_messages, Errand.Kind.RECENT: recent}


@transaction.atomic
def request(session: ChatSession, kind: Errand.Kind, through_seq: int) -> Errand | None:
    """There is an errand of this kind that covers the messages up to `through_seq`; None when nothing is to be kept."""
    kept = locked(session.pk)
    if kept is None or through_seq == 0 or not WRITERS[kind].is_wanted(kept):
        return None
    waiting = kept.errands.open().filter(kind=kind).first()
    if waiting is not None:
        waiting.through_seq = max(waiting.through_seq, through_seq)
        waiting.save(update_fields=["through_seq"])
        return waiting
    space = own_space(kept)
    return Errand.objects.create(owner=kept.owner, session=kept, space=space, kind=kind, through_seq=through_seq)


def request_summary_alone(session: ChatSession) -> Errand | None:
    """As `request` for the summary of a session that is not flushed because saved memory is off; None when it is, and
    when the summary covers all that was said."""
    if is_noted(session):
        return None
    through_seq = session.last_complete_seq()
    if session.errands.filter(kind=Errand.Kind.RECENT, through_seq__gte=through_seq).exists():
        return None
    return request(session, Errand.Kind.RECENT, through_seq)


def run(errand_id: int) -> None:
    """Do this errand, if it is due and nobody else does. A failure is written into the row, and it is due later."""
    errand = take(errand_id)
    if errand is None:
        return
    writer = WRITERS[Errand.Kind(errand.kind)]
    try:
        composed = writer.compose(errand)
        with transaction.atomic():
            row = held(errand)
            writer.write(errand, composed)
            finish(row, errand.through_seq)
    except ClaimLost:
        logger.warning("Errand %s was taken over, or its conversation deleted.", errand_id)
    except Exception as error:
        logger.warning("Errand %s failed and is tried again.", errand_id, exc_info=True)
        postpone(errand, error)


def due(limit: int = 1000) -> list[int]:
    """The errands that somebody should take up now, the longest due first."""
    return list(Errand.objects.due().values_list("pk", flat=True)[:limit])


@transaction.atomic
def take(errand_id: int) -> Errand | None:
    """Claim an errand that is due. None when there is nothing to do."""
    session_id = Errand.objects.filter(pk=errand_id).values_list("session_id", flat=True).first()
    if session_id is None:
        return None
    session = locked(session_id)
    errand = Errand.objects.due().select_for_update().filter(pk=errand_id).first()
    if errand is None:
        return None
    if session is None or not WRITERS[Errand.Kind(errand.kind)].is_wanted(session):
        errand.delete()
        return None
    errand.token, errand.attempts = uuid.uuid4(), errand.attempts + 1
    errand.lease_until = timezone.now() + dt.timedelta(seconds=settings.FLUSH_LEASE_SECONDS)
    errand.save()
    errand.session = session
    return errand


def held(errand: Errand) -> Errand:
    """The row under its lock, if this claim still holds and it is still wanted; ClaimLost otherwise."""
    session = locked(errand.session_id)
    row = Errand.objects.select_for_update().filter(pk=errand.pk, token=errand.token).first()
    if session is None or row is None or not WRITERS[Errand.Kind(row.kind)].is_wanted(session):
        raise ClaimLost
    return row


def finish(row: Errand, through_seq: int) -> None:
    row.token = row.lease_until = None
    if row.through_seq > through_seq:
        # More was said meanwhile.
        row.attempts, row.due_at = 0, timezone.now()
    else:
        row.finished_at, row.error = timezone.now(), ""
    row.save()


def postpone(errand: Errand, error: Exception) -> None:
    delay = DELAYS[min(errand.attempts, len(DELAYS)) - 1]
    Errand.objects.filter(pk=errand.pk, token=errand.token).update(
        token=None,
        lease_until=None,
        due_at=timezone.now() + dt.timedelta(seconds=delay),
        error=in_words(error),
    )
