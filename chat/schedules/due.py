"""When schedules are due: moments from local times of a person's timezone. Pure.

A local time that a change to summer time leaves out is that much later on its day, and one that comes twice in autumn
counts once, the first time.
"""

import datetime as dt
import zoneinfo
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain

from dateutil.rrule import DAILY, MONTHLY, WEEKLY, rrule

EVERY_MIN_MINUTES, EVERY_MAX_MINUTES = 5, 1_440
DAY_MINUTES = 1_440
MONTH_MAX_DAYS = 31
MIDNIGHT = dt.time()


@dataclass(frozen=True)
class HeartbeatTimes:
    """The local times of heartbeats: `first`, and every `every_minutes` after it, before `until`.

    `until` may be on the next day; when it equals `first`, they come the whole day.
    """

    every_minutes: int
    first: dt.time
    until: dt.time

    @property
    def length_minutes(self) -> int:
        """Return the minutes from `first` to `until`."""
        return (_minutes(self.until) - _minutes(self.first)) % DAY_MINUTES or DAY_MINUTES

    def walls(self, day: dt.date) -> Iterator[dt.datetime]:
        """Yield the local times of those that begin with `first` on `day`, in order."""
        first = dt.datetime.combine(day, self.first)
        for minutes in range(0, self.length_minutes, self.every_minutes):
            yield first + dt.timedelta(minutes=minutes)


@dataclass(frozen=True)
class TaskTimes:
    """The local times of a task: on each day, on `days` of each week (Monday is 0), on a day of each month, or once.

    In a month without the day `month_day` it is due on the last day.
    """

    repeat: str
    at: dt.time
    days: Sequence[int] = ()
    month_day: int | None = None
    on: dt.date | None = None

    def walls(self, day: dt.date) -> Iterator[dt.datetime]:
        """Yield the local times from `day` on, in order."""
        if self.on is not None:
            yield from [dt.datetime.combine(self.on, self.at)] if self.on >= day else []
            return
        start = dt.datetime.combine(day, self.at)
        match self.repeat:
            case "daily":
                yield from rrule(DAILY, dtstart=start)
            case "weekly":
                yield from rrule(WEEKLY, dtstart=start, byweekday=sorted(self.days))
            case "monthly":
                last = self.month_day or 1
                yield from rrule(MONTHLY, dtstart=start, bymonthday=range(min(last, 28), last + 1), bysetpos=-1)
            case _:
                raise ValueError(f"There is no repetition “{self.repeat}”.")


def next_heartbeat(times: HeartbeatTimes, after: dt.datetime, zone: zoneinfo.ZoneInfo) -> dt.datetime:
    """Return the first moment of a heartbeat later than `after` (aware)."""
    # Those of the day before may reach into this one.
    today = after.astimezone(zone).date()
    days = (today + dt.timedelta(days=number) for number in range(-1, 4))
    walls = chain.from_iterable(times.walls(day) for day in days)
    return next(moment for wall in walls if (moment := moment_of(wall, zone)) > after)


def next_task(times: TaskTimes, after: dt.datetime, zone: zoneinfo.ZoneInfo) -> dt.datetime | None:
    """Return the first moment of a task later than `after` (aware); None when there is none."""
    yesterday = after.astimezone(zone).date() - dt.timedelta(days=1)
    return next((moment for wall in times.walls(yesterday) if (moment := moment_of(wall, zone)) > after), None)


def is_within(times: HeartbeatTimes, moment: dt.datetime, zone: zoneinfo.ZoneInfo) -> bool:
    """Return whether `moment` (aware) lies in the hours of heartbeats."""
    since_first = (_minutes(moment.astimezone(zone).time()) - _minutes(times.first)) % DAY_MINUTES
    return since_first < times.length_minutes


def moment_of(wall: dt.datetime, zone: zoneinfo.ZoneInfo) -> dt.datetime:
    """Return the moment of the local time `wall` (naive) in `zone`, in UTC."""
    return wall.replace(tzinfo=zone, fold=0).astimezone(dt.UTC)


def day_began(moment: dt.datetime, zone: zoneinfo.ZoneInfo) -> dt.datetime:
    """Return when the local day of `moment` (aware) began."""
    return moment_of(dt.datetime.combine(moment.astimezone(zone).date(), MIDNIGHT), zone)


def is_month_day(day: int) -> bool:
    """Return whether any month has the day `day`."""
    return 1 <= day <= MONTH_MAX_DAYS


def _minutes(time: dt.time) -> int:
    return time.hour * 60 + time.minute
