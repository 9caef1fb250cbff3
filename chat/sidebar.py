"""The list of a person's conversations, by the days on which they were last active."""

import datetime as dt
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import groupby

from django.utils.formats import date_format
from django.utils.translation import gettext as _

from chat.models import ChatSession
from oneclaw.models import User

# Conversations that the list shows at first, and when somebody asks for older ones.
LISTED, LISTED_WITH_OLDER = 100, 5000

Group = tuple[str, list[ChatSession]]


@dataclass(frozen=True)
class Listing:
    """The list as it is shown: (when, conversations), newest first, on the person's own calendar."""

    groups: list[Group]
    has_older: bool
    # Whether the older ones were asked for.
    older: bool


def listing(user: User, *, older: bool = False) -> Listing:
    most = LISTED_WITH_OLDER if older else LISTED
    found = list(ChatSession.objects.visible_to(user).listed().only("title", "active_at")[: most + 1])
    return Listing(by_day(found[:most], user), len(found) > most, older)


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
