"""Find days in text: the day that a document or a heading is about, and the days that a question means."""

import calendar
import datetime as dt
import re
from collections.abc import Iterator
from dataclasses import dataclass

ISO = re.compile(r"(?<!\d)(\d{4})-(\d{2})-(\d{2})(?!\d)")
MONTHS = {
    name: number
    for number, names in enumerate(
        (
            "january jan januar janvier enero gennaio janeiro",
            "february feb februar février febrero febbraio fevereiro",
            "march mar märz mars marzo março",
            "april apr avril abril aprile",
            "may mai mayo maggio maio",
            "june jun juni juin junio giugno junho",
            "july jul juli juillet julio luglio julho",
            "august aug août agosto",
            "september sep sept septembre septiembre settembre setembro",
            "october oct oktober octobre octubre ottobre outubro",
            "november nov novembre noviembre novembro",
            "december dec dezember décembre diciembre dicembre dezembro",
        ),
        1,
    )
    for name in names.split()
}
DAYS = {name.lower(): number for number, name in enumerate(calendar.day_name)}
_NUMBERS = "zero one two three four five six seven eight nine ten eleven twelve"
NUMBERS = {name: number for number, name in enumerate(_NUMBERS.split())}
NUMBERS |= {"a": 1, "an": 1, "a couple of": 2, "a few": 3, "several": 4}
SPANS = {"day": 1, "week": 7, "fortnight": 14, "month": 30, "year": 365}
SEASONS = {"spring": 3, "summer": 6, "autumn": 9, "fall": 9, "winter": 12}

_MONTH = "(?P<month>" + "|".join(sorted(MONTHS, key=len, reverse=True)) + r")\.?"
_COUNT = r"(?P<count>\d{1,3}|" + "|".join(sorted(NUMBERS, key=len, reverse=True)) + ")"
_SPAN = r"(?P<span>day|week|fortnight|month|year)s?"
_WHAT = "week|weekend|month|year|night|" + "|".join([*DAYS, *SEASONS])
_IN = "in|during|of|since|by|last|this|early|late|mid|im|en|em"
NAMED = {"the day before yesterday": 2, "vorgestern": 2, "today": 0, "tonight": 0, "this morning": 0, "heute": 0}


# Words of a line that states a time. (Longer names of months only: "may" and "mar" mostly mean something else.)
_TIME_WORDS = (
    "yesterday today tonight tomorrow last next ago week weekend month year recently since morning christmas"
    " gestern heute morgen letzte letzten letzter nächste nächsten seit woche monat jahr demain dernier"
    " dernière prochain depuis semaine mois ayer hoy mañana pasado pasada próximo desde mes año ieri oggi domani scorso"
    " scorsa settimana ontem hoje amanhã passado 昨日 今日 明日 先週 来週 昨天 今天 明天 上周 下周"
)
_TIME_NUMBERS = (*range(1, 32), *range(1900, 2101))
TIME_WORDS = frozenset(
    (*_TIME_WORDS.split(), *DAYS, *SEASONS, *(name for name in MONTHS if len(name) > 3), *map(str, _TIME_NUMBERS))
)
ASKS_WHEN = re.compile(
    r"^\W*+(?:when|how long|what (?:date|day|month|year|time)|(?:in |on |since )?(?:which|what) (?:month|year|day)"
    r"|since when|wann|seit wann|wie lange|quand|depuis quand|cuándo|desde cuándo|quando|da quando|desde quando"
    r"|когда)\b"
    r"|いつ|何時|什么时候|什麼時候|几点|哪天",
    re.IGNORECASE,
)


@dataclass(frozen=True, order=True)
class Period:
    """A range of days from `first` to `last`, both included."""

    first: dt.date
    last: dt.date


def day_in(text: str) -> dt.date | None:
    """Return the first valid day written as YYYY-MM-DD in `text` (a path or a heading), or None."""
    for year, month, day in ISO.findall(text):
        try:
            return dt.date(int(year), int(month), int(day))
        except ValueError:
            continue
    return None


def asks_when(question: str) -> bool:
    """Return whether `question` asks for a time."""
    return ASKS_WHEN.search(question) is not None


def periods_meant(question: str, today: dt.date) -> list[Period]:
    """Return the periods that `question` names, such as "last week", "in March" or "on 3 May 2023".

    `today` is the person's own day, from which relative periods count.
    """
    text = question.lower()
    found = [Period(day, day) for day in [day_in(text)] if day]
    for pattern, reader in READERS:
        for match in pattern.finditer(text):
            parts = {name: part for name, part in match.groupdict().items() if part}
            try:
                found += reader(parts, today)
            except (ValueError, OverflowError):  # 31 February, the year 0
                continue
    exact = [period for period in found if period.first == period.last]
    return sorted(set(exact or found))  # "on 3 May 2023" also looks like "in May 2023"


def _date(parts: dict[str, str], today: dt.date) -> Iterator[Period]:
    month = int(parts["month"]) if parts["month"].isdigit() else MONTHS[parts["month"]]
    day = dt.date(int(parts.get("year", today.year)), month, int(parts["day"]))
    if "year" not in parts and day > today:
        day = day.replace(year=day.year - 1)
    yield Period(day, day)


def _month(parts: dict[str, str], today: dt.date) -> Iterator[Period]:
    month = MONTHS[parts["month"]]
    year = int(parts.get("year") or (today.year if month <= today.month else today.year - 1))
    yield _months(year, month, 1)


def _year(parts: dict[str, str], today: dt.date) -> Iterator[Period]:
    yield _months(int(parts["year"]), 1, 12)


def _ago(parts: dict[str, str], today: dt.date) -> Iterator[Period]:
    span, count = SPANS[parts["span"]], _count(parts["count"])
    about = today - dt.timedelta(days=span * count)
    slack = dt.timedelta(days=span // 2 if span > 1 else 0)
    yield Period(about - slack, about + slack)


def _past(parts: dict[str, str], today: dt.date) -> Iterator[Period]:
    yield Period(today - dt.timedelta(days=SPANS[parts["span"]] * _count(parts["count"])), today)


def _last(parts: dict[str, str], today: dt.date) -> Iterator[Period]:
    what, last = parts["what"], parts["which"] != "this"
    monday = today - dt.timedelta(days=today.weekday())
    if what == "week":
        first = monday - dt.timedelta(days=7 if last else 0)
        yield Period(first, first + dt.timedelta(days=6))
    elif what == "weekend":
        saturday = monday + dt.timedelta(days=5 if not last or today.weekday() == 6 else -2)
        yield Period(saturday, saturday + dt.timedelta(days=1))
    elif what == "night":
        yield Period(today - dt.timedelta(days=1), today)
    elif what == "month":
        before = today.replace(day=1) - dt.timedelta(days=1) if last else today
        yield _months(before.year, before.month, 1)
    elif what == "year":
        yield _months(today.year - last, 1, 12)
    elif what in SEASONS:
        year = today.year if SEASONS[what] <= today.month else today.year - 1
        yield _months(year, SEASONS[what], 3)
    else:
        yield _before(DAYS[what], today)


def _weekday(parts: dict[str, str], today: dt.date) -> Iterator[Period]:
    yield _before(DAYS[parts["what"]], today)


def _named(parts: dict[str, str], today: dt.date) -> Iterator[Period]:
    day = today - dt.timedelta(days=NAMED.get(parts["what"], 1))
    yield Period(day, day)


def _months(year: int, month: int, count: int) -> Period:
    after = year * 12 + month - 1 + count
    return Period(dt.date(year, month, 1), dt.date(after // 12, after % 12 + 1, 1) - dt.timedelta(days=1))


def _before(weekday: int, today: dt.date) -> Period:
    day = today - dt.timedelta(days=(today.weekday() - weekday - 1) % 7 + 1)
    return Period(day, day)


def _count(text: str) -> int:
    return int(text) if text.isdigit() else NUMBERS[text]


# How the periods that a question names are written, and the function that reads each of them.
READERS = [
    (re.compile(pattern), reader)
    for pattern, reader in (
        (
            rf"\b(?P<day>\d{{1,2}})(?:st|nd|rd|th|er|º|\.)?(?:\s+(?:of|de))?\s+{_MONTH}"
            r"(?:\s+de)?,?(?:\s+(?P<year>\d{4}))?\b",
            _date,
        ),
        (rf"\b{_MONTH}\s+(?P<day>\d{{1,2}})(?:st|nd|rd|th)?\b(?:,?\s+(?P<year>\d{{4}}))?", _date),
        (r"(?<!\d)(?P<day>\d{1,2})\.(?P<month>\d{1,2})\.(?P<year>\d{4})(?!\d)", _date),
        (rf"\b(?:{_IN})[\s-]+{_MONTH}(?:\s+(?:of\s+|de\s+)?(?P<year>\d{{4}}))?", _month),
        (rf"\b{_MONTH}\s+(?P<year>\d{{4}})\b", _month),
        (r"\b(?:in|during|of|since)\s+(?P<year>(?:19|20)\d{2})\b", _year),
        (rf"\b{_COUNT}\s+{_SPAN}\s+ago\b", _ago),
        (rf"\bthe\s+(?:last|past)\s+{_COUNT}\s+{_SPAN}\b", _past),
        (rf"\b(?P<which>last|this|past)\s+(?P<what>{_WHAT})\b", _last),
        (rf"\bon\s+(?P<what>{'|'.join(DAYS)})\b", _weekday),
        (
            r"\b(?P<what>the day before yesterday|yesterday|today|tonight|this morning"
            r"|vorgestern|gestern|heute|hier|ayer|ieri|ontem)\b",
            _named,
        ),
    )
]
