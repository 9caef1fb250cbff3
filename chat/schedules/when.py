"""Parse the times of a task that a model writes as text, such as “weekdays 08:00”. Pure."""

import re
from dataclasses import dataclass

DAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
WORKING_DAYS = DAYS[:5]
# The ways to write them, as the description of the tool and the errors have them.
FORMS = '"daily 08:00", "weekdays 08:00", "monday, thursday 08:00", "monthly 15 08:00" or "2026-11-30 08:00"'
# Everything but the time of the day, which stands at the end.
PARTS = re.compile(r"(?P<days>\S.*?)\s+(?P<time>\S+)")
TIME = re.compile(r"(?:[01]\d|2[0-3]):[0-5]\d")
DATE = re.compile(r"\d{4}-\d\d-\d\d")
MONTHLY = re.compile(r"monthly\s+(?P<day>[1-9]|[12]\d|3[01])")


class WhenError(ValueError):
    """The text names no times; its message says what is wrong, in English."""


@dataclass(frozen=True)
class When:
    """When a task is due: `repeat` is daily, weekly, monthly or once, `time` HH:MM, `days` names of weekdays, `day` one
    of the month, `date` the day of a task that runs once."""

    repeat: str
    time: str
    days: tuple[str, ...] = ()
    day: int | None = None
    date: str | None = None


def parsed_when(text: str) -> When:
    """Return the times that `text` names in one of FORMS, in any case. Raise WhenError for every other text."""
    parts = PARTS.fullmatch(text.strip().lower())
    if parts is None:
        raise WhenError(f"“{text}” is not a time. Write {FORMS}.")
    days, time = parts["days"], parts["time"]
    if TIME.fullmatch(time) is None:
        raise WhenError(f"“{time}” is not a time of the day: end with HH:MM from 00:00 to 23:59, as in {FORMS}.")
    if days == "daily":
        return When("daily", time)
    if days == "weekdays":
        return When("weekly", time, WORKING_DAYS)
    if DATE.fullmatch(days):
        return When("once", time, date=days)
    if days.startswith("monthly"):
        monthly = MONTHLY.fullmatch(days)
        if monthly is None:
            raise WhenError(f"“{days}” names no day of the month: write monthly and a day from 1 to 31, as in {FORMS}.")
        return When("monthly", time, day=int(monthly["day"]))
    names = tuple(dict.fromkeys(name.strip() for name in re.split(r",|(?<![\s,])\s++and\s", days)))
    unknown = next((name for name in names if name not in DAYS), None)
    if unknown is not None:
        raise WhenError(f"“{unknown}” is no day that is known here. Write {FORMS}.")
    return When("weekly", time, names)
