"""Claim the range of a session's messages that one flush covers, so that no other flush covers them.

A range ends at the midnight of its owner, so that one flush writes into the log of one day. Every decision about the
flushes of a session is made under the session's row lock, so that two concurrent workers see each other's rows. The
claim itself is that of every job (oneclaw/jobs.py).
"""

import datetime as dt
import uuid
from dataclasses import dataclass

from django.conf import settings
from django.db import transaction
from django.db.models import Max

from chat.models import ChatSession, Message
from memory.access.decided import MemoryAccess
from memory.access.load import locked_accesses
from memory.access.transcripts import said_while_on
from memory.models import Flush
from memory.notes.summary import TranscriptEntry
from memory.policy.switches import Switch
from memory.policy.tombstones import of_space
from oneclaw import llm
from oneclaw.jobs import ClaimLostError
from oneclaw.models import Space

# Calls of the model before its text is replaced by a fallback that needs no model.
MODEL_MAX_ATTEMPTS = 5
# Text of one flush, so that it fits the model's context; a longer range becomes several flushes.
RANGE_MAX_CHARS = 120_000


class MovedError(Exception):
    """The conversation was shared or made private after its flush was claimed, so its notes go into another space."""


@dataclass(frozen=True)
class Claim:
    """The right to finish one flush, with its range of messages, and the space that its notes go into."""

    flush: Flush
    access: MemoryAccess
    after_seq: int
    through_seq: int
    day: dt.date
    # Whether complete messages followed the range at the time of the claim.
    more: bool
    messages: list[Message]
    # Ids of the messages that may be noted: those that were said while saved memory was on.
    noted: frozenset[int]

    @property
    def session(self) -> ChatSession:
        """Return the conversation."""
        return self.access.session

    @property
    def space(self) -> Space:
        """Return the space that the notes go into."""
        return self.access.home.space

    @property
    def said(self) -> list[TranscriptEntry]:
        """Return the messages to be noted, without forgotten words."""
        known = of_space(self.space.pk)
        spoken = (message for message in self.messages if message.active and message.is_said)
        spoken = (message for message in spoken if message.pk in self.noted)
        # Words in the person's place that they have not written are not noted as theirs.
        spoken = (message for message in spoken if message.is_by_person or message.role != Message.Role.USER)
        others = frozenset[int]() if self.access.is_of_space else self.of_others
        local = self.session.owner.local
        return [
            TranscriptEntry(
                line.role,
                local(line.created_at),
                known.without_forgotten_words(line.text),
                self.name(line),
                known.without_forgotten_words(line.typed_text),
            )
            for line in spoken
            if line.text.strip() and line.pk not in others
        ]

    @property
    def of_others(self) -> frozenset[int]:
        """Return the ids of what other people said, while the conversation was shared, and of the answers to them."""
        found, is_others = set(), False
        for message in self.messages:
            if message.role == Message.Role.USER:
                is_others = message.author_id not in (None, self.session.owner_id)
            if is_others:
                found.add(message.pk)
        return frozenset(found)

    def name(self, message: Message) -> str:
        """Return the name of the person who wrote `message` of a shared conversation; "" in a private one."""
        if self.access.person or message.role != Message.Role.USER:
            return ""
        return str(message.author or self.session.owner)


@transaction.atomic
def claim_flush(flush_id: int) -> Claim | None:
    """Claim the flush `flush_id`, if it is due, and return the claim; None when there is nothing to do."""
    session_id = Flush.objects.due().filter(pk=flush_id).values_list("session_id", flat=True).first()
    if session_id is None:
        return None
    access = noted(session_id)
    flush = Flush.objects.due().filter(pk=flush_id).first()
    if flush is None:
        return None
    if access is None:
        flush.delete()
        return None
    session = access.session
    if session.flushes.running().exclude(pk=flush_id).exists():
        return None
    after = covered_through(session) if flush.after_seq is None else flush.after_seq
    complete = session.last_complete_seq()
    messages = _range(access, after, flush.through_seq or complete)
    if not messages:
        flush.delete()
        return None
    through, day = messages[-1].seq, session.owner.day(messages[0].created_at)
    # Where its notes go is decided now: it may have been shared since the flush was requested.
    claimed = Flush.objects.claim(flush_id, after_seq=after, through_seq=through, day=day, space=access.notes_to)
    if claimed is None:
        return None
    return Claim(
        flush=claimed,
        access=access,
        after_seq=after,
        through_seq=through,
        day=day,
        more=through < complete,
        messages=messages,
        noted=_noted(access, messages),
    )


def lock_claim(claim: Claim) -> MemoryAccess:
    """Lock the session and the flush of `claim` until the end of the transaction, and return the access now.

    Raise ClaimLostError when another worker has claimed the flush, or when the session may no longer be noted.
    """
    access = noted(claim.session.pk)
    if access is None:
        raise ClaimLostError
    claim.flush.renew()
    return access


@transaction.atomic
def put_back(claim: Claim, error: Exception) -> None:
    """Queue the flush again for later, with `error` in its row. It replaces any other queued flush of the session.

    Raise ClaimLostError when the claim is no longer valid.
    """
    lock_claim(claim)
    claim.session.flushes.queued().delete()
    claim.flush.put_back(error, after_seq=None, through_seq=None, day=None)


def covered_through(session: ChatSession) -> int:
    """Return the watermark: the sequence number of the last message that needs no flush; 0 before the first.

    That is the last message that a finished flush covers or, without one, the last copy of a message of another
    conversation, whose own flush notes it.
    """
    return session.flushes.finished().aggregate(through=Max("through_seq"))["through"] or session.copied_seq


def noted(session_id: uuid.UUID) -> MemoryAccess | None:
    """Lock the session and return its access; None when notes of it may not be written now."""
    access = locked_accesses([session_id]).get(session_id)
    return access if access and access.notes_to else None


def _range(access: MemoryAccess, after: int, through: int) -> list[Message]:
    """Return the messages of the next flush: up to the owner's midnight, and at most RANGE_MAX_CHARS characters, or
    fewer when they would not fit the model's window."""
    session, most = access.session, llm.prompt_chars(settings.FAST_MODEL, RANGE_MAX_CHARS)
    messages: list[Message] = []
    size = 0
    rows = session.messages.filter(seq__gt=after, seq__lte=through).order_by("seq")
    columns = ("seq", "role", "active", "text", "meta", "created_at", "session_id", "author")
    found = rows.select_related("author") if access.is_of_space else rows.only(*columns)
    for message in found.iterator(chunk_size=500):
        size += len(message.text)
        if messages and size > most:
            break
        if messages and session.owner.day(message.created_at) != session.owner.day(messages[0].created_at):
            break
        messages.append(message)
    return messages


def _noted(access: MemoryAccess, messages: list[Message]) -> frozenset[int]:
    rows = access.session.messages.filter(pk__in=[message.pk for message in messages])
    return frozenset(said_while_on(access, rows, Switch.SAVED).values_list("pk", flat=True))
