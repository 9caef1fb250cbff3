"""Find the day of a plan in a line of memory, such as an appointment: to show it before, and to ask about it when it
has passed. Pure."""

import datetime as dt
import re
from collections.abc import Iterator
from dataclasses import dataclass

from memory.text.dates import ISO, MONTHS

_MONTH = "(?P<month>" + "|".join(sorted(MONTHS, key=len, reverse=True)) + r")\b\.?"
_YEAR = r"(?:,?\s+(?:de\s+)?(?P<year>\d{4}))?"
PATTERNS = [
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        rf"\b(?P<day>\d{{1,2}})(?:st|nd|rd|th|er|\.)?(?:\s+(?:of|de))?\s+{_MONTH}{_YEAR}",
        rf"\b{_MONTH}\s+(?P<day>\d{{1,2}})(?:st|nd|rd|th)?\b{_YEAR}",
        r"(?<!\d)(?P<day>\d{1,2})\.(?P<month>\d{1,2})\.(?P<year>\d{4})?(?!\d)",
        r"(?:(?P<year>\d{4})年)?(?P<month>\d{1,2})月(?P<day>\d{1,2})[日号]",
    )
]
# Days that come again, or that are about the past.
RECURRING = re.compile(
    r"\b(?:birthday|born|anniversary|every|each|yearly|annual\w*|since|geburtstag|geboren|jede[nrs]?|jährlich|"
    r"jahrestag|seit|anniversaire|née?|chaque|depuis|cumpleaños|naci\w+|cada|aniversario|desde)\b"
    r"|誕生日|生まれ|毎|以来|から|記念日|生日|出生|每|以来|纪念日",
    re.IGNORECASE,
)
# Days that come again each year.
YEARLY = re.compile(
    r"\b(?:birthday|born|anniversary|yearly|annual\w*|geburtstag|geboren|jährlich|jahrestag|hochzeitstag|anniversaire|"
    r"née?|cumpleaños|naci\w+|aniversario)\b|誕生日|生まれ|記念日|生日|出生|纪念日",
    re.IGNORECASE,
)
# A month without a day, as in "in March".
MONTH_ALONE = re.compile(
    rf"\b(?:in|by|im|ab|bis|en|em|fin)\s+{_MONTH}(?!\s*\d{{1,2}}\b(?!\d)){_YEAR}"
    r"|(?:(?P<cjk_year>\d{4})年)?(?P<cjk_month>\d{1,2})月(?!\s*\d)",
    re.IGNORECASE,
)
# A line without any of these names no day.
MAY_NAME_A_DAY = re.compile(r"\d|\b(?:" + "|".join(sorted({name[:3] for name in MONTHS})) + ")", re.IGNORECASE)


# A plan stands at the beginning of its line.
PLAN_MAX_CHARS = 4_000


@dataclass(frozen=True, order=True, slots=True)
class ComingDay:
    """The day on which something in a line is due. With `is_month` it is the first of a month, which is all that the
    line names."""

    day: dt.date
    is_month: bool = False


def coming_day(line: str, written: dt.date, today: dt.date) -> ComingDay | None:
    """Return the first day from `today` on that `line` names; None without one.

    A day without a year is the next one after the line was `written`; birthdays and the like come again each year.
    """
    line = line[:PLAN_MAX_CHARS]
    if not MAY_NAME_A_DAY.search(line):
        return None
    if YEARLY.search(line):
        found = [again for day in _days(line, today) for again in [_from(day, today)]]
    elif RECURRING.search(line):
        return None
    else:
        found = [day for day in _days(line, written) if day >= today]
    if found:
        return ComingDay(min(found))
    months = [month for month in _months(line, written) if (month.year, month.month) >= (today.year, today.month)]
    return ComingDay(min(months), is_month=True) if months else None


def passed_day(line: str, written: dt.date, today: dt.date) -> dt.date | None:
    """Return the last day of the plan in `line`, if it was still to come when the line was `written` and has passed.

    A day without a year is the next one after `written`. None for days that come again, such as birthdays.
    """
    line = line[:PLAN_MAX_CHARS]
    if RECURRING.search(line):
        return None
    last = max(_days(line, written), default=None)
    return last if last is not None and written <= last < today else None


def _days(line: str, written: dt.date) -> Iterator[dt.date]:
    found = [tuple(map(int, parts)) for parts in ISO.findall(line)]
    for year, month, day in found:
        yield from _day(year, month, day)
    for match in (match for pattern in PATTERNS for match in pattern.finditer(line)):
        name = match["month"].lower()
        month = int(name) if name.isdigit() else MONTHS[name]
        if match["year"]:
            yield from _day(int(match["year"]), month, int(match["day"]))
        else:
            years = (written.year, written.year + 1)
            coming = [day for year in years for day in _day(year, month, int(match["day"])) if day >= written]
            yield from coming[:1]


def _months(line: str, written: dt.date) -> Iterator[dt.date]:
    """Yield the first day of each month that `line` names without a day. Without a year, it is the next one after
    `written`, or the same."""
    for match in MONTH_ALONE.finditer(line):
        name = (match["month"] or match["cjk_month"]).lower()
        month, year = int(name) if name.isdigit() else MONTHS[name], match["year"] or match["cjk_year"]
        yield from _day(int(year) if year else written.year + (month < written.month), month, 1)


def _from(day: dt.date, today: dt.date) -> dt.date:
    """Return the next return of `day`, from `today` on. 29 February comes again on the 28th."""
    leap = (day.month, day.day) == (2, 29)
    again = day.replace(year=today.year, day=28 if leap else day.day)
    return again if again >= today else again.replace(year=today.year + 1)


def _day(year: int, month: int, day: int) -> Iterator[dt.date]:
    try:
        yield dt.date(year, month, day)
    except ValueError:
        return
