"""Forgetting: lines go from wherever memory keeps them, and are not learnt again.

    shown = plan(space, ["- Ada likes tea."])                 # what would go; changes nothing
    forget(space, ["- Ada likes tea."], ada, shown.digest)    # it goes; the receipt

All rows change in one transaction. Files, and answers that are being written at that moment, follow (`finish`); what a
crash leaves undone the sweep does.
"""

import datetime as dt
import hashlib
import json
import logging
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache, partial
from itertools import groupby
from operator import itemgetter
from typing import Any

from django.db import transaction
from django.db.models import F, QuerySet
from django.utils import timezone
from django.utils.translation import gettext_lazy

from chat.models import ChatSession, Turn
from memory import projections, reasons, recent, traces, transcript_indexing, vectors
from memory.chunking import LONGEST_UNIT, units
from memory.erasure import erased
from memory.file_traces import clean_files, files_with
from memory.forgotten import BLANK, Known, Phrase, keyed, lock_of, of_phrases, of_space, words_of
from memory.hunks import Hunk, diff
from memory.indexing import index_documents
from memory.locks import hold
from memory.models import (
    Decision,
    Errand,
    Flush,
    Forgetting,
    ForgottenLine,
    MemoryChunk,
    MemoryDocument,
    MemoryRevision,
    TextVector,
    Upload,
    content_hash,
)
from oneclaw.models import Space, User
from oneclaw.text import Told

logger = logging.getLogger(__name__)

# Lines that can be forgotten at once.
MOST_LINES = 500
# How long a forgetting takes at most: an answer that began later has read nothing of it.
LONGEST = dt.timedelta(minutes=5)


class ForgetError(Told):
    """Nothing was forgotten."""


class NothingToForget(ForgetError):
    """No words were named."""

    words = gettext_lazy("Choose at least one line with words in it.")


class TooMany(ForgetError):
    """More lines than go at once."""

    words = gettext_lazy("At most %(most)s lines can be forgotten at once.")

    def __init__(self) -> None:
        super().__init__(most=MOST_LINES)


class Changed(ForgetError):
    """Something else would go than what was shown; `plan` is what would go now."""

    words = gettext_lazy("Meanwhile something has changed, and nothing was forgotten yet. This is what would go now.")

    def __init__(self, plan: "Plan"):
        super().__init__()
        self.plan = plan


class _Again(Exception):
    """A document was made while we waited."""


@dataclass(frozen=True)
class Going:
    """What goes from one document: lines as they stand now, with their numbers from 1; lines that stand in earlier
    states only; and how many changes of its history hold any."""

    document_id: int
    path: str
    is_deleted: bool
    lines: list[tuple[int, str]]
    earlier: list[str]
    revisions: int


@dataclass
class Plan:
    """What forgetting these lines takes away, and what it leaves."""

    lines: list[str]
    documents: list[Going] = field(default_factory=list)
    # Titles of the sections of Recent Conversations.md that go whole.
    summaries: list[str] = field(default_factory=list)
    chunks: int = 0
    vectors: int = 0
    # Paths of files in the folder.
    files: list[str] = field(default_factory=list)
    # Notes and summaries still to be written of conversations that say it; they will leave it out.
    waiting: int = 0
    # Messages of conversations that hold it as recalled text or as a tool's words, and prompts.
    messages: int = 0
    prompts: int = 0
    # What stays: the conversations in which it was said, and documents whose name says it.
    said_in: list[ChatSession] = field(default_factory=list)
    names: list[str] = field(default_factory=list)

    @property
    def counts(self) -> dict[str, int]:
        return {
            "lines": sum(len(going.lines) for going in self.documents),
            "earlier_lines": sum(len(going.earlier) for going in self.documents),
            "documents": len(self.documents),
            "revisions": sum(going.revisions for going in self.documents),
            "summaries": len(self.summaries),
            "chunks": self.chunks,
            "vectors": self.vectors,
            "files": len(self.files),
            "waiting": self.waiting,
            "messages": self.messages,
            "prompts": self.prompts,
        }

    @property
    def digest(self) -> str:
        """Another one when other lines would go."""
        shown = [(going.path, [line for _, line in going.lines], going.earlier) for going in self.documents]
        return hashlib.sha256(json.dumps([self.lines, shown, self.summaries]).encode(errors="replace")).hexdigest()


def plan(space: Space, lines: Iterable[str]) -> Plan:
    """What would go. NothingToForget when no line has words, TooMany."""
    wanted = Wanted.of(lines)
    made = _plan(space, wanted, _found(traces.sessions_of(space), wanted))
    made.files = files_with(space, wanted.known)
    return made


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


def lines_with(space: Space, words: str) -> list[str]:
    """Every line that holds these words one after the other, in a document as it stands, first, or as it once stood.
    Deleted documents count."""
    spoken = words_of(words)
    if not spoken:
        return []
    # Whatever its length, it is looked for inside lines.
    known = Known(tuple, frozenset(), {len(spoken): frozenset([spoken])})
    is_in = cache(known.is_in)
    now: dict[str, None] = {}
    for content in space.documents.order_by("path").values_list("content", flat=True).iterator(chunk_size=20):
        now |= dict.fromkeys(line for line in content.split("\n") if is_in(line))
    for _, rows in _histories(space):
        now |= dict.fromkeys(line for row in rows for line in _lines_of(row["hunks"]) if is_in(line))
    return list(now)


def finish(forgetting_id: int) -> bool:
    """Do what follows a forgetting outside of its transaction; whether nothing is left to do. Safe to run twice."""
    forgetting = Forgetting.objects.unfinished().select_related("space__owner").filter(pk=forgetting_id).first()
    if forgetting is None:
        return True
    space, known = forgetting.space, of_space(forgetting.space_id)
    changed = space.documents.filter(revisions__source=MemoryRevision.Source.FORGET, mirrored_version__lt=F("version"))
    for pk in list(changed.values_list("pk", flat=True).distinct()):
        projections.mirror(pk)
    clean_files(space, known)
    sessions = traces.sessions_of(space)
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


@dataclass(frozen=True)
class Wanted:
    """The lines to forget, and how they are recognised."""

    lines: list[str]
    phrases: list[Phrase]
    known: Known

    @classmethod
    def of(cls, lines: Iterable[str]) -> "Wanted":
        """NothingToForget, TooMany."""
        chosen = [line for line in dict.fromkeys(line.strip() for text in lines for line in text.split("\n")) if line]
        # A long line was also shown in the pieces that search cut it into.
        pieces = [unit.text for line in chosen if len(line) > LONGEST_UNIT for unit in units(line)]
        found = dict.fromkeys(words_of(line) for line in [*chosen, *pieces])
        # What stands in place of something forgotten can itself not be forgotten.
        phrases = [Phrase(words) for words in found if words and words != words_of(BLANK)]
        if not phrases:
            raise NothingToForget
        if len(chosen) > MOST_LINES:
            raise TooMany
        return cls(chosen, phrases, of_phrases(phrases))

    def is_cut(self, line: str) -> bool:
        """Whether the line is the beginning of a forgotten one."""
        words = words_of(line)
        if not words:
            return False
        # Its last word may be cut as well.
        *before, last = words
        at = len(before)
        begun = (phrase.words[at] for phrase in self.phrases if list(phrase.words[:at]) == before and phrase.words[at:])
        return any(word.startswith(last) for word in begun)


def _found(sessions: QuerySet[ChatSession], wanted: Wanted) -> traces.Traces:
    return traces.find(sessions, wanted.known, wanted.is_cut)


@transaction.atomic
def _blank(sessions: QuerySet[ChatSession], known: Known) -> None:
    list(sessions.select_for_update(no_key=True).order_by("pk").values_list("pk"))
    traces.blank(traces.find(sessions, known))


def _plan(space: Space, wanted: Wanted, found: traces.Traces) -> Plan:
    known = wanted.known
    is_in = cache(known.is_in)
    made = Plan(wanted.lines)
    about = {row.pk: row for row in space.documents.defer("content")}
    for document_id, rows in _histories(space):
        document = about.get(document_id)
        if document is None:
            continue
        lines: dict[str, None] = {}
        revisions = 0
        for row in rows:
            held = [line for line in _lines_of(row["hunks"]) if is_in(line)]
            lines |= dict.fromkeys(held)
            revisions += bool(held) or is_in(row["reason"])
        if not revisions:
            continue
        content = MemoryDocument.objects.values_list("content", flat=True).get(pk=document_id)
        standing = [(number, line) for number, line in enumerate(content.split("\n"), 1) if is_in(line)]
        now = {line for _, line in standing}
        earlier = [line for line in lines if line not in now]
        made.documents.append(Going(document_id, document.path, document.is_deleted, standing, earlier, revisions))
        if document.path == recent.PATH:
            ours = ((title, section) for title, section in recent.sections(content) if title)
            made.summaries = [title for title, section in ours if known.is_in_text(section)]
        keys = _keys_of_chunks(document_id, [number for number, _ in standing])
        made.chunks += len(keys)
        made.vectors += TextVector.objects.filter(space=space, text_key__in=keys).count()
    made.documents.sort(key=lambda going: going.path)
    made.messages, made.prompts = len(found.messages), len(found.prompts)
    made.waiting = sum(rows.filter(session__in=found.said_in).count() for rows in _waiting(space))
    if space.is_private:
        said = ChatSession.objects.visible_to(space.owner).filter(pk__in=found.said_in)
        made.said_in = list(said.order_by("-active_at"))
    made.names = sorted(row.path for row in about.values() if known.is_in(row.path))
    return made


def _forget(space: Space, wanted: Wanted, user: User | None, digest: str | None, found: list[str]) -> Forgetting:
    """In the order in which everybody locks: conversations, documents, the space."""
    began = timezone.now()
    touched = _found(traces.sessions_of(space), wanted)
    sessions = ChatSession.objects.filter(pk__in=touched.sessions | touched.said_in)
    list(sessions.select_for_update(no_key=True).order_by("pk").values_list("pk"))
    locked = set(space.documents.select_for_update().order_by("pk").values_list("pk", flat=True))
    hold(lock_of(space.pk))
    if set(space.documents.values_list("pk", flat=True)) != locked:
        raise _Again
    # Once more, now that nobody writes them.
    touched = _found(sessions, wanted)
    made = _plan(space, wanted, touched)
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
    transcript_indexing.begin_again(touched.said_in)
    index_documents([going.document_id for going in made.documents], force=True)
    made.vectors = vectors.prune(space.pk)
    traces.blank(touched)
    for waiting in (Flush.objects.filter(space=space), Errand.objects.filter(space=space)):
        for row in waiting.exclude(error=""):
            if wanted.known.is_in_text(row.error):
                type(row).objects.filter(pk=row.pk).update(error="")
    # Questions about what stood there hold a hash of it, and what waits to be imported may say it.
    Decision.objects.filter(revision__document__in=[going.document_id for going in made.documents]).delete()
    Upload.objects.filter(owner=space.owner).delete()
    forgetting.counts = made.counts
    forgetting.save(update_fields=["counts"])
    for going in made.documents:
        transaction.on_commit(partial(projections.follow, going.document_id), robust=True)
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
        if is_gone(row["reason"]):
            fresh["reason"] = ""
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
        reason=reasons.FORGOTTEN,
        hunks=diff(content, left),
        content_hash=document.content_hash,
        created_at=now,
    )


def _histories(space: Space) -> Iterator[tuple[int, Iterator[dict[str, Any]]]]:
    """For each document of the space, deleted ones included, its revisions in order."""
    rows = MemoryRevision.objects.filter(space=space).order_by("document_id", "number")
    columns: Iterator[Any] = rows.values("document_id", "hunks", "reason").iterator(chunk_size=500)
    return groupby(columns, key=itemgetter("document_id"))


def _lines_of(hunks: Sequence[Hunk]) -> Iterator[str]:
    for hunk in hunks:
        yield from hunk["removed"]
        yield from hunk["added"]


def _keys_of_chunks(document_id: int, numbers: Sequence[int]) -> list[int]:
    """The keys of the pieces of the search index that hold one of these lines."""
    rows = MemoryChunk.objects.filter(document_id=document_id).values_list("start_line", "end_line", "text_key")
    return [key for start, end, key in rows if any(start <= number <= end for number in numbers)]


def _waiting(space: Space) -> tuple[QuerySet[Flush], QuerySet[Errand]]:
    return Flush.objects.filter(space=space).open(), Errand.objects.filter(space=space).open()
