"""Describe the memories of an answer as a person reads them: who wrote each line and when, where it is now, and what
the person said of it.

The text of a memory is as the model read it; its address is that of the same text today.
"""

import datetime as dt
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import reduce
from operator import or_
from uuid import UUID

from django.db.models import Q
from django.urls import reverse
from django.utils.formats import date_format
from django.utils.translation import gettext as _

from chat.attachments.store import visible_file
from chat.models import ChatSession, Message
from memory.access.decided import MemoryAccess
from memory.access.load import access_of
from memory.access.transcripts import readable_transcripts
from memory.index.attached_files import FILE_PATH
from memory.index.transcripts import TRANSCRIPT_PATH
from memory.library.search import page_address
from memory.models import (
    FileChunk,
    LibraryFile,
    LineFeedback,
    MemoryChunk,
    MemoryDocument,
    MemoryRevision,
    TranscriptChunk,
)
from memory.notes.coverage import DAILY_LOG_PATH
from memory.overview.entries import entries_of
from memory.policy.addresses import documents_at, located
from memory.policy.paths import CURATED, RECENT_NAME
from memory.policy.same_words import MARKS, words_of
from memory.provenance.used import ATTACHED, UsedMemory
from memory.search.passage import line_address
from memory.text.chunking import chunks_of
from memory.text.dates import day_in
from memory.tools.reading import LABEL
from oneclaw.models import Space, User

Source = MemoryRevision.Source


@dataclass
class ShownMemory:
    """A memory of an answer as it is shown. `keys` are the text keys of its chunks in `space`; none when its text is
    not in memory any more."""

    memory: UsedMemory
    text: str
    space: Space | None = None
    keys: list[int] = field(default_factory=list)
    # Who said or wrote it, and when: "You, 3 November 2026".
    source: str = ""
    # The day of that, and whether the reader said it.
    day: dt.date | None = None
    is_own: bool = False
    address: str = ""
    feedback: LineFeedback | None = None

    @property
    def notes(self) -> list[str]:
        """Return what is said after its source: its shared space, and that its text is not there any more."""
        shared = [self.space.name] if self.space and not self.space.is_private else []
        if self.memory.file_id and not self.address:
            return [*shared, _("no longer there")]
        is_changed = not self.keys and not (self.memory.file_id and self.memory.how == ATTACHED)
        return [*shared, _("changed or removed since")] if is_changed else shared


def shown_memories(used: Iterable[UsedMemory], session: ChatSession, user: User) -> list[ShownMemory]:
    """Return the memories `used` for an answer in `session`, which belongs to `user`, with their places, and what
    `user` has said of them."""
    shown = placed_memories(used, access_of(session), user)
    keys = [key for each in shown for key in each.keys]
    of_spaces = {each.space.pk for each in shown if each.space}
    said = LineFeedback.objects.filter(user=user, space__in=of_spaces, text_key__in=keys)
    by_key = {(row.space_id, row.text_key): row for row in said}
    for each in shown:
        rows = [by_key[each.space.pk, key] for key in each.keys if each.space and (each.space.pk, key) in by_key]
        each.feedback = max(rows, key=lambda row: row.created_at, default=None)
    return shown


def placed_memories(used: Iterable[UsedMemory], access: MemoryAccess, user: User) -> list[ShownMemory]:
    """Return the memories `used` for an answer with their places, as far as `access` lets `user` see them."""
    shown = [ShownMemory(each, readable(each.text)) for each in used]
    documents = documents_at(access.could_read, {each.memory.path for each in shown})
    _find_files([each for each in shown if each.memory.file_id], user)
    for each in shown:
        if each.memory.file_id:
            continue
        if each.memory.is_of_conversation:
            _find_said(each, access, user)
        elif each.memory.is_attached:
            _find_attached(each, user)
        else:
            _find_line(each, documents.get(each.memory.path, []), user)
    return shown


def readable(text: str) -> str:
    """Return `text` as a person reads it: without the marks of list items, and the labels above messages."""
    kept = [line for line in text.split("\n") if not LABEL.search(line)]
    return "\n".join(MARKS.sub("", line) for line in kept).strip().replace("**", "")


def texts_of(memory: UsedMemory) -> set[str]:
    """Return the texts of the chunks that `memory` consists of."""
    if not memory.is_of_conversation:
        return {chunk.text for chunk in chunks_of(memory.text) if not chunk.is_heading}
    said = "\n".join("" if LABEL.search(line) else line for line in memory.text.split("\n"))
    return {chunk.text for chunk in chunks_of(said)}


def _find_files(shown: Sequence[ShownMemory], user: User) -> None:
    """Say of which page or lines these passages of files are, and find those of their chunks that are still there."""
    ids = {each.memory.file_id for each in shown}
    there = LibraryFile.objects.visible_to(user).select_related("space").in_bulk(ids) if ids else {}
    chunks = _chunks_of_files([each.memory for each in shown if each.memory.file_id in there])
    for each in shown:
        memory, (first, last) = each.memory, each.memory.lines
        position = {"name": memory.title, "page": memory.page, "first": first, "last": last}
        if memory.page:
            each.source = _("%(name)s, page %(page)d") % position
        elif memory.is_whole:
            each.source = memory.title
        else:
            each.source = _("%(name)s, lines %(first)d–%(last)d") % position
        if memory.file_id in there:
            each.address = page_address(memory.file_id, memory.page, *((0, 0) if memory.is_whole else (first, last)))
            each.space, read = there[memory.file_id].space, words_of(memory.text)
            each.keys = [
                chunk.text_key
                for chunk in chunks
                if chunk.file_id == memory.file_id
                and first <= chunk.start_line
                and chunk.end_line <= last
                and words_of(chunk.text) in read
            ]


def _chunks_of_files(used: Sequence[UsedMemory]) -> list[FileChunk]:
    """Return the chunks that files have now in the lines of `used`. One query."""
    in_lines = [Q(file=each.file_id, start_line__lte=each.lines[1], end_line__gte=each.lines[0]) for each in used]
    return list(FileChunk.objects.filter(reduce(or_, in_lines)).order_by("file", "ordinal")) if in_lines else []


def _find_line(shown: ShownMemory, documents: Sequence[MemoryDocument], user: User) -> None:
    texts = texts_of(shown.memory)
    for document in documents:
        if found := list(MemoryChunk.objects.filter(document=document, text__in=texts).order_by("ordinal")):
            shown.space, shown.keys = document.space, [chunk.text_key for chunk in found]
            shown.address = line_address(document.pk, found[0].start_line)
            _find_source(shown, document, found[0], user)
            return
    if documents:
        shown.address = reverse("memory_document", args=[documents[0].pk])
    path = located(shown.memory.path)[1]
    shown.source, shown.day = _name_of(path), day_in(path)


def _find_said(shown: ShownMemory, access: MemoryAccess, user: User) -> None:
    named = TRANSCRIPT_PATH.fullmatch(shown.memory.path)
    other = readable_transcripts(access).filter(pk=UUID(named[1])).first() if named else None
    if other is None:
        shown.source = _("A deleted conversation")
        return
    shown.space, shown.address = access_of(other).transcript_space, other.get_absolute_url()
    rows = TranscriptChunk.objects.filter(index__session=other, text__in=texts_of(shown.memory)).order_by("ordinal")
    chunks = list(rows)
    if not chunks:
        shown.source = _("“%(title)s”") % {"title": other.name}
        return
    shown.keys, first = [chunk.text_key for chunk in chunks], chunks[0]
    message = Message.objects.filter(session=other, seq=first.seq).select_related("author").first()
    said_by = (message.author if message else None) or other.owner
    person = _("You") if said_by == user else str(said_by)
    shown.day, shown.is_own = access.session.owner.day(first.at), said_by == user and first.role == Message.Role.USER
    speaker = person if first.role == Message.Role.USER else _("Assistant")
    about = {"who": speaker, "title": other.name, "day": date_format(shown.day)}
    shown.source = _("%(who)s in “%(title)s”, %(day)s") % about
    if message is not None:
        shown.address += f"#message-{message.pk}@{first.seq}"


def _find_attached(shown: ShownMemory, user: User) -> None:
    """Say of which file `shown` is, and find the file if `user` may see it."""
    shown.source = shown.memory.title
    named = FILE_PATH.fullmatch(shown.memory.path)
    if named is not None and visible_file(user, UUID(named[1])) is not None:
        shown.address = shown.memory.path


def _find_source(shown: ShownMemory, document: MemoryDocument, chunk: MemoryChunk, user: User) -> None:
    """Say who wrote the line, and on which day of the person."""
    if document.path != CURATED:
        shown.day = day_in(chunk.heading) or day_in(document.path)
        shown.source = _name_of(document.path, shown.day)
        return
    entries = [entry for entry in entries_of(document) if entry.line <= chunk.start_line <= entry.last_line]
    change = (
        document.revisions.filter(number=entries[0].revision).select_related("author", "approved_by").first()
        if entries
        else None
    )
    if change is None:
        shown.source = _("Saved memory")
        return
    who = str(Source(change.source).label).capitalize()
    shown.day, shown.is_own = user.day(change.created_at), change.author == user
    if change.source == Source.PROPOSAL and change.author is not None:
        who = _("You") if shown.is_own else str(change.author)
        if change.approved_by is not None:
            who = _("%(author)s, approved by %(person)s") % {"author": who, "person": change.approved_by}
    if change.source in (Source.TOOL, Source.PAGE):
        shown.is_own = change.author in (user, None)
        who = _("You") if shown.is_own else str(change.author)
    shown.source = _("%(who)s, %(day)s") % {"who": who, "day": date_format(shown.day)}


def _name_of(path: str, day: dt.date | None = None) -> str:
    """Return the name of a document for a person."""
    day = day or day_in(path)
    if path == CURATED:
        return _("Saved memory")
    if path == RECENT_NAME:
        return _("Recent conversations")
    if DAILY_LOG_PATH.fullmatch(path) and day is not None:
        return _("Notes of %(day)s") % {"day": date_format(day)}
    return path
