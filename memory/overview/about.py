"""Compile what the home page of a memory shows above its entries: numbers, the year, the newest line of each topic, the
topics by their size, what is coming up, and what was on this day in earlier years. All is derived; nothing is stored.
"""

import datetime as dt
import unicodedata
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from math import sqrt

from django.urls import reverse
from django.utils.formats import date_format

from memory.models import DocumentOverview, MemoryDocument, Topic
from memory.overview.days import Calendar, calendar_of, logs_of
from memory.overview.entries import Entry, entry_at, newest_by_topic, newest_entries
from memory.overview.packing import Circle, box_of, packed
from memory.text.chunking import chunks_of
from memory.text.list_marks import without_list_mark
from memory.text.plans import ComingDay, coming_day
from oneclaw.models import Space, User

# The newest lines of topics that are read as a summary, and the part of each that is shown.
SUMMARY_MAX_LINES, SUMMARY_LINE_MAX_CHARS = 6, 140
# Lines with a day that is to come, and the part of a line shown with its day.
COMING_MAX_LINES, COMING_LINE_MAX_CHARS = 4, 90
# From so many entries on, the newest of each topic and the sizes of topics say more than the cards.
OVERVIEW_MIN_ENTRIES = 6
# The newest entry in the line of numbers.
NEWEST_MAX_CHARS = 60
# The newest entries that are read for days to come: reading each costs some microseconds.
READ_MAX_ENTRIES = 3_000
# The radii of the topics with the fewest and the most entries, and the gap between circles, in units of the drawing.
RADIUS_MIN, RADIUS_MAX, CIRCLE_GAP = 28, 48, 3
# The box of the drawing is at least so large, so that few topics are not drawn as giants.
MAP_WIDTH, MAP_HEIGHT = 300, 180
# The size of letters in a circle, and the width of a narrow and a wide letter as a part of it.
LETTER_MAX_SIZE, LETTER_WIDTH, WIDE_LETTER_WIDTH = 12, 0.56, 1.0


@dataclass(frozen=True, slots=True)
class QuotedEntry:
    """An entry as it is quoted: a part of its text, the day on which it was written, and the address that shows it."""

    number: int
    text: str
    day: dt.date
    topic: Topic
    address: str


@dataclass(frozen=True, slots=True)
class Coming:
    """A line with a day that is to come, and that day in words."""

    when: ComingDay
    words: str
    line: QuotedEntry


@dataclass(frozen=True, slots=True)
class OnThisDay:
    """The first note of the same day in an earlier year."""

    day: dt.date
    years: int
    text: str


@dataclass(frozen=True, slots=True)
class TopicCircle:
    """A topic, its number of entries, and its circle with the words in it."""

    topic: Topic
    count: int
    circle: Circle
    words: list[tuple[float, str]]
    letter_size: float

    @property
    def count_y(self) -> float:
        """Return the baseline of the number below the words."""
        return round(self.circle.y + self.letter_size * (len(self.words) * 0.6 + 0.5), 1)


@dataclass(frozen=True)
class About:
    """Hold what the page shows above the entries. `newest` is the entry written last."""

    calendar: Calendar
    counts: Mapping[Topic, int]
    log_days: int
    newest: QuotedEntry | None
    summary: list[QuotedEntry]
    coming: list[Coming]
    on_this_day: OnThisDay | None
    circles: list[TopicCircle]

    @property
    def count(self) -> int:
        """Return the number of entries."""
        return sum(self.counts.values())

    @property
    def has_overview(self) -> bool:
        """Return whether there are enough entries for an overview of them: with a few, the cards are one."""
        return self.count >= OVERVIEW_MIN_ENTRIES

    @property
    def map_box(self) -> str:
        """Return the view box of the drawing of topics."""
        box = box_of([each.circle for each in self.circles])
        width, height = max(box.width + 4, MAP_WIDTH), max(box.height + 4, MAP_HEIGHT)
        x, y = box.x - (width - box.width) / 2, box.y - (height - box.height) / 2
        return f"{x:.1f} {y:.1f} {width:.1f} {height:.1f}"


def about_of(space: Space, overview: DocumentOverview | None, user: User, today: dt.date) -> About:
    """Return what the page of `space` shows to its member `user` on the day `today`. `overview` is that of its curated
    memory, with its lists and with the content of its document; None without one."""
    logs = logs_of(space)
    entries, days = ([], {}) if overview is None else written(overview, user)
    lines = [] if overview is None else overview.document.content.split("\n")
    on_page = {entry.line for topic in (newest_entries(overview) if overview else []) for entry in topic.newest}

    def line_of(entry: Entry, max_chars: int) -> QuotedEntry:
        text = shortened(without_list_mark(" ".join(lines[entry.line - 1 : entry.last_line])), max_chars)
        address = address_of(overview, entry, is_on_page=entry.line in on_page) if overview else ""
        return QuotedEntry(entry.line, text, days.get(entry.revision, today), entry.topic, address)

    by_age = sorted(entries, key=lambda entry: (-entry.revision, entry.line))
    first_of = {topic: numbers[0] for topic, numbers in newest_by_topic(overview).items()} if overview else {}
    shown = [entries[number] for number in first_of.values()][:SUMMARY_MAX_LINES]
    remembered = Counter(days.get(entry.revision, today) for entry in entries)
    counts = {topic: count for topic in Topic if (count := sum(entry.topic == topic for entry in entries))}
    coming = []
    for entry in by_age[:READ_MAX_ENTRIES]:
        text = "\n".join(lines[entry.line - 1 : entry.last_line])
        if when := coming_day(text, days.get(entry.revision, today), today):
            coming.append((when, entry))
    coming.sort(key=lambda pair: (pair[0], pair[1].line))
    return About(
        calendar=calendar_of({day: notes for day, (_, notes) in logs.items()}, remembered, today),
        counts=counts,
        log_days=len(logs),
        newest=line_of(by_age[0], NEWEST_MAX_CHARS) if by_age else None,
        summary=[line_of(entry, SUMMARY_LINE_MAX_CHARS) for entry in shown],
        coming=[
            Coming(when, words_of(when, today), line_of(entry, COMING_LINE_MAX_CHARS))
            for when, entry in coming[:COMING_MAX_LINES]
        ],
        on_this_day=on_this_day(logs, today),
        circles=circles_of(counts),
    )


def written(overview: DocumentOverview, user: User) -> tuple[list[Entry], dict[int, dt.date]]:
    """Return the entries of `overview` in their order, and for each revision that wrote one its day for `user`."""
    entries = [entry_at(overview, number) for number in range(len(overview.spans) // 2)]
    numbers = {entry.revision for entry in entries}
    zone = user.zone
    rows = overview.document.revisions.filter(number__in=numbers).values_list("number", "created_at")
    return entries, {number: moment.astimezone(zone).date() for number, moment in rows}


def address_of(overview: DocumentOverview, entry: Entry, *, is_on_page: bool) -> str:
    """Return the address of `entry`: its card when that is on the page, else its line in the document."""
    if is_on_page:
        return f"#line-{overview.version}-{entry.line}"
    return f"{reverse('memory_document', args=[overview.pk])}#line-{entry.line}"


def words_of(when: ComingDay, today: dt.date) -> str:
    """Return the day in words, without the year when it is within the year that begins with `today`."""
    is_near = when.day < today + dt.timedelta(days=350)
    if when.is_month:
        return date_format(when.day, "F" if is_near else "YEAR_MONTH_FORMAT")
    return date_format(when.day, "MONTH_DAY_FORMAT" if is_near else "DATE_FORMAT")


def on_this_day(logs: Mapping[dt.date, tuple[int, int]], today: dt.date) -> OnThisDay | None:
    """Return the first note of this day in the last earlier year that has one, of the daily `logs`; None without."""
    same = [day for day in logs if (day.month, day.day) == (today.month, today.day) and day.year < today.year]
    if not same:
        return None
    day = max(same)
    content = MemoryDocument.objects.filter(pk=logs[day][0]).values_list("content", flat=True).first() or ""
    notes = (chunk.text for chunk in chunks_of(content) if not chunk.is_heading and chunk.text.strip())
    note = next(notes, None)
    if note is None:
        return None
    first = without_list_mark(note.strip().split("\n")[0])
    return OnThisDay(day, today.year - day.year, shortened(first, COMING_LINE_MAX_CHARS))


def circles_of(counts: Mapping[Topic, int]) -> list[TopicCircle]:
    """Return a circle for each topic in `counts`: the more entries it has, the larger."""
    if not counts:
        return []
    most = max(counts.values())
    radii = [RADIUS_MIN + (RADIUS_MAX - RADIUS_MIN) * sqrt(count / most) for count in counts.values()]
    found = []
    for (topic, count), circle in zip(counts.items(), packed(radii, CIRCLE_GAP), strict=True):
        words = words_in_lines(str(topic.label))
        size = min(LETTER_MAX_SIZE, 1.75 * circle.radius / max(map(width_of, words)))
        top = circle.y - size * (len(words) - 1) * 0.6
        placed = [(round(top + row * size * 1.15, 1), word) for row, word in enumerate(words)]
        rounded = Circle(round(circle.x, 1), round(circle.y, 1), round(circle.radius, 1))
        found.append(TopicCircle(topic, count, rounded, placed, round(size, 1)))
    return found


def words_in_lines(label: str) -> list[str]:
    """Return `label` in one line, or in two when it has several words."""
    words = label.split()
    if len(words) < 2:
        return [label]
    cuts = [(" ".join(words[:cut]), " ".join(words[cut:])) for cut in range(1, len(words))]
    return list(min(cuts, key=lambda parts: max(map(width_of, parts))))


def width_of(text: str) -> float:
    """Return about how wide `text` is, in the size of its letters."""
    return sum(WIDE_LETTER_WIDTH if unicodedata.east_asian_width(char) in "WF" else LETTER_WIDTH for char in text)


def shortened(text: str, max_chars: int) -> str:
    """Return `text` in one line, cut between words when it is longer than `max_chars`, without Markdown's stars."""
    text = " ".join(text.replace("**", "").replace("__", "").split())
    if len(text) <= max_chars:
        return text
    kept = text[:max_chars]
    cut = kept.rfind(" ")
    return (kept[:cut] if cut > max_chars // 2 else kept).rstrip(" ,;:.–—-") + "…"
