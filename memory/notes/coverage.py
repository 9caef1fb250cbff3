"""Report which messages are noted: up to what time a daily log covers its day, and the state of each message."""

import datetime as dt
import re
from dataclasses import dataclass

from django.db.models import F, Max, Q
from django.db.models.functions import Coalesce

from chat.models import ChatSession, Message
from memory.access.load import access_of
from memory.models import Flush, MemoryDocument
from memory.notes.claims import covered_through
from memory.policy.imported import IMPORTED
from oneclaw.models import User

DAILY_LOG_PATH = re.compile(r"memory/(\d{4}-\d{2}-\d{2})\.md")
COPIED_REASON = "copies of another conversation, which notes them"


@dataclass(frozen=True)
class DayCoverage:
    """How much of a day its log covers: every message before `until` (None: no message yet).

    `waiting` is the number of messages that are not in the log.
    """

    until: dt.datetime | None
    waiting: int


@dataclass(frozen=True)
class CoverageRange:
    """The state of the messages `first` to `last` of a conversation.

    `state` is covered, running, queued, open or skipped; `why` is the reason in words.
    """

    first: int
    last: int
    state: str
    why: str


def of_document(document: MemoryDocument) -> DayCoverage | None:
    """Return the coverage of a daily log; None for every other document, and for logs of shared spaces."""
    found = DAILY_LOG_PATH.fullmatch(document.path)
    if found is None or document.space.kind != "own":
        return None
    try:
        return of_day(document.space.owner, dt.date.fromisoformat(found[1]))
    except ValueError:
        return None


def of_day(user: User, day: dt.date) -> DayCoverage:
    """Return the coverage of `day` over all conversations of `user` that are noted, in the time zone of `user`."""
    begin = dt.datetime.combine(day, dt.time.min, tzinfo=user.zone)
    end = dt.datetime.combine(day + dt.timedelta(days=1), dt.time.min, tzinfo=user.zone)
    kept = ChatSession.objects.private_to(user).filter(mode=ChatSession.Mode.AGENT).exclude(kind=ChatSession.Kind.BEAT)
    of_kept = Message.objects.filter(session__in=kept, created_at__gte=begin, created_at__lt=end)
    finished = Q(session__flushes__status__in=[Flush.Status.DONE, Flush.Status.NOTHING])
    through = Coalesce(Max("session__flushes__through_seq", filter=finished), "session__copied_seq")
    marked = of_kept.annotate(through=through)
    open_ones = marked.filter(through__lt=F("seq")).order_by("created_at")
    covered = marked.filter(through__gte=F("seq"))
    first_open = open_ones.values_list("created_at", flat=True).first()
    if first_open is not None:
        covered = covered.filter(created_at__lt=first_open)
    last = covered.order_by("-created_at").values_list("created_at", flat=True).first()
    return DayCoverage(user.local(last) if last else None, open_ones.count() if first_open else 0)


def of_session(session: ChatSession) -> list[CoverageRange]:
    """Return the state of every message of the conversation, as consecutive ranges in order."""
    if session.last_seq == 0:
        return []
    if session.mode != ChatSession.Mode.AGENT:
        return [CoverageRange(1, session.last_seq, "skipped", f"this conversation {session.get_mode_display()}")]
    copied = [CoverageRange(1, session.copied_seq, "skipped", COPIED_REASON)] if session.copied_seq else []
    parts = copied + [
        CoverageRange(flush.after_seq + 1, flush.through_seq, *_became(flush))
        for flush in session.flushes.filter(through_seq__isnull=False).order_by("after_seq")
        if flush.after_seq is not None and flush.through_seq is not None
    ]
    after = max((part.last for part in parts), default=covered_through(session))
    if after < session.last_seq:
        parts.append(CoverageRange(after + 1, session.last_seq, *_what_follows(session)))
    return parts


def _became(flush: Flush) -> tuple[str, str]:
    match flush.status:
        case Flush.Status.DONE if flush.summarised:
            return "covered", f"noted on {flush.day}"
        case Flush.Status.DONE:
            return "covered", f"noted on {flush.day} without a summary: {flush.error}"
        case Flush.Status.NOTHING if flush.reason == IMPORTED:
            return "skipped", "imported conversations are not noted"
        case Flush.Status.NOTHING:
            return "skipped", "nothing in it was worth keeping"
        case _:
            return "running", "is being noted"


def _what_follows(session: ChatSession) -> tuple[str, str]:
    if session.deleted_at is not None:
        return "skipped", "the conversation was deleted before they were noted"
    if access_of(session).notes_to is None:
        return "skipped", "saved memory is switched off"
    queued = session.flushes.queued().first()
    if queued is None:
        return "open", "noted when the conversation is left, ended or idle"
    if queued.error:
        return "queued", f"tried {queued.attempts} times, again after {queued.due_at:%H:%M} UTC: {queued.error}"
    if session.turns.running().exists():
        return "queued", f"waits for the answer that is being written ({queued.reason})"
    return "queued", f"waits for a worker ({queued.reason})"
