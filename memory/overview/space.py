"""Compile what the page of a space shows of its memory: newest lines, who added what in four weeks, and documents."""

import datetime as dt
from collections.abc import Sequence
from dataclasses import dataclass

from django.db.models import Count
from django.db.models.functions import TruncDate

from memory.models import LibraryFile, MemoryRevision
from memory.overview import home
from memory.overview.entries import OverviewWaitsError, compile_soon, newest_entries
from memory.overview.home import ShownEntry
from oneclaw.models import Space, User

NEWEST_MAX_ENTRIES = 5
NEWEST_MAX_FILES = 4
SHOWN_DAYS = 28
# More people would be a list that nobody compares.
SHOWN_MAX_ROWS = 8
# The size of a cell and the distance between two, in units of the drawing.
CELL_SIZE, STEP_SIZE = 10, 13
# The number of changes of a day from which a cell has the next shade.
SHADES = (1, 3, 6, 12)


@dataclass(frozen=True)
class Cell:
    """One day of a person in the drawing. `shade`: 0 to 4."""

    x: int
    shade: int


@dataclass(frozen=True)
class Contributions:
    """Count what a person has changed in the memory of a space in SHOWN_DAYS days: a row of the drawing."""

    name: str
    y: int
    changes: int
    cells: Sequence[Cell]


@dataclass(frozen=True)
class SpaceOverview:
    """Describe what is known in a space, in the words of the person who looks at it."""

    space: Space
    count: int
    newest: Sequence[ShownEntry]
    people: Sequence[Contributions]
    first_day: dt.date
    files: Sequence[LibraryFile]

    @property
    def width(self) -> int:
        """Return the width of the drawing, in its units."""
        return SHOWN_DAYS * STEP_SIZE

    @property
    def height(self) -> int:
        """Return the height of the drawing, in its units."""
        return len(self.people) * STEP_SIZE


def space_overview(space: Space, user: User) -> SpaceOverview:
    """Return the overview of `space` as `user`, a member, sees it; without lines while a worker sorts an import."""
    try:
        overview = home.curated_overview(space)
        whole = home.with_content(overview) if overview else None
    except OverviewWaitsError as waits:
        compile_soon([waits.document.pk])
        whole = None
    topics = newest_entries(whole) if whole else []
    entries = sorted((entry for topic in topics for entry in topic.newest), key=lambda entry: -entry.revision)
    newest = home.shown_entries(whole.document, entries[:NEWEST_MAX_ENTRIES], user) if whole else []
    first_day = user.day() - dt.timedelta(days=SHOWN_DAYS - 1)
    return SpaceOverview(
        space=space,
        count=sum(topic.count for topic in topics),
        newest=newest,
        people=contributions(space, user, first_day),
        first_day=first_day,
        files=list(space.library_files.order_by("-created_at", "-pk")[:NEWEST_MAX_FILES]),
    )


def contributions(space: Space, user: User, first_day: dt.date) -> list[Contributions]:
    """Return the changes of each person in `space` since `first_day` by the days of `user`, most changes first."""
    since = dt.datetime.combine(first_day, dt.time(), user.zone)
    written = MemoryRevision.objects.filter(document__space=space, created_at__gte=since).exclude(author=None)
    names = ("author__first_name", "author__last_name", "author__email")
    days = written.exclude(source=MemoryRevision.Source.FORGET).annotate(day=TruncDate("created_at", tzinfo=user.zone))
    rows = days.values_list("author", *names, "day").annotate(changes=Count("pk")).order_by("author", "day")
    of_people: dict[int, tuple[str, dict[int, int]]] = {}
    for author_id, first, last, email, day, changes in rows:
        name = f"{first} {last}".strip() or email
        of_people.setdefault(author_id, (name, {}))[1][(day - first_day).days] = changes
    most_first = sorted(of_people.values(), key=lambda each: (-sum(each[1].values()), each[0]))[:SHOWN_MAX_ROWS]
    return [
        Contributions(
            name,
            number * STEP_SIZE,
            sum(counts.values()),
            [Cell(day * STEP_SIZE, shade_of(counts.get(day, 0))) for day in range(SHOWN_DAYS)],
        )
        for number, (name, counts) in enumerate(most_first)
    ]


def shade_of(changes: int) -> int:
    """Return the shade of a cell for a day with this number of changes, 0 to 4."""
    return sum(changes >= least for least in SHADES)
