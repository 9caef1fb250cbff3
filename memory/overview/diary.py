"""Compile one day of a diary: its daily log, what was remembered on it, its conversations, and the days next to it."""

import datetime as dt
from collections.abc import Iterable
from dataclasses import dataclass

from django.db.models import Max, Min, OuterRef, QuerySet, Subquery
from django.urls import reverse

from chat.models import ChatSession, Message
from memory.models import DocumentOverview, MemoryDocument
from memory.overview.about import written
from memory.overview.entries import Entry
from oneclaw.models import Space, User

# Conversations and entries that a day shows.
DAY_MAX_CONVERSATIONS, DAY_MAX_ENTRIES = 50, 50


@dataclass(frozen=True, slots=True)
class DayConversation:
    """A conversation with messages of the day: its name, when the first of them was written, and its address."""

    name: str
    begun_at: dt.datetime
    address: str


@dataclass(frozen=True)
class Remembered:
    """The entries of the curated memory with the days on which they were written, as the person counts days."""

    entries: list[Entry]
    days: dict[int, dt.date]

    def on(self, day: dt.date) -> list[Entry]:
        """Return the entries that were written on `day`, the newest first."""
        return [entry for entry in reversed(self.entries) if self.days.get(entry.revision) == day]


def remembered_in(overview: DocumentOverview | None, user: User) -> Remembered:
    """Return the entries of `overview`, which was read with its lists; none without one."""
    return Remembered(*written(overview, user)) if overview else Remembered([], {})


def conversations_on(user: User, space: Space, day: dt.date) -> list[DayConversation]:
    """Return the conversations of `space` that `user` may see and that have messages of people of `day`, the earliest
    first."""
    begin, end = bounds_of(user, day)
    said = Message.objects.filter(
        session=OuterRef("pk"), role=Message.Role.USER, active=True, created_at__gte=begin, created_at__lt=end
    ).order_by("seq")
    rows = (
        _conversations(user, space)
        .filter(active_at__gte=begin)
        .annotate(
            first_pk=Subquery(said.values("pk")[:1]),
            first_seq=Subquery(said.values("seq")[:1]),
            begun_at=Subquery(said.values("created_at")[:1]),
        )
        .exclude(begun_at=None)
        .order_by("begun_at", "pk")[:DAY_MAX_CONVERSATIONS]
    )
    return [
        DayConversation(
            session.name,
            session.begun_at,
            f"{reverse('conversation', args=[session.pk])}#message-{session.first_pk}@{session.first_seq}",
        )
        for session in rows
    ]


def neighbours_of(
    user: User, space: Space, day: dt.date, known: Iterable[dt.date], today: dt.date
) -> tuple[dt.date | None, dt.date | None]:
    """Return the last day before `day`, and the first one after it and up to `today`, with something to show.

    `known` are the days with notes or with something remembered. Of conversations, the day of the last activity counts.
    """
    begin, end = bounds_of(user, day)
    mine = _conversations(user, space).order_by()
    before = mine.filter(active_at__lt=begin).aggregate(last=Max("active_at"))["last"]
    after = mine.filter(active_at__gte=end).aggregate(first=Min("active_at"))["first"]
    days = {*known, today, *(user.day(moment) for moment in (before, after) if moment)}
    return (
        max((each for each in days if each < day), default=None),
        min((each for each in days if day < each <= today), default=None),
    )


def first_conversation_on(user: User, space: Space) -> dt.date | None:
    """Return the day of the last activity of the conversation that was left first; None without one."""
    first = _conversations(user, space).order_by().aggregate(first=Min("active_at"))["first"]
    return user.day(first) if first else None


def log_of(space: Space, day: dt.date) -> MemoryDocument | None:
    """Return the daily log of `day` in `space`; None without one."""
    return space.documents.present().filter(path=f"memory/{day}.md").first()


def bounds_of(user: User, day: dt.date) -> tuple[dt.datetime, dt.datetime]:
    """Return the moments at which `day` begins and ends for `user`."""
    begin = dt.datetime.combine(day, dt.time.min, tzinfo=user.zone)
    return begin, dt.datetime.combine(day + dt.timedelta(days=1), dt.time.min, tzinfo=user.zone)


def _conversations(user: User, space: Space) -> QuerySet[ChatSession]:
    """Return the conversations that belong in the diary of `space`: the person's own in their own memory, those shared
    with it in that of a shared space. An agent's memory has none of its own."""
    if space.kind == Space.Kind.OWN:
        return ChatSession.objects.visible_to(user).written().filter(owner=user)
    return ChatSession.objects.shared_with(user).written().filter(space=space)
