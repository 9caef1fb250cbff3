"""The times of a schedule as a sentence in the language of the reader."""

import datetime as dt

from django.utils.dates import WEEKDAYS
from django.utils.formats import date_format
from django.utils.text import get_text_list
from django.utils.translation import gettext as _

from chat.models import Schedule
from chat.schedules.changes import TaskDraft

WORKING_DAYS = [0, 1, 2, 3, 4]


def sentence_of(schedule: Schedule | TaskDraft) -> str:
    """Return when `schedule` is due, such as “Every Monday at 08:00”."""
    if isinstance(schedule, Schedule) and schedule.is_heartbeat:
        return _heartbeat_sentence(schedule)
    time = clock_time(schedule.at or dt.time())
    if schedule.on is not None:
        return _("Once, on %(date)s at %(time)s") % {"date": date_format(schedule.on, "DATE_FORMAT"), "time": time}
    if schedule.repeat == "monthly":
        return _("On day %(day)s of every month at %(time)s") % {"day": schedule.month_day, "time": time}
    if schedule.repeat == "weekly" and list(schedule.days) == WORKING_DAYS:
        return _("Every weekday at %(time)s") % {"time": time}
    if schedule.repeat == "weekly" and len(schedule.days) < len(WEEKDAYS):
        days = get_text_list([str(WEEKDAYS[day]) for day in schedule.days], _("and"))
        return _("Every %(days)s at %(time)s") % {"days": days, "time": time}
    return _("Every day at %(time)s") % {"time": time}


def _heartbeat_sentence(schedule: Schedule) -> str:
    params = {
        "minutes": schedule.every_minutes,
        "first": clock_time(schedule.from_time),
        "until": clock_time(schedule.until_time),
    }
    if schedule.from_time == schedule.until_time:
        return _("Every %(minutes)s minutes, day and night") % params
    return _("Every %(minutes)s minutes from %(first)s to %(until)s") % params


def clock_time(time: dt.time) -> str:
    """Return `time` as 08:00, in every language."""
    return f"{time:%H:%M}"
