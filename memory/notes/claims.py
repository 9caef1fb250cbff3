"""Claim the range of a session's messages that one flush covers, so that no other flush covers them.

A range ends at the midnight of its owner, so that one flush writes into the log of one day. Every decision about the
flushes of a session is made under the session's row lock, so that two concurrent workers see each other's rows. The
claim itself is that of every job (oneclaw/jobs.py).
"""

import datetime as dt
from contextlib import suppress
from dataclasses import dataclass

from django.conf import settings
from django.db import transaction
from django.db.models import Max

from chat.models import ChatSession, Message
from memory.models import Flush
from memory.notes.summary import TranscriptEntry
from memory.policy import switches
from memory.policy.access import lock_session
from memory.policy.tombstones import of_space
from oneclaw import llm
from oneclaw.jobs import ClaimLostError

# Calls of the model before its text is replaced by a fallback that needs no model.
MODEL_MAX_ATTEMPTS = 5
# Text of one flush, so that it fits the model's context; a longer range becomes several flushes.
RANGE_MAX_CHARS = 120_000
ERROR_MAX_CHARS = 1000


@dataclass(frozen=True)
class Claim:
    """The right to finish one flush, with its range of messages."""

    flush: Flush
    session: ChatSession
    after_seq: int
    through_seq: int
    day: dt.date
    # Whether complete messages followed the range at the time of the claim.
    more: bool
    messages: list[Message]
    # Ids of the messages that may be noted: those that were said while saved memory was on.
    noted: frozenset[int]

    @property
    def said(self) -> list[TranscriptEntry]:
        """Return the messages to be noted, without forgotten words."""
        known = of_space(self.flush.space_id)
        spoken = (message for message in self.messages if message.active and message.is_said)
        spoken = (message for message in spoken if message.pk in self.noted)
        # Words in the person's place that they have not written are not noted as theirs.
        spoken = (message for message in spoken if message.is_by_person or message.role != Message.Role.USER)
        local = self.session.owner.local
        return [
            TranscriptEntry(line.role, local(line.created_at), known.without_forgotten_words(line.text))
            for line in spoken
            if line.text.strip()
        ]


@transaction.atomic
def claim_flush(flush_id: int) -> Claim | None:
    """Claim the flush `flush_id`, if it is due, and return the claim; None when there is nothing to do."""
    session_id = Flush.objects.due().filter(pk=flush_id).values_list("session_id", flat=True).first()
    if session_id is None:
        return None
    session = lock_session(session_id)
    flush = Flush.objects.due().filter(pk=flush_id).first()
    if flush is None:
        return None
    if session is None or not is_noted(session):
        flush.delete()
        return None
    if session.flushes.running().exclude(pk=flush_id).exists():
        return None
    after = covered_through(session) if flush.after_seq is None else flush.after_seq
    complete = session.last_complete_seq()
    messages = _range(session, after, flush.through_seq or complete)
    if not messages:
        flush.delete()
        return None
    through, day = messages[-1].seq, session.owner.day(messages[0].created_at)
    claimed = Flush.objects.claim(flush_id, after_seq=after, through_seq=through, day=day)
    if claimed is None:
        return None
    return Claim(
        flush=claimed,
        session=session,
        after_seq=after,
        through_seq=through,
        day=day,
        more=through < complete,
        messages=messages,
        noted=_noted(session, messages),
    )


def lock_claim(claim: Claim) -> None:
    """Lock the session and the flush of `claim` until the end of the transaction.

    Raise ClaimLostError when another worker has claimed the flush, or when the session may no longer be noted.
    """
    session = lock_session(claim.session.pk)
    if session is None or not is_noted(session):
        raise ClaimLostError
    claim.flush.heartbeat()


def postpone(claim: Claim, error: Exception) -> None:
    """Queue the flush again for later, with `error` in its row. It replaces any other queued flush of the session."""
    with suppress(ClaimLostError), transaction.atomic():
        lock_claim(claim)
        claim.session.flushes.queued().delete()
        if isinstance(error, llm.BudgetUsedUpError):
            claim.flush.wait(error.wait_seconds, error_text(error), after_seq=None, through_seq=None, day=None)
        else:
            claim.flush.postpone(error_text(error), after_seq=None, through_seq=None, day=None)


def covered_through(session: ChatSession) -> int:
    """Return the watermark: the sequence number of the last message that needs no flush; 0 before the first.

    That is the last message that a finished flush covers or, without one, the last copy of a message of another
    conversation, whose own flush notes it.
    """
    return session.flushes.finished().aggregate(through=Max("through_seq"))["through"] or session.copied_seq


def is_noted(session: ChatSession) -> bool:
    """Return whether notes of `session` may be written now."""
    return switches.is_on(session.owner, switches.Switch.SAVED)


def error_text(error: Exception) -> str:
    """Return the text about `error` for the row of a job."""
    return f"{type(error).__name__}: {error}"[:ERROR_MAX_CHARS]


def _range(session: ChatSession, after: int, through: int) -> list[Message]:
    """Return the messages of the next flush: up to the owner's midnight, and at most RANGE_MAX_CHARS characters, or
    fewer when they would not fit the model's window."""
    most = llm.prompt_chars(settings.FAST_MODEL, RANGE_MAX_CHARS)
    messages: list[Message] = []
    size = 0
    rows = session.messages.filter(seq__gt=after, seq__lte=through).order_by("seq")
    columns = ("seq", "role", "active", "text", "meta", "created_at", "session_id")
    for message in rows.only(*columns).iterator(chunk_size=500):
        size += len(message.text)
        if messages and size > most:
            break
        if messages and session.owner.day(message.created_at) != session.owner.day(messages[0].created_at):
            break
        messages.append(message)
    return messages


def _noted(session: ChatSession, messages: list[Message]) -> frozenset[int]:
    rows = session.messages.filter(pk__in=[message.pk for message in messages])
    while_on = switches.said_while_on(rows, session.owner, switches.Switch.SAVED)
    return frozenset(while_on.values_list("pk", flat=True))
