"""Show a memory as it was at the end of a past day, and what changed between two days."""

import datetime as dt
from dataclasses import dataclass

from django.db.models import Max, Min

from memory.documents import write
from memory.documents.diff import Hunk, diff
from memory.models import MemoryDocument, MemoryRevision
from oneclaw.models import Space, User


@dataclass(frozen=True)
class PastLine:
    """A line of an earlier version, by its index from 0. `is_missing`: the document has no such line today."""

    index: int
    text: str
    is_missing: bool

    @property
    def number(self) -> int:
        """Return its number, from 1."""
        return self.index + 1


@dataclass(frozen=True)
class PastDocument:
    """A document as it was at two moments: its versions and contents (0 and empty: it was not there)."""

    document: MemoryDocument
    version: int
    content: str
    later_version: int
    later_content: str

    @property
    def hunks(self) -> list[Hunk]:
        """Return what changed from the first moment to the second, in the order of the document."""
        return diff(self.content, self.later_content)[::-1]

    @property
    def is_changed(self) -> bool:
        """Return whether it was another document at the second moment."""
        return self.content != self.later_content or bool(self.version) != bool(self.later_version)


def end_of(user: User, day: dt.date) -> dt.datetime:
    """Return the moment at which `day` ends for `user`."""
    return dt.datetime.combine(day + dt.timedelta(days=1), dt.time.min, tzinfo=user.zone)


def first_day(user: User, space: Space) -> dt.date | None:
    """Return the day of the first change in `space`; None without one."""
    first = MemoryRevision.objects.filter(space=space).aggregate(first=Min("created_at"))["first"]
    return user.day(first) if first else None


def documents_between(space: Space, moment: dt.datetime, later: dt.datetime) -> list[PastDocument]:
    """Return the documents of `space` that were there at `moment` or at `later`, by path.

    What was forgotten since is in neither.
    """
    before, after = _versions_at(space, moment), _versions_at(space, later)
    ids = {pk for versions in (before, after) for pk, version in versions.items() if version}
    found = []
    for document in MemoryDocument.objects.filter(pk__in=ids).order_by("path"):
        version, later_version = before.get(document.pk, 0), after.get(document.pk, 0)
        found.append(
            PastDocument(
                document,
                version,
                _content_at(document, version),
                later_version,
                _content_at(document, later_version),
            )
        )
    return found


def lines_at(document: MemoryDocument, version: int) -> list[PastLine]:
    """Return the lines of `document` at `version` that are not blank."""
    today = set(document.content.split("\n"))
    found = enumerate(_content_at(document, version).split("\n"))
    return [PastLine(index, text, text not in today) for index, text in found if text.strip()]


def _content_at(document: MemoryDocument, version: int) -> str:
    if version == document.version:
        return document.content
    return write.content_at(document, version) if version else ""


def _versions_at(space: Space, moment: dt.datetime) -> dict[int, int]:
    """Return the version of each document of `space` at `moment`, by its id; 0 for one that was deleted then."""
    earlier = MemoryRevision.objects.filter(space=space, created_at__lt=moment)
    newest = dict(earlier.values("document").annotate(newest=Max("number")).values_list("document", "newest"))
    deleted = earlier.filter(kind=MemoryRevision.Kind.DELETE).values_list("document", "number")
    missing = {pk for pk, number in deleted if newest[pk] == number}
    return {pk: 0 if pk in missing else number for pk, number in newest.items()}
