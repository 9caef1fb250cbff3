"""Draw the days of a memory: how many notes the log of each day has, as cells of a calendar of one year."""

import datetime as dt
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from memory.models import MemoryDocument
from memory.notes.coverage import DAILY_LOG_PATH
from oneclaw.models import Space

SHOWN_WEEKS = 53
# The size of a cell and the distance between two, in units of the drawing.
CELL_SIZE, STEP_SIZE = 10, 13
# The number of notes from which a cell has the next shade.
SHADES = (1, 4, 10, 25)


@dataclass(frozen=True, slots=True)
class Day:
    """A day with notes: its log, the number of chunks in it, and its place in the drawing. `shade`: 1 to 4."""

    day: dt.date
    document_id: int
    notes: int
    shade: int
    x: int
    y: int


@dataclass(frozen=True)
class Calendar:
    """The year up to `last`, as weeks from Monday to Sunday, one column each."""

    first: dt.date
    last: dt.date
    days: list[Day]
    # The first of each month, by its column.
    months: list[tuple[int, dt.date]]

    @property
    def width(self) -> int:
        """Return the width of the drawing, in its units."""
        return SHOWN_WEEKS * STEP_SIZE

    @property
    def height(self) -> int:
        """Return the height of the drawing, in its units."""
        return 7 * STEP_SIZE

    @property
    def outline(self) -> str:
        """Return the cells of all days as one SVG path."""
        return " ".join(f"M{x} {y}h{CELL_SIZE}v{CELL_SIZE}h-{CELL_SIZE}z" for x, y in self._corners())

    def _corners(self) -> Iterator[tuple[int, int]]:
        for number in range((self.last - self.first).days + 1):
            yield number // 7 * STEP_SIZE, number % 7 * STEP_SIZE


def calendar_of(space: Space, today: dt.date) -> Calendar:
    """Return the calendar of the last SHOWN_WEEKS weeks up to `today`, with the daily logs of `space`."""
    first = today - dt.timedelta(days=today.weekday(), weeks=SHOWN_WEEKS - 1)
    logs = logs_of(space)
    days = []
    for day, (document_id, notes) in sorted(logs.items()):
        if first <= day <= today and notes:
            number = (day - first).days
            shade = sum(notes >= least for least in SHADES)
            days.append(Day(day, document_id, notes, shade, number // 7 * STEP_SIZE, number % 7 * STEP_SIZE))
    starts = [first + dt.timedelta(weeks=week) for week in range(SHOWN_WEEKS)]
    months = [(week * STEP_SIZE, start) for week, start in enumerate(starts) if start.day <= 7]
    return Calendar(first, today, days, months)


def logs_of(space: Space) -> Mapping[dt.date, tuple[int, int]]:
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
