"""Forget lines: remove them from everywhere memory keeps them, and keep them from being learnt again.

    preview = plan.plan(space, ["- Ada likes tea."])    # changes nothing
    receipt = forget(space, ["- Ada likes tea."], ada, preview.digest)

All rows change in one transaction. Files, and answers that are being written at that moment, follow in finish(), which
the sweep repeats after a crash.
"""

import datetime as dt
import logging
from collections.abc import Iterable
from functools import cache, partial
from typing import Any

from django.db import transaction
from django.db.models import F, Q, QuerySet
from django.utils import timezone
from django.utils.translation import gettext_lazy

from chat.models import ChatSession, ContextRound, Turn
from memory.documents import write
from memory.documents.diff import diff
from memory.files.mirror import try_to_mirror
from memory.forgetting import conversations, summaries
from memory.forgetting.files import clean_files, files_with
from memory.forgetting.plan import (
    DocumentErasure,
    ForgetError,
    ForgettingPlan,
    LinesToForget,
    build_plan,
    find_in_conversations,
)
from memory.forgetting.rewrite import erase_lines
from memory.index import conversations as conversation_index
from memory.index import vectors
from memory.index.documents import index_documents
from memory.models import (
    Decision,
    DocumentJob,
    Flush,
    Forgetting,
    ForgottenLine,
    LineFeedback,
    MemoryDocument,
    MemoryRevision,
    Review,
    Upload,
    content_hash,
)
from memory.notes import recent
from memory.policy import curation
from memory.policy.paths import RECENT_NAME
from memory.policy.tombstones import LineMatcher, line_hash, lock_name, of_space
from memory.trust import proposals, suggestions
from oneclaw.audit import holds
from oneclaw.audit.record import record
from oneclaw.locks import hold
from oneclaw.models import AuditKind, Space, User, clock
from oneclaw.reasons import Reason

logger = logging.getLogger(__name__)

# The longest time of a forgetting: an answer that began later cannot have read the lines.
FORGETTING_MAX_DURATION = dt.timedelta(minutes=5)


class PlanChangedError(ForgetError):
    """The lines to remove are no longer those of the preview; `plan` is the new one."""

    wording = gettext_lazy("Memory was changed in the meantime, and nothing was forgotten. This is the new preview.")

    def __init__(self, plan: ForgettingPlan):
        super().__init__()
        self.plan = plan


class ForgettingHeldError(ForgetError):
    """A legal hold keeps the lines."""

    wording = holds.HeldError.wording


def refuse_if_held(space: Space) -> None:
    """Raise ForgettingHeldError when a legal hold keeps what is in `space`."""
    try:
        holds.refuse_if_held(spaces=[space])
    except holds.HeldError:
        raise ForgettingHeldError from None


class _DocumentAddedError(Exception):
    """A document was created while the locks were taken."""


def forget(space: Space, lines: Iterable[str], user: User | None, digest: str | None = None) -> Forgetting:
    """Remove `lines` everywhere in `space`, store their tombstones, and return the receipt.

    The caller has checked that `user` may do this. Raise NothingToForgetError, TooManyLinesError or
    ForgettingHeldError, and PlanChangedError when `digest` is not that of the present plan.
    """
    refuse_if_held(space)
    wanted = LinesToForget.of(lines)
    found = files_with(space, wanted.known)
    while True:
        try:
            with transaction.atomic():
                return _forget(space, wanted, user, digest, found)
        except _DocumentAddedError:
            logger.info("A document was made while something was forgotten in space %s: once more.", space.pk)


def finish(forgetting_id: int) -> bool:
    """Clean up files and late answers after a forgetting; return whether nothing is left to do. Idempotent."""
    forgetting = Forgetting.objects.unfinished().select_related("space__owner").filter(pk=forgetting_id).first()
    if forgetting is None:
        return True
    space, known = forgetting.space, of_space(forgetting.space_id)
    changed = space.documents.filter(revisions__source=MemoryRevision.Source.FORGET, mirrored_version__lt=F("version"))
    for pk in list(changed.values_list("pk", flat=True).distinct()):
        try_to_mirror(pk)
    clean_files(space, known)
    sessions = conversations.sessions_of(space)
    # A turn or a summary that read memory before the forgetting may have written the lines after it.
    last = forgetting.created_at + FORGETTING_MAX_DURATION
    turns = Turn.objects.filter(session__in=sessions, started_at__lte=last)
    late = turns.exclude(finished_at__lt=forgetting.created_at)
    rounds = ContextRound.objects.filter(session__in=sessions, created_at__lte=last)
    late_rounds = rounds.exclude(finished_at__lt=forgetting.created_at)
    touched = Q(pk__in=late.values("session")) | Q(pk__in=late_rounds.values("session"))
    _blank(sessions.filter(touched), known, late, late_rounds)
    conversations.blank_notes(space, known)
    vectors.prune(space.pk)
    if late.running().exists() or late_rounds.running().exists() or changed.exists():
        return False
    Forgetting.objects.filter(pk=forgetting_id).update(finished_at=clock.database_now())
    return True


def finish_all() -> None:
    """Finish every forgetting that is not done yet. Called by the sweep."""
    for pk in Forgetting.objects.unfinished().values_list("pk", flat=True):
        try_to_finish(pk)


def try_to_finish(forgetting_id: int) -> None:
    """Finish a forgetting. An error of the disk is logged, and the sweep retries."""
    try:
        finish(forgetting_id)
    except OSError:
        logger.exception("Files could not be cleaned after forgetting %s; the sweep tries again.", forgetting_id)


@transaction.atomic
def _blank(
    sessions: QuerySet[ChatSession], known: LineMatcher, late: QuerySet[Turn], late_rounds: QuerySet[ContextRound]
) -> None:
    list(sessions.select_for_update(no_key=True).order_by("pk").values_list("pk"))
    conversations.blank(conversations.find(sessions, known))
    conversations.remove_signatures_of(late.exclude(status=Turn.Status.RUNNING))
    summaries.drop_blocks(late_rounds)


def _forget(space: Space, wanted: LinesToForget, user: User | None, digest: str | None, found: list[str]) -> Forgetting:
    """Lock conversations, documents and the space, in the order that every transaction here keeps; remove the lines."""
    began = clock.read_database_time()
    touched = find_in_conversations(conversations.sessions_of(space), wanted)
    sessions = ChatSession.objects.filter(pk__in=touched.sessions | touched.said_in)
    # A conversation of another person than the owner of a private space, or in a space of its own hold.
    if sessions.filter(pk__in=touched.sessions).held().exists():
        raise ForgettingHeldError
    list(sessions.select_for_update(no_key=True).order_by("pk").values_list("pk"))
    # Until the end, no worker stores a summary of what it read before.
    rounds = ContextRound.objects.filter(session__in=sessions)
    list(rounds.select_for_update().order_by("pk").values_list("pk"))
    locked = set(space.documents.select_for_update().order_by("pk").values_list("pk", flat=True))
    hold(lock_name(space.pk))
    if set(space.documents.values_list("pk", flat=True)) != locked:
        raise _DocumentAddedError
    # Search again, now that the rows are locked.
    touched = find_in_conversations(sessions, wanted)
    made = build_plan(space, wanted, touched)
    made.files = found
    if digest is not None and made.digest != digest:
        raise PlanChangedError(made)
    hashes = {line_hash(space.pk, phrase.words): phrase for phrase in wanted.phrases}
    # First, because the database allows changes of revisions only in a transaction with this row.
    forgetting = Forgetting.objects.create(space=space, author=user, hashes=sorted(hashes), created_at=began)
    rows = [
        ForgottenLine(space=space, hash=hash, words=len(phrase.words), whole=phrase.is_whole)
        for hash, phrase in hashes.items()
    ]
    ForgottenLine.objects.bulk_create(rows, ignore_conflicts=True)
    for erasure in made.documents:
        _erase(erasure, wanted.known, user)
    conversation_index.rebuild(touched.said_in)
    index_documents([erasure.document_id for erasure in made.documents], force=True)
    vectors.prune(space.pk)
    conversations.blank(touched)
    conversations.blank_notes(space, wanted.known)
    for waiting in (Flush.objects.filter(space=space), DocumentJob.objects.filter(space=space)):
        for row in waiting.exclude(error=""):
            if wanted.known.is_in_text(row.error):
                type(row).objects.filter(pk=row.pk).update(error="")
    # Decisions and reviews hold hashes of the removed lines, and pending uploads may hold the lines.
    erased = [erasure.document_id for erasure in made.documents]
    Decision.objects.filter(revision__document__in=erased).delete()
    Review.objects.filter(Q(document__in=erased) | Q(newer_document__in=erased)).delete()
    if space.is_private:
        Upload.objects.filter(owner=space.owner).delete()
    for question in space.golden_questions.all():
        if wanted.known.is_in_text(question.question) or wanted.known.is_in_text(question.expected):
            question.delete()
    suggestions.forget(space, wanted.known)
    proposals.forget(space, wanted.known)
    LineFeedback.objects.of_removed_lines(space).delete()
    forgetting.counts = made.counts
    forgetting.save(update_fields=["counts"])
    record(AuditKind.FORGOTTEN, actor=user, space=space, forgetting=forgetting.pk)
    if user is not None:
        curation.record_forgetting(user, space, forgetting.pk)
    for erasure in made.documents:
        write.announce(erasure.document_id)
    transaction.on_commit(partial(try_to_finish, forgetting.pk), robust=True)
    return forgetting


def _erase(erasure: DocumentErasure, known: LineMatcher, user: User | None) -> None:
    """Rewrite the history of a document without the forgotten lines, and add a revision that records the forgetting."""
    document = MemoryDocument.objects.get(pk=erasure.document_id)
    is_forgotten = cache(known.is_in)
    rows: list[Any] = list(
        document.revisions.order_by("number").values("pk", "hunks", "content_hash", "reason", "operation_key")
    )
    content = ""
    for row, (hunks, content) in zip(rows, erase_lines([row["hunks"] for row in rows], is_forgotten), strict=True):
        fresh: dict[str, Any] = {"hunks": hunks, "content_hash": content_hash(content)}
        if row["reason"] and any(map(is_forgotten, row["reason"].texts)):
            fresh["reason"] = None
        if fresh["content_hash"] != row["content_hash"] and (row["operation_key"] or "").startswith("file:"):
            # The key of an imported file holds a hash of its text.
            fresh["operation_key"] = None
        if any(row[name] != value for name, value in fresh.items()):
            MemoryRevision.objects.filter(pk=row["pk"]).update(**fresh)
    now = timezone.now()
    remaining = content
    if document.path == RECENT_NAME:
        remaining = known.without(recent.without(document.content, known.is_in_text))
    document.version += 1
    document.content, document.content_hash, document.updated_at = remaining, content_hash(remaining), now
    document.save(update_fields=["version", "content", "content_hash", "updated_at"])
    kind = MemoryRevision.Kind.DELETE if document.is_deleted else MemoryRevision.Kind.REPLACE
    MemoryRevision.objects.create(
        space_id=document.space_id,
        document=document,
        number=document.version,
        kind=kind,
        source=MemoryRevision.Source.FORGET,
        author=user,
        reason=Reason("change.forgotten"),
        hunks=diff(content, remaining),
        content_hash=document.content_hash,
        created_at=now,
    )
