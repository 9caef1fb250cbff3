"""Forgetting: lines go from wherever memory keeps them, and are not learnt again.

    shown = forget_plans.plan(space, ["- Ada likes tea."])    # what would go; changes nothing
    forget(space, ["- Ada likes tea."], ada, shown.digest)    # it goes; the receipt

All rows change in one transaction. Files, and answers that are being written at that moment, follow (`finish`); what a
crash leaves undone the sweep does.
"""

import datetime as dt
import logging
from collections.abc import Iterable
from functools import cache, partial
from typing import Any

from django.db import transaction
from django.db.models import F, QuerySet
from django.utils import timezone
from django.utils.translation import gettext_lazy

from chat.models import ChatSession, Turn
from memory.documents import write
from memory.documents.diff import diff
from memory.files.mirror import try_to_mirror
from memory.forgetting import conversations
from memory.forgetting.files import clean_files, files_with
from memory.forgetting.plan import ForgetError, Going, Plan, Wanted, found_in, plan_of
from memory.forgetting.rewrite import erased
from memory.index import conversations as conversation_index
from memory.index import vectors
from memory.index.documents import index_documents
from memory.models import (
    Decision,
    DocumentJob,
    Flush,
    Forgetting,
    ForgottenLine,
    MemoryDocument,
    MemoryRevision,
    Upload,
    content_hash,
)
from memory.notes import recent
from memory.policy.tombstones import Known, keyed, lock_of, of_space
from oneclaw.locks import hold
from oneclaw.models import Space, User
from oneclaw.reasons import Reason

logger = logging.getLogger(__name__)

# How long a forgetting takes at most: an answer that began later has read nothing of it.
LONGEST = dt.timedelta(minutes=5)


class Changed(ForgetError):
    """Something else would go than what was shown; `plan` is what would go now."""

    words = gettext_lazy("Memory was changed in the meantime, and nothing was forgotten. This is the new preview.")

    def __init__(self, plan: Plan):
        super().__init__()
        self.plan = plan


class _Again(Exception):
    """A document was made while we waited."""


def forget(space: Space, lines: Iterable[str], user: User | None, digest: str | None = None) -> Forgetting:
    """Take the lines away, everywhere, and remember hashes of them. Whether `user` may is for the caller to know.

    With the digest of a plan, Changed when something else would go by now. NothingToForget, TooMany.
    """
    wanted = Wanted.of(lines)
    found = files_with(space, wanted.known)
    while True:
        try:
            with transaction.atomic():
                return _forget(space, wanted, user, digest, found)
        except _Again:
            logger.info("A document was made while something was forgotten in space %s: once more.", space.pk)


def finish(forgetting_id: int) -> bool:
    """Do what follows a forgetting outside of its transaction; whether nothing is left to do. Safe to run twice."""
    forgetting = Forgetting.objects.unfinished().select_related("space__owner").filter(pk=forgetting_id).first()
    if forgetting is None:
        return True
    space, known = forgetting.space, of_space(forgetting.space_id)
    changed = space.documents.filter(revisions__source=MemoryRevision.Source.FORGET, mirrored_version__lt=F("version"))
    for pk in list(changed.values_list("pk", flat=True).distinct()):
        try_to_mirror(pk)
    clean_files(space, known)
    sessions = conversations.sessions_of(space)
    # Who read memory before may have written it down after.
    meanwhile = Turn.objects.filter(session__in=sessions, started_at__lte=forgetting.created_at + LONGEST)
    late = meanwhile.exclude(finished_at__lt=forgetting.created_at)
    _blank(sessions.filter(pk__in=late.values("session")), known)
    vectors.prune(space.pk)
    if late.running().exists() or changed.exists():
        return False
    Forgetting.objects.filter(pk=forgetting_id).update(finished_at=timezone.now())
    return True


def finish_all() -> None:
    """For the sweep."""
    for pk in Forgetting.objects.unfinished().values_list("pk", flat=True):
        finish_soon(pk)


def finish_soon(forgetting_id: int) -> None:
    try:
        finish(forgetting_id)
    except OSError:
        logger.exception("Files could not be cleaned after forgetting %s; the sweep tries again.", forgetting_id)


@transaction.atomic
def _blank(sessions: QuerySet[ChatSession], known: Known) -> None:
    list(sessions.select_for_update(no_key=True).order_by("pk").values_list("pk"))
    conversations.blank(conversations.find(sessions, known))


def _forget(space: Space, wanted: Wanted, user: User | None, digest: str | None, found: list[str]) -> Forgetting:
    """In the order in which everybody locks: conversations, documents, the space."""
    began = timezone.now()
    touched = found_in(conversations.sessions_of(space), wanted)
    sessions = ChatSession.objects.filter(pk__in=touched.sessions | touched.said_in)
    list(sessions.select_for_update(no_key=True).order_by("pk").values_list("pk"))
    locked = set(space.documents.select_for_update().order_by("pk").values_list("pk", flat=True))
    hold(lock_of(space.pk))
    if set(space.documents.values_list("pk", flat=True)) != locked:
        raise _Again
    # Once more, now that nobody writes them.
    touched = found_in(sessions, wanted)
    made = plan_of(space, wanted, touched)
    made.files = found
    if digest is not None and made.digest != digest:
        raise Changed(made)
    hashes = {keyed(space.pk, phrase.words): phrase for phrase in wanted.phrases}
    # Before all else: by this row the database lets lines go out of revisions.
    forgetting = Forgetting.objects.create(space=space, author=user, hashes=sorted(hashes), created_at=began)
    rows = [
        ForgottenLine(space=space, hash=hash, words=len(phrase.words), whole=phrase.is_whole)
        for hash, phrase in hashes.items()
    ]
    ForgottenLine.objects.bulk_create(rows, ignore_conflicts=True)
    for going in made.documents:
        _erase(going, wanted.known, user)
    conversation_index.begin_again(touched.said_in)
    index_documents([going.document_id for going in made.documents], force=True)
    made.vectors = vectors.prune(space.pk)
    conversations.blank(touched)
    for waiting in (Flush.objects.filter(space=space), DocumentJob.objects.filter(space=space)):
        for row in waiting.exclude(error=""):
            if wanted.known.is_in_text(row.error):
                type(row).objects.filter(pk=row.pk).update(error="")
    # Questions about what stood there hold a hash of it, and what waits to be imported may say it.
    Decision.objects.filter(revision__document__in=[going.document_id for going in made.documents]).delete()
    Upload.objects.filter(owner=space.owner).delete()
    forgetting.counts = made.counts
    forgetting.save(update_fields=["counts"])
    for going in made.documents:
        write.announce(going.document_id)
    transaction.on_commit(partial(finish_soon, forgetting.pk), robust=True)
    return forgetting


def _erase(going: Going, known: Known, user: User | None) -> None:
    """The document's history becomes one without the lines, and a change says that something was forgotten."""
    document = MemoryDocument.objects.get(pk=going.document_id)
    is_gone = cache(known.is_in)
    rows: list[Any] = list(
        document.revisions.order_by("number").values("pk", "hunks", "content_hash", "reason", "operation_key")
    )
    content = ""
    for row, (hunks, content) in zip(rows, erased([row["hunks"] for row in rows], is_gone), strict=True):
        fresh: dict[str, Any] = {"hunks": hunks, "content_hash": content_hash(content)}
        if row["reason"] and any(map(is_gone, row["reason"].texts)):
            fresh["reason"] = None
        if fresh["content_hash"] != row["content_hash"] and (row["operation_key"] or "").startswith("file:"):
            # Such a key holds a hash of the file.
            fresh["operation_key"] = None
        if any(row[name] != value for name, value in fresh.items()):
            MemoryRevision.objects.filter(pk=row["pk"]).update(**fresh)
    now = timezone.now()
    left = content
    if document.path == recent.PATH:
        left = known.without(recent.without(document.content, known.is_in_text))
    document.version += 1
    document.content, document.content_hash, document.updated_at = left, content_hash(left), now
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
        hunks=diff(content, left),
        content_hash=document.content_hash,
        created_at=now,
    )
