"""Ask whether lines of the curated memory are still true: plans whose day has passed, and a few old lines a week.

ask(user)                       # any number of times
answer(review, "yes", user)     # idempotent
"""

import datetime as dt
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from django.db import transaction
from django.db.models import Max, QuerySet

from memory.documents import undo
from memory.documents.write import Author, Source
from memory.models import MemoryDocument, Review, content_hash
from memory.policy import switches
from memory.policy.paths import CURATED
from memory.text.plans import passed_day
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
    """An open review as it is shown: the line as it is now, and its index from 0."""

    review: Review
    text: str
    line: int


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
    _ask_about_old_lines(document, lines, written)


def pending(user: User) -> list[PendingReview]:
    """Return the open reviews of `user` whose lines are unchanged, the oldest question first."""
    rows = Review.objects.visible_to(user).unanswered().select_related("document__space").order_by("asked_at", "pk")
    found: list[PendingReview] = []
    for review in rows:
        content = "" if review.document.is_deleted else review.document.content
        for number, line in enumerate(content.split("\n")):
            if content_hash(line) == review.line_hash:
                found.append(PendingReview(review, line, number))
                break
    shown: dict[tuple[int, str], PendingReview] = {}
    for each in found:
        shown.setdefault((each.review.document_id, each.review.line_hash), each)
    return list(shown.values())


@transaction.atomic
def answer(shown: PendingReview, choice: str, user: User) -> None:
    """Keep the line, which is then confirmed as of now ("yes"), or delete it ("no").

    The caller has checked that `user` may write there. Raise OverlapError when the line was changed meanwhile.
    """
    document = shown.review.document
    if choice == "no":
        author = Author(Source.PAGE, user, reason=Reason("change.no_longer_true"))
        undo.change_lines(document, shown.line, 1, [], document.version, author)
        Review.objects.filter(document=document, line_hash=shown.review.line_hash).delete()
        return
    same = Review.objects.filter(document=document, line_hash=shown.review.line_hash).unanswered()
    same.update(answered_at=clock.database_now())


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


def _ask_about_old_lines(document: MemoryDocument, lines: dict[str, str], written: dict[str, dt.datetime]) -> None:
    of_document = Review.objects.filter(document=document)
    reviews = of_document.filter(kind=Review.Kind.STILL_TRUE)
    now = clock.read_database_time()
    newest = reviews.aggregate(newest=Max("asked_at"))["newest"]
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
