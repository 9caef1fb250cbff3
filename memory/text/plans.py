"""Find the day of a plan in a line of memory, such as an appointment, to ask about it when it has passed."""

import datetime as dt
import re
from collections.abc import Iterator

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


# A plan stands at the beginning of its line.
PLAN_MAX_CHARS = 4_000


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


def _day(year: int, month: int, day: int) -> Iterator[dt.date]:
    try:
        yield dt.date(year, month, day)
    except ValueError:
        return
