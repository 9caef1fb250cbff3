"""A session's messages become notes in the log of their day: late, retried, doubled or crashed, each exactly once.

    flush = request(session, "switched")        # any trigger, any number of times
    run(flush.pk)                               # any worker, any number of times

The model is asked outside of any transaction, by whoever holds the claim (memory/notes/claims.py).
"""

import datetime as dt
import logging

from django.conf import settings
from django.db import transaction
from django.db.models import Exists, F, Max, OuterRef, Subquery
from django.db.models.functions import Coalesce
from django.utils import dateformat, timezone, translation

from chat.models import ChatSession
from memory.documents import write
from memory.documents.write import Append, Author, Separator, Source
from memory.models import Errand, Flush, MemoryDocument, content_hash
from memory.notes import errands
from memory.notes.claims import IMPORTED, TRIES, Claim, ClaimLost, held, in_words, is_noted, locked, postpone, take
from memory.notes.summary import extract, summarise
from memory.policy import reasons, switches, tombstones
from memory.policy.access import own_space
from memory.policy.same_words import without
from memory.policy.secrets import masked
from memory.prompt.sent import text_sent
from oneclaw.llm.failures import ModelFailure

logger = logging.getLogger(__name__)


class NotWritten(Exception):
    """What was read back from the log is not what was written."""


@transaction.atomic
def request(session: ChatSession, reason: str) -> Flush | None:
    """There is a queued flush of the session's unflushed messages from now on; None when there is nothing to flush."""
    kept = locked(session.pk)
    if kept is None or not is_noted(kept):
        return None
    queued = kept.flushes.filter(status=Flush.Status.QUEUED).first()
    if queued is not None:
        return queued
    spoken_for = kept.flushes.aggregate(through=Max("through_seq"))["through"] or kept.copied_seq
    if kept.last_complete_seq() <= spoken_for:
        return None
    return Flush.objects.create(owner=kept.owner, session=kept, space=own_space(kept), reason=reason)


def run(flush_id: int) -> int | None:
    """Do this flush, if it is due and nobody else does. Returns the session's next one, if that is due at once.

    A failure is written into the row, and the flush is due again a little later.
    """
    claim = take(flush_id)
    if claim is None:
        return None
    try:
        notes, summarised = _notes(claim)
        finish(claim, notes, summarised=summarised)
    except ClaimLost:
        logger.warning("Flush %s was taken over, or its conversation deleted.", flush_id)
        return None
    except ModelFailure as failure:
        logger.warning("Flush %s failed and is tried again: %s", flush_id, failure)
        postpone(claim, failure)
        return None
    except Exception as error:
        logger.exception("Flush %s failed and is tried again.", flush_id)
        postpone(claim, error)
        return None
    following = claim.session.flushes.due().filter(status=Flush.Status.QUEUED).first()
    return following.pk if following else None


@transaction.atomic
def finish(claim: Claim, notes: str, *, summarised: bool = True) -> Flush:
    """Append the notes to the log of the day, see that they stand there, and move the watermark: all or nothing."""
    flush = held(claim)
    if notes:
        flush.revision = _append(flush, claim, notes)
    flush.status = Flush.Status.DONE if notes else Flush.Status.NOTHING
    flush.summarised, flush.error = summarised, "" if summarised else flush.error
    flush.token, flush.lease_until, flush.finished_at = None, None, timezone.now()
    flush.save()
    errands.request(claim.session, Errand.Kind.RECENT, claim.through_seq)
    if claim.more and not claim.session.flushes.filter(status=Flush.Status.QUEUED).exists():
        Flush.objects.create(owner=flush.owner, session=flush.session, space=flush.space, reason=flush.reason)
    return flush


def cover_imported(session: ChatSession) -> None:
    """What came out of a file is not noted: the watermark of this new session stands behind it. In its transaction."""
    if session.mode != ChatSession.Mode.AGENT:
        return
    Flush.objects.create(
        owner=session.owner,
        session=session,
        space=own_space(session),
        after_seq=0,
        through_seq=session.last_seq,
        day=session.owner.day(),
        status=Flush.Status.NOTHING,
        reason=IMPORTED,
        finished_at=timezone.now(),
    )


def idle(now: dt.datetime | None = None, limit: int = 1000) -> list[ChatSession]:
    """Conversations in which nobody has written for IDLE_MINUTES and of which messages are neither noted nor queued,
    the longest idle first."""
    latest = (now or timezone.now()) - dt.timedelta(minutes=settings.IDLE_MINUTES)
    flushes = Flush.objects.filter(session=OuterRef("pk"))
    spoken_for = flushes.filter(through_seq__isnull=False).order_by("-through_seq").values("through_seq")[:1]
    kept = ChatSession.objects.filter(mode=ChatSession.Mode.AGENT, deleted_at=None, active_at__lt=latest)
    kept = kept.exclude(owner__in=switches.people_without(switches.Switch.SAVED))
    unnoted = kept.filter(last_seq__gt=Coalesce(Subquery(spoken_for), F("copied_seq")))
    waiting = flushes.filter(status=Flush.Status.QUEUED)
    return list(unnoted.exclude(Exists(waiting)).order_by("active_at")[:limit])


def due(limit: int = 1000) -> list[int]:
    """The flushes that somebody should take up now, the longest due first."""
    return list(Flush.objects.due().values_list("pk", flat=True)[:limit])


def log_path(day: dt.date) -> str:
    return f"memory/{day:%Y-%m-%d}.md"


def _notes(claim: Claim) -> tuple[str, bool]:
    """The notes without secrets and without what was recalled or forgotten, and whether the model wrote them."""
    notes, summarised = _written(claim)
    notes, _ = masked(notes)
    # What the conversation has from memory is no news.
    return without(tombstones.of_space(claim.space_id).without(notes), text_sent(claim.session)), summarised


def _written(claim: Claim) -> tuple[str, bool]:
    said = claim.said
    if claim.attempts > TRIES:
        return extract(said), False
    try:
        return summarise(said, claim.day), True
    except ModelFailure as failure:
        if claim.attempts < TRIES:
            raise
        logger.warning("Flush %s has no summary after %s tries: %s", claim.flush_id, TRIES, failure)
        Flush.objects.filter(pk=claim.flush_id, token=claim.token).update(error=in_words(failure))
        return extract(said), False


def _append(flush: Flush, claim: Claim, notes: str) -> write.MemoryRevision:
    last = claim.messages[-1]
    at, title = claim.session.owner.local(last.created_at), tombstones.named(flush.space_id, claim.session.name)
    section = f"## {at:%H:%M} {title}\n\n{notes}\n"
    with translation.override("en"):
        opening = f"# {dateformat.format(claim.day, 'l, j F Y')}\n\n"
    opening = tombstones.of_space(flush.space_id).without(opening)
    author = Author(
        Source.FLUSH,
        claim.session.owner,
        message_id=last.pk,
        reason=reasons.NOTES % {"title": title},
        operation_key=f"flush:{claim.session.pk}:{claim.after_seq}",
    )
    operation = Append(section, Separator.PARAGRAPH, opening)
    revision = write.apply(flush.space, log_path(claim.day), operation, author)
    written = MemoryDocument.objects.get(space=flush.space, path=log_path(claim.day))
    if (
        revision is None
        or not written.content.endswith(section)
        or content_hash(written.content) != revision.content_hash
    ):
        raise NotWritten(f"{written.path} does not end with the notes that were written into it.")
    return revision
