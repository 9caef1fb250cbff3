"""Who flushes what: the claim on a range of a session's messages.

What a session decides about its flushes, it decides under the session's row lock, so that two who come at once see
one another. A claim carries a token; whoever comes back after his time finds that it is no longer valid.
"""

import datetime as dt
import uuid
from dataclasses import dataclass

from django.conf import settings
from django.db import transaction
from django.db.models import Max
from django.utils import timezone

from chat.models import ChatSession, Message
from memory.models import Flush
from memory.notes.summary import Said
from memory.policy import switches
from memory.policy.access import locked
from memory.policy.tombstones import of_space

# Seconds from one failure to the next try.
DELAYS = (15, 60, 300, 900)
# After so many tries what the model should have written is put together without it.
TRIES = 5
# Characters of messages that one flush covers, so that they fit the model's context; a longer range becomes several.
LONGEST_RANGE = 120_000
# The reason of a flush that covers what came out of a file, of which nothing is ever noted.
IMPORTED = "imported"


class ClaimLost(Exception):
    """Somebody else holds this flush now, because this claim's time was over; or its conversation was deleted, or its
    owner has switched saved memory off."""


@dataclass(frozen=True)
class Claim:
    """The right to finish one flush, and what is to be noted."""

    flush_id: int
    token: uuid.UUID
    session: ChatSession
    space_id: int
    after_seq: int
    through_seq: int
    day: dt.date
    attempts: int
    # Whether messages that were complete at the time of the claim lie behind the range.
    more: bool
    messages: list[Message]
    # The ones of them that may be noted: what was said while saved memory was off may not.
    noted: frozenset[int]

    @property
    def said(self) -> list[Said]:
        """What was said, without what the person has had forgotten."""
        known = of_space(self.space_id)
        spoken = (message for message in self.messages if message.active and message.role != Message.Role.TOOL)
        spoken = (message for message in spoken if message.pk in self.noted)
        local = self.session.owner.local
        return [
            Said(line.role, local(line.created_at), known.unsaid(line.text)) for line in spoken if line.text.strip()
        ]


@transaction.atomic
def take(flush_id: int) -> Claim | None:
    """Claim a flush that is due, or whose claim has run out. None when there is nothing to do."""
    session_id = Flush.objects.filter(pk=flush_id).values_list("session_id", flat=True).first()
    if session_id is None:
        return None
    session = locked(session_id)
    flush = Flush.objects.due().select_for_update().filter(pk=flush_id).first()
    if flush is None:
        return None
    if session is None or not is_noted(session):
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
        space_id=flush.space_id,
        after_seq=after,
        through_seq=flush.through_seq,
        day=flush.day,
        attempts=flush.attempts,
        more=flush.through_seq < complete,
        messages=messages,
        noted=_noted(session, messages),
    )


def held(claim: Claim) -> Flush:
    """The flush under its row lock, if the claim still holds and its session is still kept; ClaimLost otherwise."""
    session = locked(claim.session.pk)
    flush = Flush.objects.select_for_update().filter(pk=claim.flush_id, token=claim.token).first()
    if session is None or flush is None or not is_noted(session):
        raise ClaimLost
    return flush


@transaction.atomic
def postpone(claim: Claim, error: Exception) -> None:
    """Back into the queue, later. A flush that was asked for meanwhile is covered by this one."""
    try:
        flush = held(claim)
    except ClaimLost:
        return
    claim.session.flushes.filter(status=Flush.Status.QUEUED).delete()
    delay = DELAYS[min(claim.attempts, len(DELAYS)) - 1]
    flush.status, flush.error = Flush.Status.QUEUED, in_words(error)
    flush.after_seq = flush.through_seq = flush.day = flush.token = flush.lease_until = None
    flush.due_at = timezone.now() + dt.timedelta(seconds=delay)
    flush.save()


def covered_through(session: ChatSession) -> int:
    """The watermark: the number of the last message that a finished flush covers, or that is a copy of what is noted
    where it was said; 0 before the first."""
    return session.flushes.finished().aggregate(through=Max("through_seq"))["through"] or session.copied_seq


def imported_through(session: ChatSession) -> int:
    """The number of the last message that came out of a file; 0 when none did."""
    return session.flushes.filter(reason=IMPORTED).aggregate(through=Max("through_seq"))["through"] or 0


def is_noted(session: ChatSession) -> bool:
    """Whether notes of the session may be written now."""
    return switches.is_on(session.owner, switches.Switch.SAVED)


def _noted(session: ChatSession, messages: list[Message]) -> frozenset[int]:
    rows = session.messages.filter(pk__in=[message.pk for message in messages])
    while_on = switches.said_while_on(rows, session.owner, switches.Switch.SAVED)
    return frozenset(while_on.values_list("pk", flat=True))


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


def in_words(error: Exception) -> str:
    return f"{type(error).__name__}: {error}"[:1000]
