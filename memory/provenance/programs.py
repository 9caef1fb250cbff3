"""Keep which lines of memory programs were sent, and say it on the pages: by program, and by line."""

import datetime as dt
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from django.db import connection

from memory.models import Forgetting, ForgottenLine, MemoryDocument, ProgramRead, ProgramSave
from memory.policy.tombstones import line_hash, words_of
from memory.tools.programs import state_of
from oneclaw.models import ApiKey, Space, User

# Lines of one call that are kept, the first ones.
LINES_MAX_COUNT = 10_000
# What the page of programs shows.
SHOWN_DAYS = 7
SHOWN_MAX_LINES = 200
KEEP = """
INSERT INTO memory_programread (key_id, document_id, line_hash, times)
SELECT %s, document, hash, 1 FROM unnest(%s::bigint[], %s::text[]) AS read (document, hash)
ORDER BY document, hash
ON CONFLICT (key_id, document_id, line_hash)
DO UPDATE SET times = memory_programread.times + 1, last_at = statement_timestamp()
"""


def hash_of(space_id: int, line: str) -> str:
    """Return the keyed hash by which a line is recognised; "" for one without words. Pure."""
    words = words_of(line)
    return line_hash(space_id, words) if words else ""


def keep_read(key: ApiKey, read: Iterable[tuple[MemoryDocument, Iterable[str]]]) -> None:
    """Store that the program with `key` was sent these lines, of each document. One statement."""
    pairs = {
        (document.pk, hash_of(document.space_id, line)): None
        for document, lines in read
        for line in lines
        if words_of(line)
    }
    kept = list(pairs)[:LINES_MAX_COUNT]
    if not kept:
        return
    with connection.cursor() as cursor:
        cursor.execute(KEEP, [key.pk, [document for document, _ in kept], [found for _, found in kept]])


@dataclass(frozen=True)
class ReadLine:
    """A line that a program has read, as it is in its document now."""

    document: MemoryDocument
    line: int
    text: str
    last_at: dt.datetime
    times: int


@dataclass(frozen=True)
class SavedText:
    """A text that a program has saved: its words as far as they are kept, and what became of it."""

    text: str
    state: str
    at: dt.datetime
    space: str
    # Of a text that waits: its item in the inbox. Of a change: its id, to undo it.
    suggestion_id: int | None = None
    revision_id: int | None = None


def read_lines(key: ApiKey, reader: User, since: dt.datetime) -> list[ReadLine]:
    """Return the lines that the program with `key` has read since `since` and that are still there, the newest first;
    only of documents that `reader` may see."""
    rows = ProgramRead.objects.filter(key=key, last_at__gte=since).order_by("-last_at")[:SHOWN_MAX_LINES]
    found = {(row.document_id, row.line_hash): row for row in rows}
    documents = MemoryDocument.objects.visible_to(reader).present().filter(pk__in={row.document_id for row in rows})
    lines: dict[tuple[int, str], ReadLine] = {}
    for document in documents.select_related("space"):
        for number, text in enumerate(document.content.split("\n"), 1):
            at = document.pk, hash_of(document.space_id, text)
            if at in found and at not in lines:
                lines[at] = ReadLine(document, number, text, found[at].last_at, found[at].times)
    return sorted(lines.values(), key=lambda each: each.last_at, reverse=True)


def saved_texts(key: ApiKey, since: dt.datetime) -> list[SavedText]:
    """Return what the program with `key` has saved since `since`, the newest first."""
    rows = ProgramSave.objects.filter(key=key, created_at__gte=since).order_by("-created_at")[:SHOWN_MAX_LINES]
    related = rows.select_related("suggestion__space", "proposal__space", "revision__space")
    return [_shown(row) for row in related]


def _shown(row: ProgramSave) -> SavedText:
    state = state_of(row)
    if row.suggestion is not None:
        waiting = row.suggestion.pk if row.suggestion.is_waiting else None
        return SavedText(row.suggestion.text, state, row.created_at, row.suggestion.space.name, suggestion_id=waiting)
    if row.proposal is not None:
        return SavedText(row.proposal.text, state, row.created_at, row.proposal.space.name)
    if row.revision is not None:
        added = "\n".join(line for hunk in row.revision.hunks for line in hunk["added"]).strip()
        return SavedText(added, state, row.created_at, row.revision.space.name, revision_id=row.revision.pk)
    return SavedText("", state, row.created_at, "")


def readers_of(document: MemoryDocument, lines: Sequence[str], reader: User) -> list[tuple[ApiKey, dt.datetime]]:
    """Return the programs of `reader` that have read any of `lines` of `document`, each with when it did so last."""
    hashes = {hash_of(document.space_id, line) for line in lines} - {""}
    rows = ProgramRead.objects.visible_to(reader).filter(document=document, line_hash__in=hashes)
    newest: dict[int, tuple[ApiKey, dt.datetime]] = {}
    for row in rows.select_related("key").order_by("last_at"):
        newest[row.key_id] = row.key, row.last_at
    return sorted(newest.values(), key=lambda each: each[1], reverse=True)


def forgotten_since(spaces: Iterable[Space], since: dt.datetime | None) -> list[ForgottenLine]:
    """Return the tombstones of `spaces` from after `since`, the oldest first."""
    rows = ForgottenLine.objects.filter(space__in=list(spaces)).order_by("created_at", "pk")
    return list(rows.filter(created_at__gt=since) if since else rows)


def readers_of_forgotten(forgetting: Forgetting, reader: User) -> Mapping[ApiKey, bool]:
    """Return the programs of `reader` that had read lines of `forgetting`, each with whether it has asked for the list
    of forgotten lines since."""
    rows = ProgramRead.objects.visible_to(reader).filter(
        document__space=forgetting.space_id, line_hash__in=forgetting.hashes
    )
    keys = {row.key_id: row.key for row in rows.select_related("key")}
    return {
        key: key.heard_forgotten_at is not None and key.heard_forgotten_at >= forgetting.created_at
        for key in keys.values()
    }
