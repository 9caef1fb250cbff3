"""The list of a person's conversations, by the days on which they were last active."""

import datetime as dt
from collections.abc import Iterable
from itertools import groupby

from django.utils.formats import date_format
from django.utils.translation import gettext as _

from chat.models import ChatSession
from oneclaw.models import User

# Conversations that the sidebar shows at once.
LISTED = 100


def groups(user: User) -> list[tuple[str, list[ChatSession]]]:
    """(when, conversations), newest first, on the person's own calendar."""
    return by_day(ChatSession.objects.visible_to(user).listed().only("title", "active_at")[:LISTED], user)


def by_day(sessions: Iterable[ChatSession], user: User) -> list[tuple[str, list[ChatSession]]]:
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
