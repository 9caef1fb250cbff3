"""A session's messages become notes in the log of their day: late, retried, doubled or crashed, each exactly once.

    flush = request(session, "switched")        # any trigger, any number of times
    run(flush.pk)                               # any worker, any number of times

What a session decides about its flushes, it decides under the session's row lock. The model is asked outside of any
transaction, by whoever holds the claim's token.
"""

import datetime as dt
import logging
import uuid
from dataclasses import dataclass

from django.conf import settings
from django.db import transaction
from django.db.models import Max
from django.utils import dateformat, timezone, translation

from chat.models import ChatSession, Message
from memory import documents
from memory.documents import Append, Author, Separator, Source
from memory.models import Flush, MemoryDocument, content_hash
from memory.summary import Said, extract, summarise
from oneclaw.failures import ModelFailure
from oneclaw.models import Space

logger = logging.getLogger(__name__)

# After so many tries an extract is written instead of the model's notes, so that the day is never empty.
TRIES = 5
# Seconds from one failure to the next try.
DELAYS = (15, 60, 300, 900)
# Characters of messages that one flush covers, so that they fit the model's context; a longer range becomes several.
LONGEST_RANGE = 120_000


class ClaimLost(Exception):
    """Somebody else holds this flush now, because this claim's time was over; or its conversation was deleted."""


class NotWritten(Exception):
    """What was read back from the log is not what was written."""


@dataclass(frozen=True)
class Claim:
    """The right to finish one flush, and what is to be noted."""

    flush_id: int
    token: uuid.UUID
    session: ChatSession
    after_seq: int
    through_seq: int
    day: dt.date
    attempts: int
    # Whether messages that were complete at the time of the claim lie behind the range.
    more: bool
    messages: list[Message]

    @property
    def said(self) -> list[Said]:
        spoken = (message for message in self.messages if message.active and message.role != Message.Role.TOOL)
        local = self.session.owner.local
        return [Said(line.role, local(line.created_at), line.text) for line in spoken if line.text.strip()]


@transaction.atomic
def request(session: ChatSession, reason: str) -> Flush | None:
    """There is a queued flush of the session's unflushed messages from now on; None when there is nothing to flush."""
    kept = _locked(session.pk)
    if kept is None:
        return None
    queued = kept.flushes.filter(status=Flush.Status.QUEUED).first()
    if queued is not None:
        return queued
    spoken_for = kept.flushes.aggregate(through=Max("through_seq"))["through"] or 0
    if kept.last_complete_seq() <= spoken_for:
        return None
    return Flush.objects.create(owner=kept.owner, session=kept, space=Space.objects.own_of(kept.owner), reason=reason)


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
        _postpone(claim, failure)
        return None
    except Exception as error:
        logger.exception("Flush %s failed and is tried again.", flush_id)
        _postpone(claim, error)
        return None
    following = claim.session.flushes.due().filter(status=Flush.Status.QUEUED).first()
    return following.pk if following else None


def covered_through(session: ChatSession) -> int:
    """The watermark: the number of the last message that a finished flush covers; 0 before the first."""
    return session.flushes.finished().aggregate(through=Max("through_seq"))["through"] or 0


@transaction.atomic
def take(flush_id: int) -> Claim | None:
    """Claim a flush that is due, or whose claim has run out. None when there is nothing to do."""
    session_id = Flush.objects.filter(pk=flush_id).values_list("session_id", flat=True).first()
    if session_id is None:
        return None
    session = _locked(session_id)
    flush = Flush.objects.due().select_for_update().filter(pk=flush_id).first()
    if flush is None:
        return None
    if session is None:
        flush.delete()
        return None
    if flush.status == Flush.Status.QUEUED:
        if session.flushes.filter(status=Flush.Status.RUNNING).exists():
            return None
        after = covered_through(session)
    else:
        after = flush.after_seq or 0
    complete = session.last_complete_seq()
    messages = _range(session, after, flush.through_seq or complete)
    if not messages:
        flush.delete()
        return None
    now = timezone.now()
    flush.after_seq, flush.through_seq = after, messages[-1].seq
    flush.day = session.owner.day(messages[0].created_at)
    flush.status, flush.token, flush.attempts = Flush.Status.RUNNING, uuid.uuid4(), flush.attempts + 1
    flush.lease_until = now + dt.timedelta(seconds=settings.FLUSH_LEASE_SECONDS)
    flush.save()
    return Claim(
        flush_id=flush.pk,
        token=flush.token,
        session=session,
        after_seq=after,
        through_seq=flush.through_seq,
        day=flush.day,
        attempts=flush.attempts,
        more=flush.through_seq < complete,
        messages=messages,
    )


@transaction.atomic
def finish(claim: Claim, notes: str, *, summarised: bool = True) -> Flush:
    """Append the notes to the log of the day, see that they stand there, and move the watermark: all or nothing."""
    flush = _held(claim)
    if notes:
        flush.revision = _append(flush, claim, notes)
    flush.status = Flush.Status.DONE if notes else Flush.Status.NOTHING
    flush.summarised, flush.error = summarised, "" if summarised else flush.error
    flush.token, flush.lease_until, flush.finished_at = None, None, timezone.now()
    flush.save()
    if claim.more and not claim.session.flushes.filter(status=Flush.Status.QUEUED).exists():
        Flush.objects.create(owner=flush.owner, session=flush.session, space=flush.space, reason=flush.reason)
    return flush


def due(limit: int = 1000) -> list[int]:
    """The flushes that somebody should take up now, the longest due first."""
    return list(Flush.objects.due().values_list("pk", flat=True)[:limit])


def log_path(day: dt.date) -> str:
    return f"memory/{day:%Y-%m-%d}.md"


def _notes(claim: Claim) -> tuple[str, bool]:
    """The notes, and whether the model wrote them."""
    said = claim.said
    if claim.attempts > TRIES:
        return extract(said), False
    try:
        return summarise(said, claim.day), True
    except ModelFailure as failure:
        if claim.attempts < TRIES:
            raise
        logger.warning("Flush %s has no summary after %s tries: %s", claim.flush_id, TRIES, failure)
        Flush.objects.filter(pk=claim.flush_id, token=claim.token).update(error=_in_words(failure))
        return extract(said), False


def _append(flush: Flush, claim: Claim, notes: str) -> documents.MemoryRevision:
    last = claim.messages[-1]
    at, title = claim.session.owner.local(last.created_at), " ".join(str(claim.session).split())
    section = f"## {at:%H:%M} {title}\n\n{notes}\n"
    with translation.override("en"):
        opening = f"# {dateformat.format(claim.day, 'l, j F Y')}\n\n"
    author = Author(
        Source.FLUSH,
        claim.session.owner,
        message_id=last.pk,
        reason=f"Notes of “{title}”",
        operation_key=f"flush:{claim.session.pk}:{claim.after_seq}",
    )
    operation = Append(section, Separator.PARAGRAPH, opening)
    revision = documents.apply(flush.space, log_path(claim.day), operation, author)
    written = MemoryDocument.objects.get(space=flush.space, path=log_path(claim.day))
    if (
        revision is None
        or not written.content.endswith(section)
        or content_hash(written.content) != revision.content_hash
    ):
        raise NotWritten(f"{written.path} does not end with the notes that were written into it.")
    return revision


@transaction.atomic
def _postpone(claim: Claim, error: Exception) -> None:
    """Back into the queue, later. A flush that was asked for meanwhile is covered by this one."""
    try:
        flush = _held(claim)
    except ClaimLost:
        return
    claim.session.flushes.filter(status=Flush.Status.QUEUED).delete()
    delay = DELAYS[min(claim.attempts, len(DELAYS)) - 1]
    flush.status, flush.error = Flush.Status.QUEUED, _in_words(error)
    flush.after_seq = flush.through_seq = flush.day = flush.token = flush.lease_until = None
    flush.due_at = timezone.now() + dt.timedelta(seconds=delay)
    flush.save()


def _locked(session_id: uuid.UUID) -> ChatSession | None:
    """The session under its row lock; None when nothing of it is to be remembered."""
    kept = ChatSession.objects.filter(pk=session_id, mode=ChatSession.Mode.AGENT, deleted_at=None)
    return kept.select_related("owner").select_for_update(of=("self",), no_key=True).first()


def _held(claim: Claim) -> Flush:
    """The flush under its row lock, if the claim still holds and its session is still kept; ClaimLost otherwise."""
    session = _locked(claim.session.pk)
    flush = Flush.objects.select_for_update().filter(pk=claim.flush_id, token=claim.token).first()
    if session is None or flush is None:
        raise ClaimLost
    return flush


def _range(session: ChatSession, after: int, through: int) -> list[Message]:
    """The messages of the next flush: those of one day of the owner, and not more than fit the model's context."""
    messages: list[Message] = []
    size = 0
    rows = session.messages.filter(seq__gt=after, seq__lte=through).order_by("seq")
    for message in rows.only("seq", "role", "active", "text", "created_at", "session_id").iterator(chunk_size=500):
        size += len(message.text)
        if messages and size > LONGEST_RANGE:
            break
        if messages and session.owner.day(message.created_at) != session.owner.day(messages[0].created_at):
            break
        messages.append(message)
    return messages


def _in_words(error: Exception) -> str:
    return f"{type(error).__name__}: {error}"[:1000]
