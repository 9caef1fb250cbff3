"""The list of a person's conversations: pinned ones, folders, and the rest by the days on which they were active."""

import datetime as dt
import uuid
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby

from django.db.models import Q, QuerySet
from django.utils.formats import date_format
from django.utils.translation import gettext as _

from chat.models import ChatSession, ChatSessionQuerySet, Folder
from oneclaw.models import User

# Conversations that the list shows at first, as many as it gets with each scroll to its end; and all that it is made of
# at once.
LISTED, MOST_LISTED = 100, 1000
# Pinned and filed ones that it shows; all of them are on the page of all conversations.
MOST_APART = 500
COLUMNS = ("title", "active_at", "pinned_at", "folder", "last_seq", "read_seq")

Group = tuple[str, list[ChatSession]]


@dataclass(frozen=True)
class Older:
    """Conversations of the list that are neither pinned nor filed, newest first, and where the next ones begin."""

    groups: list[Group]
    # What is asked for the next ones with; "" when these are the last.
    after: str
    # When the one right before them was, which needs no heading again; "" at the beginning.
    before: str


@dataclass(frozen=True)
class Listing(Older):
    """The list as it is shown, each part newest first, on the person's own calendar."""

    pinned: list[ChatSession]
    folders: list[tuple[Folder, list[ChatSession]]]

    @property
    def is_empty(self) -> bool:
        return not (self.pinned or self.folders or self.groups)


@dataclass(frozen=True)
class Edge:
    """Behind which conversation a part of the list ends, which may have moved up since: the time says where it was."""

    active_at: dt.datetime
    session_id: uuid.UUID

    @classmethod
    def of(cls, session: ChatSession) -> "Edge":
        return cls(session.active_at, session.pk)

    @classmethod
    def read(cls, text: str) -> "Edge":
        """The inverse of str(); ValueError for anything else."""
        moment, _, session_id = text.partition("_")
        edge = cls(dt.datetime.fromisoformat(moment), uuid.UUID(session_id))
        # At the ends of the calendar there is no day of the person's own.
        if edge.active_at.tzinfo is None or not dt.MINYEAR < edge.active_at.year < dt.MAXYEAR:
            raise ValueError("no moment of a conversation")
        return edge

    def __str__(self) -> str:
        return f"{self.active_at.astimezone(dt.UTC):%Y-%m-%dT%H:%M:%S.%fZ}_{self.session_id}"


def listing(user: User, *, most: int = LISTED) -> Listing:
    """The beginning of the list, with `most` older ones. Two queries, however many conversations there are."""
    found = newest(user, most)
    pinned = [session for session in found if session.pinned_at]
    filed = [session for session in found if session.folder_id and not session.pinned_at]
    rest = [session for session in found if not session.folder_id and not session.pinned_at]
    folders = [
        (folder, [session for session in filed if session.folder_id == folder.pk])
        for folder in Folder.objects.filter(owner=user)
    ]
    return Listing(by_day(rest[:most], user), after(rest, most), "", pinned, folders)


def newest(user: User, most: int) -> QuerySet[ChatSession]:
    """Return what is pinned or filed, and `most` of the other conversations and one more, the newest first."""
    own = shown(user)
    apart = own.filter(Q(pinned_at__isnull=False) | Q(folder__isnull=False))[:MOST_APART]
    both = apart.union(own.filter(pinned_at=None, folder=None)[: most + 1], all=True)
    return both.order_by("-active_at", "-id")


def older(user: User, edge: Edge) -> Older:
    """The next LISTED ones. One query."""
    until = shown(user).filter(pinned_at=None, folder=None, active_at__lte=edge.active_at)
    found = list(until.exclude(active_at=edge.active_at, id__gte=edge.session_id)[: LISTED + 1])
    before = name_of(user.day(edge.active_at), user.day())
    return Older(by_day(found[:LISTED], user), after(found, LISTED), before)


def shown(user: User) -> ChatSessionQuerySet:
    return ChatSession.objects.visible_to(user).listed().only(*COLUMNS)


def after(found: Sequence[ChatSession], most: int) -> str:
    """Where the next ones begin behind the first `most` of those that were found; "" when there are no more."""
    return str(Edge.of(found[most - 1])) if len(found) > most else ""


def by_day(sessions: Iterable[ChatSession], user: User) -> list[Group]:
    today = user.day()
    return [
        (when, list(of_then))
        for when, of_then in groupby(sessions, key=lambda session: name_of(user.day(session.active_at), today))
    ]


def name_of(day: dt.date, today: dt.date) -> str:
    """What a day is called in the list: the further back, the coarser."""
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
