"""The list of a person's conversations: pinned ones, folders, and the rest by the days on which they were active."""

import datetime as dt
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import groupby

from django.db.models import Q
from django.utils.formats import date_format
from django.utils.translation import gettext as _

from chat.models import ChatSession, Folder
from oneclaw.models import User

# Conversations that the list shows at first, and when somebody asks for older ones.
LISTED, LISTED_WITH_OLDER = 100, 5000
# Pinned and filed ones that it shows; all of them are on the page of all conversations.
MOST_APART = 500
COLUMNS = ("title", "active_at", "pinned_at", "folder", "last_seq", "read_seq")

Group = tuple[str, list[ChatSession]]


@dataclass(frozen=True)
class Listing:
    """The list as it is shown, each part newest first, on the person's own calendar."""

    pinned: list[ChatSession]
    folders: list[tuple[Folder, list[ChatSession]]]
    # (when, conversations)
    groups: list[Group]
    has_older: bool
    # Whether the older ones were asked for.
    older: bool

    @property
    def is_empty(self) -> bool:
        return not (self.pinned or self.folders or self.groups)


def listing(user: User, *, older: bool = False) -> Listing:
    """Two queries, however many conversations there are."""
    most = LISTED_WITH_OLDER if older else LISTED
    own = ChatSession.objects.visible_to(user).listed().only(*COLUMNS)
    apart = own.filter(Q(pinned_at__isnull=False) | Q(folder__isnull=False))[:MOST_APART]
    found = list(apart.union(own.filter(pinned_at=None, folder=None)[: most + 1], all=True).order_by("-active_at"))
    pinned = [session for session in found if session.pinned_at]
    filed = [session for session in found if session.folder_id and not session.pinned_at]
    rest = [session for session in found if not session.folder_id and not session.pinned_at]
    folders = [
        (folder, [session for session in filed if session.folder_id == folder.pk]) for folder in user.folders.all()
    ]
    return Listing(pinned, folders, by_day(rest[:most], user), len(rest) > most, older)


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
        return _("Last seven days")
    if age <= 30:
        return _("Last thirty days")
    return date_format(day, "YEAR_MONTH_FORMAT")
