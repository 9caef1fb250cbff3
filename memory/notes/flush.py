"""Write notes of a session's messages into the log of their day, exactly once in spite of delays, retries and crashes.

    flush = request(session, "switched")        # any trigger, any number of times
    run(flush.pk)                               # any worker, any number of times

The model is called outside of any transaction, by the worker that holds the claim (memory/notes/claims.py).
"""

import datetime as dt
import logging
import uuid
from collections.abc import Mapping, Sequence
from functools import partial

from django.conf import settings
from django.db import transaction
from django.db.models import Exists, F, Max, OuterRef, Subquery
from django.db.models.functions import Coalesce
from django.utils import dateformat, translation

from chat.models import ChatSession
from memory.access.decided import MemoryAccess
from memory.access.load import access_of, locked_accesses
from memory.access.transcripts import of_notes
from memory.documents import write
from memory.documents.write import Append, Author, Separator, Source
from memory.models import DocumentJob, Flush, MemoryDocument, MemoryRevision, content_hash
from memory.notes import document_jobs
from memory.notes.claims import (
    MODEL_MAX_ATTEMPTS,
    Claim,
    MovedError,
    claim_flush,
    lock_claim,
    put_back,
)
from memory.notes.own_words import PartedNotes, parted
from memory.notes.payers import payer_of_notes
from memory.notes.summary import extract, summarise
from memory.policy import tombstones
from memory.policy.imported import IMPORTED, title_for_memory
from memory.policy.same_words import without_lines_of
from memory.policy.secrets import masked
from memory.prompt.sent import text_sent
from memory.trust import suggestions
from memory.trust.rule import SourceText
from memory.trust.sources import sent_until
from oneclaw.jobs import DueJob, error_text
from oneclaw.llm.failures import BudgetUsedUpError, ModelRequestError
from oneclaw.models import Spend, clock
from oneclaw.reasons import Reason

logger = logging.getLogger(__name__)


class NotWrittenError(Exception):
    """The log does not end with the notes that were just appended to it."""


@transaction.atomic
def request(session: ChatSession, reason: str) -> Flush | None:
    """Return the queued flush of the unflushed messages of `session`; None when there are none. Idempotent.

    An answer that is still being written counts: the flush is due once it has ended.
    """
    return request_all(locked_accesses([session.pk]), reason).get(session.pk)


def request_all(locked: Mapping[uuid.UUID, MemoryAccess], reason: str) -> dict[uuid.UUID, Flush]:
    """Return the queued flushes of the unflushed messages of these conversations, whose rows are locked, by their ids.
    Idempotent."""
    kept = {pk: access for pk, access in locked.items() if access.notes_to}
    found: dict[uuid.UUID, Flush] = {
        queued.session_id: queued for queued in Flush.objects.queued().filter(session__in=kept)
    }
    rest = [access.session for pk, access in kept.items() if pk not in found]
    covered = Flush.objects.filter(session__in=rest, through_seq__isnull=False).values_list("session")
    requested = dict(covered.annotate(through=Max("through_seq")))
    made = [
        Flush(owner=session.owner, session=session, space=kept[session.pk].notes_to, reason=reason)
        for session in rest
        if session.last_seq > requested.get(session.pk, session.copied_seq)
    ]
    return found | {flush.session_id: flush for flush in Flush.objects.bulk_create(made)}


def run(flush_id: int) -> DueJob | None:
    """Do the flush `flush_id`, if it is due and no other worker has claimed it.

    Return the session's next flush, if that is due now. An error is stored in the row, and the flush becomes
    due again later.
    """
    claim = claim_flush(flush_id)
    if claim is None:
        return None
    with claim.flush.attempt(MovedError, ModelRequestError, faults=(Exception,), put_back=partial(put_back, claim)):
        with claim.flush.renewals():
            notes, failure = _notes(claim)
            sent = sent_until(claim.access, claim.through_seq, claim.after_seq)
            # An extract has only words that were typed.
            parts = parted(notes, sent) if failure is None else PartedNotes(notes)
        finish(claim, parts.own, failure, parts.waiting, is_foreign=bool(sent.foreign))
        following = claim.session.flushes.due().queued().first()
        return DueJob(following.pk) if following else None
    return None


@transaction.atomic
def finish(
    claim: Claim,
    notes: str,
    failure: str | None = None,
    waiting: Sequence[tuple[str, SourceText]] = (),
    *,
    is_foreign: bool = False,
) -> None:
    """Append `notes` to the log of the day, check that they are there, and move the watermark, in one transaction.

    The lines `waiting`, each with its source, become suggestions; `is_foreign`: the conversation holds foreign text.
    `failure` says why the notes are an extract; None
    when the model wrote them. Raise ClaimLostError when the claim was lost, MovedError when the notes belong into
    another space by now, and NotWrittenError when the check fails.
    """
    if lock_claim(claim).notes_to != claim.space:
        raise MovedError
    flush = claim.flush
    revision = _append(claim, notes, is_foreign=is_foreign) if notes else None
    for line, source in waiting:
        path = log_path(claim.day)
        suggestions.wait(claim.space, path, line, source, claim.session, claim.messages[-1].pk)
    status = Flush.Status.DONE if notes else Flush.Status.NOTHING
    known = tombstones.of_space(claim.space.pk)
    error = "" if failure is None or known.is_in_text(failure) else failure
    flush.finish(status, error, revision=revision, summarised=failure is None)
    document_jobs.request(claim.session, DocumentJob.Kind.RECENT, claim.through_seq)
    if claim.more and not claim.session.flushes.queued().exists():
        Flush.objects.create(owner=flush.owner, session=claim.session, space=claim.space, reason=flush.reason)


def cover_imported(session: ChatSession, after_seq: int) -> None:
    """Move the watermark of a session past the messages after `after_seq`, which were imported and are not noted. When
    what was said here before them is not noted yet, it stays, and they are noted with it.

    Must be called in the transaction that imports them.
    """
    if session.mode != ChatSession.Mode.AGENT:
        return
    noted_through = Flush.objects.filter(session=session).aggregate(last=Max("through_seq"))["last"] or 0
    if noted_through < after_seq:
        return
    Flush.objects.create(
        owner=session.owner,
        session=session,
        space=access_of(session).home.space,
        after_seq=after_seq,
        through_seq=session.last_seq,
        day=session.owner.day(),
        status=Flush.Status.NOTHING,
        reason=IMPORTED,
        finished_at=clock.database_now(),
    )


def idle(now: dt.datetime | None = None, limit: int = 1000) -> list[ChatSession]:
    """Return up to `limit` conversations that were idle for IDLE_MINUTES at `now` and have messages that are neither
    noted nor queued, the longest idle first."""
    latest = (now or clock.database_now()) - dt.timedelta(minutes=settings.IDLE_MINUTES)
    flushes = Flush.objects.filter(session=OuterRef("pk"))
    requested = flushes.filter(through_seq__isnull=False).order_by("-through_seq").values("through_seq")[:1]
    unnoted = of_notes().filter(active_at__lt=latest, last_seq__gt=Coalesce(Subquery(requested), F("copied_seq")))
    waiting = flushes.filter(status=Flush.Status.QUEUED)
    return list(unnoted.exclude(Exists(waiting)).order_by("active_at")[:limit])


def log_path(day: dt.date) -> str:
    """Return the path of the daily log of `day`."""
    return f"memory/{day:%Y-%m-%d}.md"


def _notes(claim: Claim) -> tuple[str, str | None]:
    """Return the notes, without secrets, forgotten lines and lines that came from memory; and why the model did not
    write them, or None."""
    notes, failure = _written(claim)
    notes, _ = masked(notes)
    # Text that memory or a summary gave to the conversation is not noted again.
    known = text_sent(claim.session, claim.after_seq)
    return without_lines_of(tombstones.of_space(claim.space.pk).without(notes), known), failure


def _written(claim: Claim) -> tuple[str, str | None]:
    said, flush = claim.said, claim.flush
    if flush.attempts > MODEL_MAX_ATTEMPTS:
        return extract(said), flush.error
    try:
        payer = payer_of_notes(flush, Spend.Purpose.NOTES)
        return summarise(said, claim.day, payer, of_team=claim.access.is_of_space), None
    except ModelRequestError as failure:
        if flush.attempts < MODEL_MAX_ATTEMPTS or isinstance(failure, BudgetUsedUpError):
            raise
        logger.warning("Flush %s has no summary after %s attempts: %s", flush.pk, flush.attempts, failure)
        return extract(said), error_text(failure)


def _append(claim: Claim, notes: str, *, is_foreign: bool) -> MemoryRevision:
    last = claim.messages[-1]
    at = claim.session.owner.local(last.created_at)
    title = tombstones.title_without_forgotten(claim.space.pk, title_for_memory(claim.session))
    section = f"## {at:%H:%M} {title}\n\n{notes}\n"
    with translation.override("en"):
        heading = f"# {dateformat.format(claim.day, 'l, j F Y')}\n\n"
    heading = tombstones.of_space(claim.space.pk).without(heading)
    author = Author(
        Source.FLUSH,
        # What several people said has no one author.
        claim.access.person,
        message_id=last.pk,
        reason=Reason("change.notes", {"title": title}),
        operation_key=f"flush:{claim.session.pk}:{claim.after_seq}",
        is_foreign=is_foreign,
    )
    operation = Append(section, Separator.PARAGRAPH, heading)
    revision = write.apply(claim.space, log_path(claim.day), operation, author)
    written = MemoryDocument.objects.get(space=claim.space, path=log_path(claim.day))
    if (
        revision is None
        or not written.content.endswith(section)
        or content_hash(written.content) != revision.content_hash
    ):
        raise NotWrittenError(f"{written.path} does not end with the notes that were written into it.")
    return revision
