"""Compile what the home page of a memory shows: the entries of MEMORY.md by topic, and counts of what there is."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from django.db.models import Count, F, Q
from django.urls import reverse

from memory.models import DocumentOverview, MemoryDocument, MemoryRevision, Topic
from memory.overview.entries import Entry, entry_at, newest_by_topic
from memory.policy.paths import CURATED
from oneclaw.models import Space, User

# Entries of one topic on the home page.
TOPIC_SHOWN_ENTRIES = 5
LIST_MARK = re.compile(r"\s*(?:[-*+•]|\d{1,3}[.)])\s+(?:\[[ xX]\]\s+)?")


@dataclass(frozen=True)
class ShownEntry:
    """An entry as it is shown: its text without the mark of a list, and the change that wrote it."""

    entry: Entry
    source: str
    text: str
    change: MemoryRevision | None

    @property
    def count(self) -> int:
        """Return its number of lines."""
        return self.entry.last_line - self.entry.line + 1

    @property
    def conversation(self) -> str:
        """Return the address of the message that the entry comes from; empty without one."""
        message = self.change and self.change.message
        if not message:
            return ""
        return f"{reverse('conversation', args=[message.session_id])}#message-{message.pk}@{message.seq}"


@dataclass(frozen=True)
class TopicEntries:
    """The newest entries of one topic, and how many there are."""

    topic: Topic
    shown: list[ShownEntry]
    count: int

    @property
    def more(self) -> int:
        """Return the number of entries that are not shown."""
        return self.count - len(self.shown)


@dataclass(frozen=True)
class Counts:
    """How many documents of a memory there are, how many of them are daily logs, and how many wait for their index."""

    logs: int
    others: int
    waiting: int


def curated_of(space: Space) -> MemoryDocument | None:
    """Return the curated memory of `space`; None while there is none."""
    return space.documents.present().filter(path=CURATED).first()


def topics_of(document: MemoryDocument, overview: DocumentOverview) -> list[TopicEntries]:
    """Return the entries of `document` by topic, the newest first; topics without entries are left out."""
    by_topic = newest_by_topic(overview)
    chosen = [number for numbers in by_topic.values() for number in numbers[:TOPIC_SHOWN_ENTRIES]]
    shown = iter(shown_entries(document, [entry_at(overview, number) for number in chosen]))
    return [
        TopicEntries(topic, [next(shown) for _ in numbers[:TOPIC_SHOWN_ENTRIES]], len(numbers))
        for topic, numbers in by_topic.items()
    ]


def shown_entries(document: MemoryDocument, entries: Iterable[Entry]) -> list[ShownEntry]:
    """Return `entries` of `document` as they are shown."""
    entries, lines = list(entries), document.content.split("\n")
    numbers = {entry.revision for entry in entries}
    changes = document.revisions.filter(number__in=numbers).select_related("author", "message").defer("hunks")
    by_number = {change.number: change for change in changes}
    found = []
    for entry in entries:
        source = "\n".join(lines[entry.line - 1 : entry.last_line])
        found.append(ShownEntry(entry, source, LIST_MARK.sub("", source, count=1), by_number.get(entry.revision)))
    return found


def counts_of(space: Space) -> Counts:
    """Return the counts of the documents of `space`."""
    is_log = Q(path__startswith="memory/")
    found = space.documents.present().aggregate(
        logs=Count("pk", filter=is_log),
        others=Count("pk", filter=~is_log),
        waiting=Count("pk", filter=Q(indexed_version__lt=F("version"))),
    )
    return Counts(**found)


def spaces_shown_to(user: User) -> Sequence[Space]:
    """Return the memories that `user` may look at, their own first."""
    return sorted(Space.objects.visible_to(user), key=lambda space: (space.kind != Space.Kind.OWN, space.pk))
