"""Add up what was spent in a month: in all, by day, and by model, purpose, person, group and space."""

import datetime as dt
import zoneinfo
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from django.db.models import Case, Count, F, Q, Sum, When
from django.db.models.functions import TruncDate
from django.utils.translation import gettext as _

from oneclaw.models import Space, Spend, SpendQuerySet

# Of the months of reports. Their neighbours are dates in every timezone.
YEARS = range(2000, 3000)
# What a report may be grouped by: columns, of which the first is the name and the last the key.
GROUPINGS: dict[str, tuple[str, ...]] = {
    "model": ("model",),
    "purpose": ("purpose",),
    "person": ("user__email", "user_id"),
    "group": ("user__group_memberships__group__name",),
    "space": ("shared_name", "is_private", "shared_space"),
}
# The names of private spaces are those of people's agents, and theirs alone.
PRIVATE = Q(space__kind__in=Space.PRIVATE)


@dataclass(frozen=True)
class Sums:
    """What some calls took. `cost` is in US dollars, of the calls that have a price; `unpriced` counts the others."""

    calls: int
    input_tokens: int
    output_tokens: int
    cached_tokens: int
    written_tokens: int
    cost: Decimal
    unpriced: int

    @property
    def tokens(self) -> int:
        """Return all tokens."""
        return self.input_tokens + self.output_tokens + self.cached_tokens + self.written_tokens


@dataclass(frozen=True)
class Row:
    """The sums of one model, purpose, …; `name` is what a reader sees, `key` what a program sees."""

    key: str
    name: str
    sums: Sums


@dataclass(frozen=True)
class Month:
    """A month of a timezone."""

    first: dt.date
    zone: zoneinfo.ZoneInfo

    @staticmethod
    def of(text: str, today: dt.date, zone: zoneinfo.ZoneInfo) -> "Month":
        """Return the month of `text`, such as 2026-11; that of `today` when it is empty.

        Raise ValueError for another text, and outside of YEARS.
        """
        first = dt.datetime.strptime(text, "%Y-%m").date() if text else today.replace(day=1)
        if first.year not in YEARS:
            raise ValueError(f"No report has the year {first.year}.")
        return Month(first, zone)

    def __str__(self) -> str:
        return f"{self.first:%Y-%m}"

    @property
    def next(self) -> "Month":
        return Month((self.first + dt.timedelta(days=32)).replace(day=1), self.zone)

    @property
    def previous(self) -> "Month":
        return Month((self.first - dt.timedelta(days=1)).replace(day=1), self.zone)

    def neighbours(self, today: dt.date) -> tuple["Month | None", "Month | None"]:
        """Return the months before and after it that have a report; none is later than `today`."""
        earlier = self.previous if self.previous.first.year in YEARS else None
        return earlier, self.next if self.next.first <= today else None

    @property
    def days(self) -> list[dt.date]:
        """Return its days."""
        number = (self.next.first - self.first).days
        return [self.first + dt.timedelta(days=each) for each in range(number)]

    def of_spends(self, spends: SpendQuerySet) -> SpendQuerySet:
        """Return those of `spends` that are of this month."""
        ends = dt.datetime.combine(self.next.first, dt.time(), self.zone)
        return spends.filter(at__gte=dt.datetime.combine(self.first, dt.time(), self.zone), at__lt=ends)


def sums_of(spends: SpendQuerySet) -> Sums:
    """Return the sums of all `spends`."""
    return _sums(spends.order_by().aggregate(**_aggregates()))


def by_day(spends: SpendQuerySet, month: Month) -> list[tuple[dt.date, Sums]]:
    """Return the sums of each day of `month`."""
    rows = spends.annotate(day=TruncDate("at", tzinfo=month.zone)).order_by().values("day").annotate(**_aggregates())
    found = {row["day"]: _sums(dict(row)) for row in rows}
    return [(day, found.get(day, NOTHING)) for day in month.days]


def by(spends: SpendQuerySet, grouping: str) -> list[Row]:
    """Return the sums by one of GROUPINGS, the most expensive first. A person counts in each of their groups."""
    columns = GROUPINGS[grouping]
    if grouping == "group":
        spends = spends.filter(user__group_memberships__isnull=False)
    rows = _with_spaces(spends).order_by().values(*columns).annotate(**_aggregates())
    found = [Row(str(row[columns[-1]] or ""), _name(grouping, row), _sums(row)) for row in rows]
    return sorted(found, key=lambda row: (-row.sums.cost, -row.sums.tokens, row.name))


def of_memory(spends: SpendQuerySet) -> SpendQuerySet:
    """Return those of `spends` that were for memory."""
    return spends.filter(purpose__in=Spend.MEMORY_PURPOSES)


def share(part: Sums, whole: Sums) -> int:
    """Return the percentage that `part` is of `whole`: of the US dollars if there are any, else of the tokens."""
    if whole.cost:
        return round(100 * part.cost / whole.cost)
    return round(100 * part.tokens / whole.tokens) if whole.tokens else 0


def lines(spends: SpendQuerySet, month: Month) -> Sequence[dict[str, Any]]:
    """Return the sums by day, person, space, purpose and model, for a file. A space has its id, and its name unless it
    is private."""
    columns = ("day", "user__email", "shared_name", "shared_space", "is_private", "purpose", "model")
    rows = _with_spaces(spends).annotate(day=TruncDate("at", tzinfo=month.zone)).order_by().values(*columns)
    return rows.annotate(**_aggregates()).order_by(*(F(column).asc(nulls_last=True) for column in columns))


def _with_spaces(spends: SpendQuerySet) -> SpendQuerySet:
    """Return `spends` with `shared_space` and `shared_name`, the id and name of a shared space, and `is_private`."""
    return spends.annotate(
        shared_space=Case(When(PRIVATE, then=None), default=F("space_id")),
        shared_name=Case(When(PRIVATE, then=None), default=F("space__name")),
        is_private=Case(When(PRIVATE, then=True), default=False),
    )


def _aggregates() -> dict[str, Any]:
    # Named otherwise than the columns, which they would hide.
    sums = {f"sum_{name}": Sum(name, default=0) for name in Spend.TOKENS}
    return {
        **sums,
        "calls": Count("pk"),
        "sum_cost": Sum("cost", default=Decimal(0)),
        "unpriced": Count("pk", filter=Q(cost=None)),
    }


def _sums(row: dict[str, Any]) -> Sums:
    tokens = {name: row[f"sum_{name}"] for name in Spend.TOKENS}
    return Sums(calls=row["calls"], cost=row["sum_cost"], unpriced=row["unpriced"], **tokens)


def _name(grouping: str, row: Mapping[str, Any]) -> str:
    value: str | None = row[GROUPINGS[grouping][0]]
    if grouping == "purpose":
        return str(Spend.Purpose(value or "").label)
    if grouping == "person":
        return value or _("People who have left")
    if grouping == "space":
        return _("Private memory") if row["is_private"] else value or _("No space")
    return value or ""


NOTHING = Sums(0, 0, 0, 0, 0, Decimal(0), 0)
