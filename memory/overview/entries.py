"""List the entries of a document with their lines, their topics, and the revision that wrote each last.

    for entry in entries_of(document): …

What is derived is kept in DocumentOverview; after a change, only the later revisions are read. The home page reads
no more of it than `newest`. After an import a worker compiles it, because a page would wait for too many topics.
"""

import datetime as dt
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from django.db import transaction
from django.db.models.functions import Length

from memory.documents.diff import Hunk
from memory.models import DocumentOverview, MemoryDocument, MemoryRevision, Topic
from memory.overview.topics import topics_of
from memory.policy.paths import CURATED
from memory.text.chunking import chunks_of
from oneclaw.locks import hold
from oneclaw.tasks import hint

FORGET = MemoryRevision.Source.FORGET
# Entries of one topic on the home page. Changing it needs a migration that sets `newest` of all overviews to None.
TOPIC_SHOWN_ENTRIES = 5
# The lists of an overview, which the home page does not read.
LISTS = ("revisions", "topics", "spans")
# New lines whose topics a page chooses itself, which takes some 60 ms. A worker chooses those of more.
PAGE_MAX_NEW_LINES = 1_000
# A worker compiles the overview of a longer document after each change: such a one may have that many new lines.
LONG_MIN_CHARS = 10_000
COMPILE_TASK = "memory.tasks.compile_overview"


class OverviewWaitsError(Exception):
    """So many lines of `document` are new that a worker compiles its overview."""

    def __init__(self, document: MemoryDocument) -> None:
        super().__init__(document)
        self.document = document


@dataclass(frozen=True, slots=True)
class Entry:
    """One list item or paragraph of a document. Lines count from 1; `revision` is the number of its newest change."""

    line: int
    last_line: int
    revision: int
    topic: Topic
    is_by_model: bool = False


@dataclass(frozen=True)
class TopicEntries:
    """The newest entries of one topic, and how many there are."""

    topic: Topic
    newest: list[Entry]
    count: int


def newest_entries(overview: DocumentOverview) -> list[TopicEntries]:
    """Return the newest TOPIC_SHOWN_ENTRIES entries of each topic of `overview`, and how many each has."""
    return [
        TopicEntries(
            Topic(topic), [Entry(first, last, revision, Topic(topic)) for first, last, revision in newest], count
        )
        for topic, count, newest in overview.newest or []
    ]


def current_overview(document: MemoryDocument) -> DocumentOverview | None:
    """Return the overview of `document`, which was read together with it (select_related); None when it is not of the
    document's version."""
    known: DocumentOverview | None = getattr(document, "overview", None)
    is_current = known is not None and known.version == document.version and known.newest is not None
    return known if is_current else None


def entries_of(document: MemoryDocument) -> list[Entry]:
    """Return the entries of `document` in its order, without headings."""
    overview = overview_of(document)
    return [entry_at(overview, number) for number in range(len(overview.spans) // 2)]


def entries_with(document: MemoryDocument, lines: Iterable[int]) -> list[Entry]:
    """Return the entries of `document` that one of `lines`, from 1, is in, in its order."""
    overview = overview_of(document)
    # Of each entry its first line, and its last one.
    firsts, lasts = overview.spans[::2], overview.spans[1::2]
    found = {bisect_right(firsts, line) - 1: line for line in lines}
    return [entry_at(overview, number) for number in sorted(found) if number >= 0 and found[number] <= lasts[number]]


def entry_at(overview: DocumentOverview, number: int) -> Entry:
    """Return the entry with the index `number`, from 0."""
    first, last = overview.spans[2 * number : 2 * number + 2]
    known = overview.topics[first - 1]
    topic = Topic(known % DocumentOverview.BY_MODEL)
    return Entry(first, last, max(overview.revisions[first - 1 : last]), topic, known > DocumentOverview.BY_MODEL)


def newest_by_topic(overview: DocumentOverview) -> dict[Topic, list[int]]:
    """Return the indexes of the entries by topic, in the order of Topic, the newest first."""
    first_lines = np.array(overview.spans[::2], int) - 1
    topics = np.array(overview.topics, int)[first_lines] % DocumentOverview.BY_MODEL
    # lexsort sorts by its last key first: the newest revision, then the first line.
    order = np.lexsort((first_lines, -np.array(overview.revisions, int)[first_lines]))
    found = {topic: order[topics[order] == topic].tolist() for topic in Topic}
    return {topic: numbers for topic, numbers in found.items() if numbers}


def overview_of(document: MemoryDocument) -> DocumentOverview:
    """Return the overview of `document` at its version, brought up to date and stored if it was not."""
    known = _stored(document)
    return known if known is not None and _is_current(known, document) else _compiled(_followed(document, known))


def overview_for_page(document: MemoryDocument) -> DocumentOverview:
    """Return what overview_of returns. Raise OverviewWaitsError when so many lines are new that a page cannot wait for
    their topics."""
    known = _stored(document)
    if known is not None and _is_current(known, document):
        return known
    followed = _followed(document, known)
    if followed.new_lines > PAGE_MAX_NEW_LINES:
        raise OverviewWaitsError(document)
    return _compiled(followed)


def compile_overview(document_id: int) -> None:
    """Bring the overview of a document up to date, for the next page that shows it. Idempotent."""
    with transaction.atomic():
        # Concurrent callers wait here, and find that it is up to date.
        hold(f"overview {document_id}")
        document = MemoryDocument.objects.present().filter(pk=document_id).first()
        if document is not None:
            overview_of(document)


def compile_soon(document_ids: Sequence[int]) -> None:
    """Let a worker compile the overviews of those of `document_ids` that are curated memory and long, on commit.

    A hint that is lost is sent again by the next page that would show the overview.
    """
    long = MemoryDocument.objects.present().filter(pk__in=document_ids, path=CURATED)
    long = long.alias(length=Length("content")).filter(length__gt=LONG_MIN_CHARS)
    for document_id in long.values_list("pk", flat=True):
        hint(COMPILE_TASK, document_id)


@dataclass(frozen=True)
class _Followed:
    """The lists of an overview after all changes of its document, with topics only for lines that had one before."""

    document: MemoryDocument
    revisions: list[int]
    topics: list[int]
    # How many lines the changes have written.
    new_lines: int
    asked_at: dt.datetime | None


def _stored(document: MemoryDocument) -> DocumentOverview | None:
    known = DocumentOverview.objects.filter(document=document).first()
    if known is not None:
        known.document = document
    return known


def _is_current(known: DocumentOverview, document: MemoryDocument) -> bool:
    return known.version == document.version and known.newest is not None


def _followed(document: MemoryDocument, known: DocumentOverview | None) -> _Followed:
    """Return the lists of `known` after the later changes of `document`, or all of them when it is of no use."""
    asked_at = known.asked_at if known else None
    changes = list(
        document.revisions.order_by("number")
        .filter(number__gt=known.version if known else 0)
        .values_list("number", "hunks", "source")
    )
    if known is not None and (known.version > document.version or any(source == FORGET for _, _, source in changes)):
        # A forgetting rewrites the history, so the stored numbers belong to other lines.
        known = None
        changes = list(document.revisions.order_by("number").values_list("number", "hunks", "source"))
    line_count = document.content.count("\n") + 1
    revisions, topics = (list(known.revisions), list(known.topics)) if known else ([0], [0])
    for number, hunks, _ in changes:
        if number <= document.version:
            _follow(number, hunks, revisions, topics)
    written = sum(len(hunk["added"]) for _, hunks, _ in changes for hunk in hunks)
    if len(revisions) != line_count:
        # A forgetting rewrote the history after `document` was read; the next request sees both.
        revisions, topics, written = [document.version] * line_count, [0] * line_count, line_count
    return _Followed(document, revisions, topics, min(written, line_count), asked_at)


def _compiled(followed: _Followed) -> DocumentOverview:
    """Return the overview with the topics of the new entries, which is stored."""
    document, topics = followed.document, followed.topics
    found = [chunk for chunk in chunks_of(document.content) if not chunk.is_heading and chunk.text.strip()]
    # A line that is too long for one chunk has several: one entry.
    spans = {chunk.start_line: chunk for chunk in found}
    new = [chunk for first, chunk in spans.items() if not topics[first - 1]]
    for chunk, topic in zip(new, topics_of([(chunk.heading, chunk.text) for chunk in new]), strict=True):
        topics[chunk.start_line - 1] = topic
    made = DocumentOverview(
        document=document,
        version=document.version,
        revisions=followed.revisions,
        topics=topics,
        spans=[line for first, chunk in spans.items() for line in (first, chunk.end_line)],
        asked_at=followed.asked_at,
    )
    compile_newest(made)
    _store(made)
    return made


def compile_newest(overview: DocumentOverview) -> None:
    """Set what the home page shows of `overview`, after its lists have changed. The caller stores it."""
    overview.newest = [
        [
            topic.value,
            len(numbers),
            [[each.line, each.last_line, each.revision] for each in _first(overview, numbers)],
        ]
        for topic, numbers in newest_by_topic(overview).items()
    ]
    overview.is_grouped = all(overview.topics[line - 1] > DocumentOverview.BY_MODEL for line in overview.spans[::2])


def _first(overview: DocumentOverview, numbers: list[int]) -> list[Entry]:
    return [entry_at(overview, number) for number in numbers[:TOPIC_SHOWN_ENTRIES]]


def _follow(number: int, hunks: Sequence[Hunk], revisions: list[int], topics: list[int]) -> None:
    """Apply the change `number` to the two lists, which have one item for each line."""
    for hunk in hunks:
        at, end = hunk["at"], hunk["at"] + len(hunk["removed"])
        revisions[at:end] = [number] * len(hunk["added"])
        topics[at:end] = [0] * len(hunk["added"])


def _store(made: DocumentOverview) -> None:
    """Store `made`, unless another request stored that of a newer version meanwhile."""
    DocumentOverview.objects.bulk_create(
        [made],
        update_conflicts=True,
        unique_fields=["document"],
        update_fields=["version", "revisions", "topics", "spans", "newest", "is_grouped"],
    )
