"""Ask whether lines of the curated memory are still true: plans whose day has passed, lines that a newer one
contradicts, and a few old lines a week.

ask(user)                       # any number of times
answer(review, "yes", user)     # idempotent
take_back(review, revision, user)
"""

import datetime as dt
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any

from django.db import transaction
from django.db.models import F, Max, QuerySet
from django.urls import reverse

from memory.documents import undo
from memory.documents.write import Author, Source
from memory.models import Decision, MemoryDocument, MemoryRevision, Review, content_hash
from memory.policy import switches
from memory.policy.paths import CURATED
from memory.text.list_marks import without_list_mark
from memory.text.plans import passed_day
from memory.tools.superseded import superseded_lines
from oneclaw.locks import hold
from oneclaw.models import Space, User, clock
from oneclaw.reasons import Reason

# Old lines that are asked about in a week, and the age from which a line is old: since it was written or confirmed.
WEEKLY_MAX_LINES = 5
WEEK = dt.timedelta(days=7)
OLD_AGE = dt.timedelta(days=90)
# A shorter line, such as a heading's remainder, is not asked about.
LINE_MIN_CHARS = 8


@dataclass(frozen=True)
class PendingReview:
    """An open review as it is shown: the line as it is now, its index from 0, and the newer line that contradicts it,
    with the document of that line."""

    review: Review
    text: str
    line: int
    newer: str = ""
    newer_line: int = 0
    newer_document: MemoryDocument | None = None

    @property
    def words(self) -> str:
        """Return the line without the mark of a list."""
        return without_list_mark(self.text)

    @property
    def newer_words(self) -> str:
        """Return the newer line without the mark of a list; empty without one."""
        return without_list_mark(self.newer)

    @property
    def url(self) -> str:
        """Return the address of the line in its file."""
        return _address(self.review.document, self.line)

    @property
    def newer_url(self) -> str:
        """Return the address of the newer line; empty without one."""
        return _address(self.newer_document, self.newer_line) if self.newer_document else ""

    @property
    def edit_url(self) -> str:
        """Return the address of the page on which the line is edited, from where it goes back to the inbox."""
        document = self.review.document
        query = {"version": document.version, "next": reverse("memory_inbox")}
        return reverse("memory_entry", args=[document.pk, self.line + 1], query=query)


@transaction.atomic
def ask(user: User) -> None:
    """Ask `user` about lines of their own MEMORY.md. Idempotent: once a line, and WEEKLY_MAX_LINES a week.

    Do nothing while the person has switched reviews off.
    """
    if not switches.is_on(user, switches.Switch.REVIEWS):
        return
    document = MemoryDocument.objects.present().filter(space=Space.objects.own_of(user), path=CURATED).first()
    if document is None:
        return
    hold(f"reviews of {document.pk}")
    written = _written(document)
    lines = {content_hash(line): line for line in _lines(document.content)}
    _ask_about_passed_days(document, lines, written, user)
    _ask_about_superseded_lines(document, lines, written, user)
    _ask_about_old_lines(document, lines, written)


def pending(user: User) -> list[PendingReview]:
    """Return the open reviews of `user` whose lines are unchanged, the oldest question first; one for a line."""
    rows = list(Review.objects.visible_to(user).unanswered().order_by("asked_at", "pk"))
    wanted: dict[int, set[str]] = defaultdict(set)
    for review in rows:
        wanted[review.document_id].add(review.line_hash)
        if review.newer_document_id is not None:
            wanted[review.newer_document_id].add(review.newer_hash)
    documents = MemoryDocument.objects.present().select_related("space").in_bulk(wanted)
    lines = {pk: _lines_by_hash(document.content, wanted[pk]) for pk, document in documents.items()}
    found: dict[tuple[int, str], PendingReview] = {}
    for review in rows:
        known = lines.get(review.document_id, {}).get(review.line_hash)
        newer = lines.get(review.newer_document_id or 0, {}).get(review.newer_hash)
        if known is None or (newer is None and review.kind == Review.Kind.SUPERSEDED):
            continue
        review.document = documents[review.document_id]
        shown = PendingReview(review, known[1], known[0])
        if newer is not None:
            where = documents[review.newer_document_id or 0]
            shown = replace(shown, newer_line=newer[0], newer=newer[1], newer_document=where)
        found.setdefault((review.document_id, review.line_hash), shown)
    return list(found.values())


@transaction.atomic
def answer(shown: PendingReview, choice: str, user: User) -> MemoryRevision | None:
    """Keep the line, which is then confirmed as of now ("yes"), or delete it ("no") and return the revision.

    The caller has checked that `user` may write there. Raise OverlapError when the line was changed meanwhile.
    """
    document = shown.review.document
    if choice == "no":
        author = Author(Source.PAGE, user, reason=Reason("change.no_longer_true"))
        revision = undo.change_lines(document, shown.line, 1, [], document.version, author)
        # They are kept, so that the answer can be taken back.
        rows = Review.objects.filter(document=document, line_hash=shown.review.line_hash)
        rows.update(answered_at=clock.database_now())
        return revision
    confirm(document, [shown.text])
    return None


@transaction.atomic
def take_back(review: Review, revision: MemoryRevision | None, user: User) -> None:
    """Take back the answer to `review`: ask it again, and undo `revision`, which has deleted the line. Idempotent.

    The caller has checked that `user` may write there. Raise DocumentError when the line cannot be restored.
    """
    at = Review.objects.filter(pk=review.pk).values_list("answered_at", flat=True).first()
    if at is None:
        return
    if revision is not None:
        undo.undo(revision, Author(Source.UNDO, user, reason=Reason("change.taken_back", {"number": revision.number})))
    rows = Review.objects.filter(document=review.document_id, line_hash=review.line_hash, answered_at=at)
    # What confirm() has added to other kinds of questions.
    rows.filter(kind=Review.Kind.STILL_TRUE, asked_at=at).exclude(pk=review.pk).delete()
    rows.update(answered_at=None)


@transaction.atomic
def confirm(document: MemoryDocument, lines: Iterable[str]) -> None:
    """Record that `lines` of `document` are still true as of now, which answers the questions about them. Idempotent.

    The caller has checked that the person may write there.
    """
    hashes = sorted({content_hash(line) for line in lines if line.strip()})
    now = clock.database_now()
    Review.objects.filter(document=document, line_hash__in=hashes).update(answered_at=now)
    # What was never asked has the same time for both, and is none of the week's questions.
    rows = [
        Review(document=document, kind=Review.Kind.STILL_TRUE, line_hash=hash, asked_at=now, answered_at=now)
        for hash in hashes
    ]
    Review.objects.bulk_create(rows, ignore_conflicts=True)


def _address(document: MemoryDocument, line: int) -> str:
    return f"{reverse('memory_document', args=[document.pk])}#line-{line + 1}"


def _lines_by_hash(content: str, hashes: set[str]) -> dict[str, tuple[int, str]]:
    """Return the index and the text of the first line of `content` with each of `hashes`."""
    found: dict[str, tuple[int, str]] = {}
    for number, line in enumerate(content.split("\n")):
        if len(found) == len(hashes):
            break
        if line.strip() and (hash := content_hash(line)) in hashes:
            found.setdefault(hash, (number, line))
    return found


def _ask_about_passed_days(
    document: MemoryDocument, lines: dict[str, str], written: dict[str, dt.datetime], user: User
) -> None:
    today = user.day()
    passed = {
        hash: day
        for hash, line in lines.items()
        if line in written and (day := passed_day(line, user.day(written[line]), today))
    }
    rows = [Review(document=document, kind=Review.Kind.OUTDATED, line_hash=hash, day=passed[hash]) for hash in passed]
    Review.objects.bulk_create(rows, ignore_conflicts=True)


def _ask_about_superseded_lines(
    document: MemoryDocument, lines: dict[str, str], written: dict[str, dt.datetime], user: User
) -> None:
    """Ask about lines that a newer line contradicts by its words, unless the person has already decided about the two
    or confirmed the older one since."""
    reviews = Review.objects.filter(document=document)
    confirmed = dict(
        reviews.exclude(answered_at=None).values_list("line_hash").annotate(last=Max("answered_at")).order_by()
    )
    decided = Decision.objects.filter(revision__document=document, kind=Decision.Kind.CONTRADICTION)
    hashes = set(decided.values_list("lines_hash", flat=True))
    since = {
        line: max(written[line], confirmed.get(hash, written[line]))
        for hash, line in lines.items()
        if line in written and hash not in hashes
    }
    known = dict(reviews.filter(kind=Review.Kind.SUPERSEDED).values_list("line_hash", "newer_hash"))
    for line, newer in superseded_lines(document, since, written, user).items():
        hash, newer_hash = content_hash(line), content_hash(newer.text)
        if known.get(hash) == newer_hash:
            continue
        Review.objects.update_or_create(
            document=document,
            kind=Review.Kind.SUPERSEDED,
            line_hash=hash,
            defaults={
                "newer_document_id": newer.document_id,
                "newer_hash": newer_hash,
                "answered_at": None,
                "asked_at": clock.database_now(),
            },
        )


def _ask_about_old_lines(document: MemoryDocument, lines: dict[str, str], written: dict[str, dt.datetime]) -> None:
    of_document = Review.objects.filter(document=document)
    reviews = of_document.filter(kind=Review.Kind.STILL_TRUE)
    now = clock.read_database_time()
    newest = reviews.exclude(asked_at=F("answered_at")).aggregate(newest=Max("asked_at"))["newest"]
    if newest is not None and newest > now - WEEK:
        return
    reviews.unanswered().delete()
    confirmed = dict(of_document.exclude(answered_at=None).values_list("line_hash", "answered_at"))
    outdated = set(of_document.filter(answered_at=None).values_list("line_hash", flat=True))
    since = {
        hash: max(filter(None, [written.get(line), confirmed.get(hash)]), default=now)
        for hash, line in lines.items()
        if hash not in outdated
    }
    old = sorted((moment, hash) for hash, moment in since.items() if moment < now - OLD_AGE)[:WEEKLY_MAX_LINES]
    hashes = [hash for _, hash in old]
    reviews.filter(line_hash__in=hashes).delete()
    Review.objects.bulk_create(
        [Review(document=document, kind=Review.Kind.STILL_TRUE, line_hash=hash) for hash in hashes]
    )


def _lines(content: str) -> Iterator[str]:
    for line in content.split("\n"):
        if len(line.strip()) >= LINE_MIN_CHARS and not line.lstrip().startswith(("#", "```", ">")):
            yield line


def _written(document: MemoryDocument) -> dict[str, dt.datetime]:
    """Return the time at which each line of the history was last added."""
    rows: QuerySet[Any] = document.revisions.order_by("number").values_list("hunks", "created_at")
    found: dict[str, dt.datetime] = {}
    for hunks, created_at in rows:
        for hunk in hunks:
            # A line that a change moved is as old as before.
            found |= {line: created_at for line in hunk["added"] if line not in hunk["removed"]}
    return found
