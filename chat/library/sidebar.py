"""The sidebar: a person's pinned conversations, folders, and the other conversations grouped by day."""

import datetime as dt
import functools
import uuid
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any, TypeVar

from django.db import connection
from django.db.models import F, Q, QuerySet
from django.db.models.functions import Coalesce
from django.utils.formats import date_format
from django.utils.translation import gettext as _

from chat.models import ChatSession, Folder
from chat.models.conversations import name_of
from chat.models.sharing.people import member_row
from oneclaw.models import User

# The size of a page, which the list shows at first and adds with each scroll to its end; and the limit of a list that
# is rendered again.
PAGE_SESSIONS, LIST_MAX_SESSIONS = 100, 1000
# Limit of the pinned conversations and those in folders; the page of all conversations has all of them.
FILED_MAX_SESSIONS = 500
# An id that no account has.
ANYONE_ID = -1
# The columns and annotations of ListedSession, in its order.
COLUMNS = (
    *("id", "title", "active_at", "last_seq", "shared_at"),
    *("my_read_seq", "my_pinned_at", "my_folder", "space_name"),
)


@dataclass(frozen=True)
class ListedSession:
    """A conversation in a person's list."""

    id: uuid.UUID
    title: str
    active_at: dt.datetime
    last_seq: int
    shared_at: dt.datetime | None
    # What the person keeps of it: the newest message that they have seen, when they pinned it, and its folder.
    read_seq: int
    pinned_at: dt.datetime | None
    folder_id: int | None
    # The space that it is in.
    space_name: str | None

    @property
    def name(self) -> str:
        return name_of(self.title)

    @property
    def is_unread(self) -> bool:
        return self.last_seq > self.read_seq


Group = tuple[str, list[ListedSession]]


S = TypeVar("S", ChatSession, ListedSession)


@dataclass(frozen=True)
class OlderSessions:
    """One page of the conversations that are neither pinned nor in a folder, newest first."""

    groups: list[Group]
    # The cursor of the next page; "" on the last page.
    after: str
    # The heading of the last conversation of the previous page, which is not repeated; "" on the first page.
    before: str


@dataclass(frozen=True)
class Listing(OlderSessions):
    """The whole list, each part newest first, by the days of the person's time zone."""

    pinned: list[ListedSession]
    folders: list[tuple[Folder, list[ListedSession]]]

    @property
    def is_empty(self) -> bool:
        return not (self.pinned or self.folders or self.groups)


@dataclass(frozen=True)
class ListCursor:
    """A cursor: the last conversation of a page and its time, because the conversation may have moved up since."""

    active_at: dt.datetime
    session_id: uuid.UUID

    @classmethod
    def of(cls, session: "ChatSession | ListedSession") -> "ListCursor":
        """Return the cursor of a page that ends with `session`."""
        return cls(session.active_at, session.id)

    @classmethod
    def read(cls, text: str) -> "ListCursor":
        """Return the cursor whose str() is `text`. Raise ValueError for any other text."""
        moment, _, session_id = text.partition("_")
        edge = cls(dt.datetime.fromisoformat(moment), uuid.UUID(session_id))
        # The first and last year have no day in every time zone.
        if edge.active_at.tzinfo is None or not dt.MINYEAR < edge.active_at.year < dt.MAXYEAR:
            raise ValueError("no moment of a conversation")
        return edge

    def __str__(self) -> str:
        return f"{self.active_at.astimezone(dt.UTC):%Y-%m-%dT%H:%M:%S.%fZ}_{self.session_id}"


def listing(user: User, *, most: int = PAGE_SESSIONS) -> Listing:
    """Return the beginning of the list, with `most` conversations that are not pinned or in a folder. Two queries."""
    found = newest(user, most)
    pinned = [session for session in found if session.pinned_at]
    filed = [session for session in found if session.folder_id and not session.pinned_at]
    rest = [session for session in found if not session.folder_id and not session.pinned_at]
    folders = [
        (folder, [session for session in filed if session.folder_id == folder.pk])
        for folder in Folder.objects.filter(owner=user)
    ]
    return Listing(by_day(rest[:most], user), next_cursor(rest, most), "", pinned, folders)


def newest(user: User, most: int) -> list[ListedSession]:
    """Return the pinned conversations and those in folders, and `most` + 1 of the others, newest first."""
    statement, parameters = _newest_statement(most)
    with connection.cursor() as cursor:
        cursor.execute(statement, [user.pk if each == ANYONE_ID else each for each in parameters])
        return [ListedSession(*row) for row in cursor.fetchall()]


@functools.lru_cache(maxsize=16)
def _newest_statement(most: int) -> tuple[str, tuple[Any, ...]]:
    """Return the statement of `newest` and its parameters, in which ANYONE_ID is in place of the person's id.

    It is built once, because that takes longer than the database needs for it (benchmarks/pages.py).
    """
    user = User(pk=ANYONE_ID)
    own, others = begun(user), of_others(user)
    parts = [
        own.filter(Q(pinned_at__isnull=False) | Q(folder__isnull=False))[:FILED_MAX_SESSIONS],
        others.filter(Q(my_pinned_at__isnull=False) | Q(my_folder__isnull=False))[:FILED_MAX_SESSIONS],
        own.filter(pinned_at=None, folder=None)[: most + 1],
        others.filter(Q(my_pinned_at=None, my_folder=None))[: most + 1],
    ]
    return in_order(parts[0].union(*parts[1:], all=True)).query.sql_with_params()


def older(user: User, edge: ListCursor) -> OlderSessions:
    """Return the page after the cursor `edge`. One query."""
    until = Q(active_at__lte=edge.active_at) & ~Q(active_at=edge.active_at, id__gte=edge.session_id)
    own = begun(user).filter(until, pinned_at=None, folder=None)[: PAGE_SESSIONS + 1]
    others = of_others(user).filter(until, Q(my_pinned_at=None, my_folder=None))[: PAGE_SESSIONS + 1]
    found = rows_of(own.union(others, all=True))[: PAGE_SESSIONS + 1]
    before = day_heading(user.day(edge.active_at), user.day())
    return OlderSessions(by_day(found[:PAGE_SESSIONS], user), next_cursor(found, PAGE_SESSIONS), before)


def rows_of(found: QuerySet[ChatSession, tuple[Any, ...]]) -> list[ListedSession]:
    """Return the rows of `found`, which has the columns of the list, newest activity first."""
    return [ListedSession(*row) for row in in_order(found)]


def in_order(found: QuerySet[ChatSession, tuple[Any, ...]]) -> QuerySet[ChatSession, tuple[Any, ...]]:
    """Return `found` newest activity first."""
    return found.order_by("-active_at", "-id")


def begun(user: User) -> QuerySet[ChatSession, tuple[Any, ...]]:
    """Return the listed conversations that the person has begun, as the columns of the list."""
    own = ChatSession.objects.visible_to(user).filter(owner=user).listed()
    mine = {"my_read_seq": F("read_seq"), "my_pinned_at": F("pinned_at"), "my_folder": F("folder_id")}
    return own.annotate(**mine, space_name=F("space__name")).values_list(*COLUMNS)


def of_others(user: User) -> QuerySet[ChatSession, tuple[Any, ...]]:
    """Return the listed conversations that others have shared with the person, as the columns of the list."""
    shared = ChatSession.objects.shared_with(user).exclude(owner=user).alias(place=member_row(user))
    listed = shared.filter(Q(place__archived_at=None)).written()
    mine = {"my_read_seq": Coalesce(F("place__read_seq"), 0), "my_pinned_at": F("place__pinned_at")}
    found = listed.annotate(**mine, my_folder=F("place__folder_id"), space_name=F("space__name"))
    return found.values_list(*COLUMNS)


def next_cursor(found: "Sequence[ChatSession] | Sequence[ListedSession]", most: int) -> str:
    """Return the cursor after the first `most` of `found`; "" when there are no more."""
    return str(ListCursor.of(found[most - 1])) if len(found) > most else ""


def by_day(sessions: Iterable[S], user: User) -> list[tuple[str, list[S]]]:
    """Return `sessions`, which are in order, grouped under the headings of their days."""
    today = user.day()
    heading = functools.cache(lambda day: day_heading(day, today))
    return [
        (when, list(of_then))
        for when, of_then in groupby(sessions, key=lambda session: heading(user.day(session.active_at)))
    ]


def day_heading(day: dt.date, today: dt.date) -> str:
    """Return the heading of `day` in the list; older days share one."""
    age = (today - day).days
    if age <= 0:
        return _("Today")
    if age == 1:
        return _("Yesterday")
    if age <= 7:
        return _("Previous 7 days")
    if age <= 30:
        return _("Previous 30 days")
    return date_format(day, "YEAR_MONTH_FORMAT")
