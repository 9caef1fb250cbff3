"""Lay out the days of a memory for a drawing of one year: the notes of each day, the days on which something was
remembered, and the growing number of things remembered, along the same axis."""

import datetime as dt
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import groupby

from memory.models import MemoryDocument
from memory.notes.coverage import DAILY_LOG_PATH
from oneclaw.models import Space

SHOWN_WEEKS = 53
# What of it a phone shows at once; the rest is reached by scrolling.
PHONE_WEEKS = 18
# The size of a cell and the distance between two, in units of the drawing.
CELL_SIZE, STEP_SIZE = 11, 14
# The room for the names of months above the cells and for the number at the end of the curve, and the curve's top and
# height.
MONTHS_HEIGHT, END_WIDTH = 16, 34
CURVE_TOP, CURVE_HEIGHT = 7 * STEP_SIZE + 16, 42
# The number of notes from which a cell has the next shade.
SHADES = (1, 4, 10, 25)


@dataclass(frozen=True, slots=True)
class Day:
    """A day with notes or with something remembered: the number of chunks of its log, the number of entries, and its
    place in the drawing. `shade`: 0 (no notes) to 4."""

    day: dt.date
    notes: int
    remembered: int
    shade: int
    x: int
    y: int

    @property
    def address(self) -> str:
        """Return the day as it is written in addresses."""
        return self.day.isoformat()

    @property
    def dot_x(self) -> float:
        """Return the centre of its cell, across."""
        return self.x + CELL_SIZE / 2

    @property
    def dot_y(self) -> float:
        """Return the centre of its cell, down."""
        return self.y + CELL_SIZE / 2


@dataclass(frozen=True, slots=True)
class CalendarMonth:
    """Hold what a table shows of one month: its days with notes or with something remembered, how many entries were
    remembered in it, and how many there were at its end."""

    first: dt.date
    days: list[Day]
    remembered: int
    total: int


@dataclass(frozen=True)
class Calendar:
    """The year up to `last`, as weeks from Monday to Sunday, one column each."""

    first: dt.date
    last: dt.date
    days: list[Day]
    # The first of each month, by its column.
    months: list[tuple[int, dt.date]]
    # The number of things that were remembered at the end of each week.
    totals: list[int]

    @property
    def total(self) -> int:
        """Return the number of things remembered at the end."""
        return self.totals[-1]

    @property
    def box(self) -> str:
        """Return the view box of the drawing, without room for a curve when nothing was remembered."""
        return _box(CURVE_TOP + CURVE_HEIGHT + 4) if self.total else self.days_box

    @property
    def days_box(self) -> str:
        """Return the view box of the days alone."""
        return _box(7 * STEP_SIZE)

    @property
    def outline(self) -> str:
        """Return the cells of all days as one SVG path."""
        cell = f"h{CELL_SIZE}v{CELL_SIZE}h-{CELL_SIZE}z"
        return " ".join(f"M{x} {y}{cell}" for x, y in self._corners())

    @property
    def today(self) -> tuple[int, int]:
        """Return the corner of the cell of the last day."""
        return _corner((self.last - self.first).days)

    @property
    def points(self) -> str:
        """Return the curve of things remembered as the points of an SVG line."""
        height = CURVE_HEIGHT / max(self.total, 1)
        return " ".join(
            f"{week * STEP_SIZE + CELL_SIZE / 2:g},{CURVE_TOP + CURVE_HEIGHT - total * height:.1f}"
            for week, total in enumerate(self.totals)
        )

    @property
    def area(self) -> str:
        """Return the area beneath the curve as the points of an SVG polygon."""
        first, (last, _) = CELL_SIZE / 2, self.end
        bottom = CURVE_TOP + CURVE_HEIGHT
        return f"{first:g},{bottom} {self.points} {last:g},{bottom}"

    @property
    def end(self) -> tuple[float, float]:
        """Return the last point of the curve, which is its highest."""
        return (SHOWN_WEEKS - 1) * STEP_SIZE + CELL_SIZE / 2, CURVE_TOP

    @property
    def label_y(self) -> int:
        """Return the baseline of the words above the curve."""
        return CURVE_TOP - 5

    def corner_of(self, day: dt.date) -> tuple[int, int] | None:
        """Return the corner of the cell of `day`; None for a day that is not in the drawing."""
        return _corner((day - self.first).days) if self.first <= day <= self.last else None

    @property
    def phone_x(self) -> int:
        """Return where that part of the drawing begins which a phone shows at once."""
        return (SHOWN_WEEKS - PHONE_WEEKS) * STEP_SIZE

    @property
    def by_month(self) -> list[CalendarMonth]:
        """Return the months with something in them, the newest first."""
        total, found = self.total, []
        for first, days in groupby(reversed(self.days), lambda each: each.day.replace(day=1)):
            shown = list(days)
            remembered = sum(each.remembered for each in shown)
            found.append(CalendarMonth(first, shown[::-1], remembered, total))
            total -= remembered
        return found

    def _corners(self) -> Iterator[tuple[int, int]]:
        for number in range((self.last - self.first).days + 1):
            yield _corner(number)


def calendar_of(logs: Mapping[dt.date, int], remembered: Mapping[dt.date, int], today: dt.date) -> Calendar:
    """Return the calendar of the last SHOWN_WEEKS weeks up to `today`.

    `logs` has the number of notes of each day, `remembered` the number of entries that were written on each day.
    """
    first = today - dt.timedelta(days=today.weekday(), weeks=SHOWN_WEEKS - 1)
    shown = sorted(day for day in logs.keys() | remembered.keys() if first <= day <= today)
    days = []
    for day in shown:
        notes, count = logs.get(day, 0), remembered.get(day, 0)
        if notes or count:
            days.append(Day(day, notes, count, sum(notes >= least for least in SHADES), *_corner((day - first).days)))
    starts = [first + dt.timedelta(weeks=week) for week in range(SHOWN_WEEKS)]
    months = [(week * STEP_SIZE, start) for week, start in enumerate(starts) if start.day <= 7]
    return Calendar(first, today, days, months, totals_by_week(remembered, first, SHOWN_WEEKS))


def totals_by_week(remembered: Mapping[dt.date, int], first: dt.date, weeks: int) -> list[int]:
    """Return how many things were remembered at the end of each of the `weeks` that begin with the day `first`.

    What was remembered earlier counts in each. What has a later day, by the clock of another time zone, counts in the
    last one.
    """
    added = [0] * weeks
    for day, count in remembered.items():
        added[min(max((day - first).days // 7, 0), weeks - 1)] += count
    found, total = [], 0
    for count in added:
        total += count
        found.append(total)
    return found


def logs_of(space: Space) -> dict[dt.date, tuple[int, int]]:
    """Return the daily logs of `space`: for each day, the id of the document and its number of chunks."""
    rows = MemoryDocument.objects.present().filter(space=space, path__startswith="memory/")
    found = {}
    for path, document_id, units in rows.values_list("path", "pk", "index__units"):
        match = DAILY_LOG_PATH.fullmatch(path)
        if match is None:
            continue
        try:
            found[dt.date.fromisoformat(match[1])] = (document_id, units or 0)
        except ValueError:
            # 2026-02-30 is a possible path, but no day.
            continue
    return found


def _box(height: int) -> str:
    """Return a view box with `height` below the names of months."""
    return f"-2 -{MONTHS_HEIGHT} {SHOWN_WEEKS * STEP_SIZE + END_WIDTH} {height + MONTHS_HEIGHT}"


def _corner(number: int) -> tuple[int, int]:
    """Return the corner of the cell of the day `number`, from 0."""
    return number // 7 * STEP_SIZE, number % 7 * STEP_SIZE
