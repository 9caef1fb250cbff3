"""When a conversation of a route is replaced by a new one: the arithmetic of daily and idle resets. Pure.

    daily   at the first `hour` o'clock of the person's clock after they began the conversation
    idle    `minutes` after they wrote last

Only what the person writes counts, so a scheduled turn or another conversation never keeps one open.
"""

import datetime as dt
import zoneinfo
from dataclasses import dataclass
from typing import Literal

Cause = Literal["daily", "idle"]
# A day that a time zone leaves out has no hour: at most two local days follow the date of a moment until the next one.
TRIED_DAYS = 3


@dataclass(frozen=True)
class ResetRule:
    """Which resets a route has, and their numbers."""

    daily: bool
    idle: bool
    hour: int
    minutes: int


@dataclass(frozen=True)
class ResetDue:
    """When a reset is due, and of which kind it is."""

    at: dt.datetime
    cause: Cause


def first_due(
    rule: ResetRule, zone: zoneinfo.ZoneInfo, started_at: dt.datetime, last_person_at: dt.datetime
) -> ResetDue | None:
    """Return the first reset that is due of a conversation that the person began at `started_at`; None when none is.

    Of two at the same moment, the daily one counts.
    """
    due = []
    if rule.daily:
        due.append(ResetDue(next_hour(started_at, rule.hour, zone), "daily"))
    if rule.idle:
        due.append(ResetDue(last_person_at + dt.timedelta(minutes=rule.minutes), "idle"))
    return min(due, key=lambda each: each.at, default=None)


def next_hour(after: dt.datetime, hour: int, zone: zoneinfo.ZoneInfo) -> dt.datetime:
    """Return the first moment after `after` at which the clock of `zone` begins to show `hour` o'clock, in UTC.

    An hour that the clock shows twice counts the first time. One that it leaves out is the moment at which it is put
    forward.
    """
    day = after.astimezone(zone).date()
    moments = (
        dt.datetime.combine(day + dt.timedelta(days=days), dt.time(hour), zone).astimezone(dt.UTC)
        for days in range(TRIED_DAYS)
    )
    return next(moment for moment in moments if moment > after)
