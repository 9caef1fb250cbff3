"""Define the invariants of memory: messages are noted once, revisions add up to documents, files equal documents."""

import datetime as dt
from collections.abc import Iterator
from typing import Any

from django.db import transaction
from django.db.models import F, OuterRef, Q, QuerySet, Subquery
from django.db.models.functions import Coalesce
from django.utils import timezone

from chat.compaction.checks import Check
from chat.models import ChatSession, ContextRound
from memory.documents.diff import HunkMismatchError
from memory.documents.write import content_at
from memory.files import disk
from memory.files.folders import folder_of
from memory.files.merge_base import is_imported
from memory.library import checks as library_checks
from memory.models import Flush, MemoryDocument
from memory.policy.switches import Switch, was_off
from memory.policy.tombstones import of_space
from oneclaw.domains import Invariant
from oneclaw.invariants import grace_seconds, violations_by_query
from oneclaw.locks import hold

# How many documents are read together; each may have a megabyte.
BATCH_DOCUMENTS = 20
# How long the notes of messages that a summary has replaced may be owed.
OWED_NOTES_MAX_AGE = dt.timedelta(days=1)

RANGES_CONTIGUOUS = """
    SELECT format('flush %%s of session %%s covers (%%s, %%s] but the one before it ends at %%s',
                  id, session_id, after_seq, through_seq, before)
    FROM (
        SELECT flush.id, session_id, after_seq, through_seq,
            coalesce(lag(through_seq) OVER (PARTITION BY session_id ORDER BY after_seq, through_seq), copied_seq)
                AS before
        FROM memory_flush flush JOIN chat_chatsession session ON session.id = session_id WHERE after_seq IS NOT NULL
    ) AS ordered
    WHERE after_seq <> before
    UNION ALL
    SELECT format('flush %%s of session %%s covers (%%s, %%s] but the session ends at %%s',
                  flush.id, session.id, flush.after_seq, flush.through_seq, session.last_seq)
    FROM memory_flush flush JOIN chat_chatsession session ON session.id = flush.session_id
    WHERE flush.through_seq > session.last_seq OR flush.through_seq <= flush.after_seq
"""

# In addition to the invariants of every job.
FLUSH_COLUMNS = """
    SELECT format('flush %%s is %%s but its range is not that of such a one', id, status)
    FROM memory_flush
    WHERE CASE status
        WHEN 'queued' THEN num_nonnulls(after_seq, through_seq, day) > 0
        -- The notes are gone with their space.
        WHEN 'done' THEN num_nulls(after_seq, through_seq, day) > 0 OR revision_id IS NULL AND space_id IS NOT NULL
        ELSE num_nulls(after_seq, through_seq, day) > 0
    END
"""

ONE_OPEN_FLUSH = """
    SELECT format('session %%s has %%s %%s flushes', session_id, count(*), status)
    FROM memory_flush WHERE status IN ('queued', 'running') GROUP BY session_id, status HAVING count(*) > 1
"""

# Notes and watermark are committed together.
NOTES_ARE_COVERED = """
    SELECT format('revision %%s holds notes of session %%s, which no flush covers', revision.id, session.id)
    FROM memory_memoryrevision revision
    JOIN chat_chatsession session ON revision.operation_key LIKE 'flush:' || session.id || ':%%'
    WHERE revision.source = 'flush'
        AND NOT EXISTS (SELECT FROM memory_flush flush WHERE flush.revision_id = revision.id)
"""

REVISIONS_IN_ORDER = """
    SELECT format('document %%s has version %%s but %%s revisions, numbered %%s to %%s', document.id, document.version,
                  count(revision.id), min(revision.number), max(revision.number))
    FROM memory_memorydocument document LEFT JOIN memory_memoryrevision revision ON revision.document_id = document.id
    GROUP BY document.id
    HAVING document.version = 0 OR count(DISTINCT revision.number) <> document.version
        OR count(revision.id) <> document.version OR max(revision.number) <> document.version
"""

OPERATIONS_ONCE = """
    SELECT format('operation %%s happened %%s times in space %%s', operation_key, count(*), space_id)
    FROM memory_memoryrevision WHERE operation_key IS NOT NULL GROUP BY space_id, operation_key HAVING count(*) > 1
"""

NEWEST_REVISION = """
    SELECT format('document %%s is not what its newest revision %%s says', document.id, revision.number)
    FROM memory_memorydocument document
    JOIN memory_memoryrevision revision ON revision.document_id = document.id AND revision.number = document.version
    WHERE revision.content_hash <> document.content_hash
        OR (revision.kind = 'delete') <> (document.deleted_at IS NOT NULL)
        OR encode(sha256(convert_to(document.content, 'UTF8')), 'hex') <> document.content_hash
"""

PROJECTIONS = """
    SELECT format('document %%s has version %%s, but its file has %%s and its index %%s',
                  id, version, mirrored_version, indexed_version)
    FROM memory_memorydocument WHERE mirrored_version > version OR indexed_version > version
    UNION ALL
    SELECT format('document %%s is indexed at version %%s, but its index says %%s with %%s units, and there are %%s',
                  document.id, document.indexed_version, index.version, index.units, counted.chunks)
    FROM memory_memorydocument document
    LEFT JOIN memory_documentindex index ON index.document_id = document.id
    CROSS JOIN LATERAL (
        SELECT count(*) AS chunks FROM memory_memorychunk chunk WHERE chunk.document_id = document.id
    ) AS counted
    WHERE document.indexed_version > 0 AND (
        index.version IS DISTINCT FROM document.indexed_version OR index.units IS DISTINCT FROM counted.chunks
    )
"""

ONE_SPACE = """
    SELECT format('revision %%s of space %%s changes document %%s of space %%s',
                  revision.id, revision.space_id, document.id, document.space_id)
    FROM memory_memoryrevision revision JOIN memory_memorydocument document ON document.id = revision.document_id
    WHERE document.space_id <> revision.space_id
    UNION ALL
    SELECT format('chunk %%s of space %%s is of document %%s of space %%s',
                  chunk.id, chunk.space_id, document.id, document.space_id)
    FROM memory_memorychunk chunk JOIN memory_memorydocument document ON document.id = chunk.document_id
    WHERE document.space_id <> chunk.space_id
    UNION ALL
    SELECT format('the index of document %%s of space %%s is of space %%s',
                  document.id, document.space_id, index.space_id)
    FROM memory_documentindex index JOIN memory_memorydocument document ON document.id = index.document_id
    WHERE document.space_id <> index.space_id
    UNION ALL
    SELECT format('chunk %%s is of document %%s, which is not there', chunk.id, chunk.document_id)
    FROM memory_memorychunk chunk
    WHERE NOT EXISTS (SELECT FROM memory_memorydocument document WHERE document.id = chunk.document_id)
    UNION ALL
    SELECT format('flush %%s into space %%s made revision %%s of space %%s',
                  flush.id, flush.space_id, revision.id, revision.space_id)
    FROM memory_flush flush JOIN memory_memoryrevision revision ON revision.id = flush.revision_id
    WHERE revision.space_id <> flush.space_id
    UNION ALL
    SELECT format('suggestion %%s for space %%s made revision %%s of space %%s',
                  suggestion.id, suggestion.space_id, revision.id, revision.space_id)
    FROM memory_suggestion suggestion JOIN memory_memoryrevision revision ON revision.id = suggestion.revision_id
    WHERE revision.space_id <> suggestion.space_id
"""

ONE_OWNER = """
    SELECT format('flush %%s of person %%s is of session %%s of person %%s',
                  flush.id, flush.owner_id, session.id, session.owner_id)
    FROM memory_flush flush JOIN chat_chatsession session ON session.id = flush.session_id
    WHERE session.owner_id <> flush.owner_id
    UNION ALL
    SELECT format('flush %%s of person %%s writes into the private space %%s of person %%s',
                  flush.id, flush.owner_id, space.id, space.owner_id)
    FROM memory_flush flush JOIN oneclaw_space space ON space.id = flush.space_id AND space.kind IN ('own', 'agent')
    WHERE space.owner_id <> flush.owner_id
    UNION ALL
    SELECT format('revision %%s of the private space %%s of person %%s comes from message %%s of person %%s',
                  revision.id, space.id, space.owner_id, message.id, session.owner_id)
    FROM memory_memoryrevision revision
    JOIN oneclaw_space space ON space.id = revision.space_id AND space.kind IN ('own', 'agent')
    JOIN chat_message message ON message.id = revision.message_id
    JOIN chat_chatsession session ON session.id = message.session_id
    WHERE session.owner_id <> space.owner_id
    UNION ALL
    SELECT format('transcript %%s of person %%s is of session %%s of person %%s, in space %%s of person %%s',
                  index.id, index.owner_id, session.id, session.owner_id, space.id, space.owner_id)
    FROM memory_transcriptindex index JOIN chat_chatsession session ON session.id = index.session_id
    JOIN oneclaw_space space ON space.id = index.space_id
    WHERE session.owner_id <> index.owner_id
        OR space.kind IN ('own', 'agent') AND space.owner_id <> index.owner_id
    UNION ALL
    SELECT format('suggestion %%s for space %%s of person %%s comes from session %%s of person %%s',
                  suggestion.id, space.id, space.owner_id, session.id, session.owner_id)
    FROM memory_suggestion suggestion
    JOIN oneclaw_space space ON space.id = suggestion.space_id AND space.kind IN ('own', 'agent')
    JOIN chat_chatsession session ON session.id = suggestion.session_id
    WHERE session.owner_id <> space.owner_id
"""

# A proposal is for a shared space, and nobody approves a line of their own.
OF_SPACES = """
    SELECT format('proposal %%s is for the private space %%s', proposal.id, space.id)
    FROM memory_proposal proposal
    JOIN oneclaw_space space ON space.id = proposal.space_id AND space.kind IN ('own', 'agent')
    UNION ALL
    SELECT format('proposal %%s for space %%s made revision %%s of space %%s',
                  proposal.id, proposal.space_id, revision.id, revision.space_id)
    FROM memory_proposal proposal JOIN memory_memoryrevision revision ON revision.id = proposal.outcome_id
    WHERE revision.space_id <> proposal.space_id
    UNION ALL
    SELECT format('revision %%s was approved by its own author', id)
    FROM memory_memoryrevision WHERE approved_by_id = author_id
"""

# An answered suggestion keeps a hash alone, and a waiting one is in no document.
SUGGESTIONS_WAIT = """
    SELECT format('suggestion %%s is %%s and still has its text', id, status)
    FROM memory_suggestion WHERE status <> 'waiting' AND text <> ''
    UNION ALL
    SELECT format('suggestion %%s waits and has made revision %%s', id, revision_id)
    FROM memory_suggestion WHERE status = 'waiting' AND revision_id IS NOT NULL
"""

# A mode never changes.
MODES_KEPT = """
    SELECT format('session %%s is %%s, but has %%s flushes, %%s document jobs and %%s transcripts',
                  id, mode, flushes, documents, transcripts)
    FROM chat_chatsession session CROSS JOIN LATERAL (
        SELECT (SELECT count(*) FROM memory_flush WHERE session_id = session.id) AS flushes,
            (SELECT count(*) FROM memory_documentjob WHERE session_id = session.id) AS documents,
            (SELECT count(*) FROM memory_transcriptindex WHERE session_id = session.id) AS transcripts
    ) AS counted
    WHERE mode <> 'agent' AND flushes + documents + transcripts > 0
"""

TRANSCRIPTS = """
    SELECT format('transcript %%s says %%s units through message %%s, but there are %%s, and session %%s ends at %%s',
                  index.id, index.units, index.through_seq, counted.chunks, session.id, session.last_seq)
    FROM memory_transcriptindex index JOIN chat_chatsession session ON session.id = index.session_id
    CROSS JOIN LATERAL (
        SELECT count(*) AS chunks FROM memory_transcriptchunk chunk WHERE chunk.index_id = index.id
    ) AS counted
    WHERE index.units <> counted.chunks OR index.through_seq > session.last_seq
"""


def find_summaries_without_notes() -> Iterator[str]:
    """Yield a sentence for each summary that a request was made with before the messages that it replaces were noted.

    When the window is full, a summary may be used while their notes are still owed, for OWED_NOTES_MAX_AGE.
    """
    finished = Flush.objects.finished().filter(session=OuterRef("session")).order_by("-through_seq")
    covered = Coalesce(Subquery(finished.values("through_seq")[:1]), F("session__copied_seq"))
    noted = Q(session__mode=ChatSession.Mode.AGENT, session__deleted_at=None)
    used = ContextRound.objects.summaries().filter(noted, used_at__isnull=False)
    owed = Q(checks__contains=[Check.FLUSH_OWED], used_at__gt=timezone.now() - OWED_NOTES_MAX_AGE)
    found = used.annotate(covered=covered).filter(covered__lt=F("through__seq")).exclude(owed).order_by("pk")
    rows: QuerySet[Any] = found.select_related("owner", "through")
    for row in rows.iterator(chunk_size=200):
        if not was_off(row.owner, Switch.SAVED, row.used_at):
            yield (
                f"summary {row.number} of session {row.session_id} replaces messages up to {row.through.seq}, "
                f"but notes cover them up to {row.covered}"
            )


def find_content_mismatches() -> Iterator[str]:
    """Yield a sentence for each document whose revisions, which are immutable, do not add up to its content."""
    for document in all_documents():
        try:
            content = content_at(document, document.version)
        except HunkMismatchError as error:
            yield f"the revisions of document {document.pk} do not fit one another: {error}"
        else:
            if content != document.content:
                yield f"the revisions of document {document.pk} add up to something else than its content"


def find_mirror_mismatches() -> Iterator[str]:
    """Yield a sentence for each file that differs from its document although its row says that they are equal.

    A file that was just edited, and is still to be imported, is not counted.
    """
    for document in all_documents():
        if has_mismatch(document) and has_mismatch_under_lock(document.pk):
            yield f"the file of document {document.pk}, {document.path} of space {document.space_id}, differs from it"


def all_documents() -> Iterator[MemoryDocument]:
    """Yield all documents, read in batches of BATCH_DOCUMENTS."""
    documents = MemoryDocument.objects.select_related("space").order_by("pk")
    last = 0
    while batch := list(documents.filter(pk__gt=last)[:BATCH_DOCUMENTS]):
        yield from batch
        last = batch[-1].pk


def has_mismatch(document: MemoryDocument) -> bool:
    """Return whether the file is not what the row of `document` says. An unreadable file counts as a missing one.

    A file that a person removed from the folder is a question to the owner (memory/files/missing.py).
    """
    folder = folder_of(document.space)
    if document.mirrored_version != document.version or not (document.is_deleted or disk.exists(folder, document.path)):
        return False
    content: str | None
    try:
        content = disk.read(folder, document.path)
    except disk.UnreadableFileError:
        content = None
    if content == (None if document.is_deleted else document.content):
        return False
    known = of_space(document.space_id)
    just_edited = content is not None and (not is_imported(document, content) or known.is_in_text(content))
    return not (just_edited and disk.age(folder, document.path) < grace_seconds("memory-sweep"))


@transaction.atomic
def has_mismatch_under_lock(document_id: int) -> bool:
    """Return whether the file is not what the row of the document says, under the lock of the mirror.

    The row is read again, because the document may have changed since.
    """
    hold(f"mirror {document_id}")
    document = MemoryDocument.objects.select_related("space").filter(pk=document_id).first()
    return document is not None and has_mismatch(document)


INVARIANTS = [
    Invariant("flush ranges are disjoint and contiguous", violations_by_query(RANGES_CONTIGUOUS)),
    Invariant("a flush has the range that its status says", violations_by_query(FLUSH_COLUMNS)),
    Invariant("a session has one queued and one running flush at most", violations_by_query(ONE_OPEN_FLUSH)),
    Invariant("notes belong to a flush", violations_by_query(NOTES_ARE_COVERED)),
    Invariant("messages are noted before a summary replaces them", find_summaries_without_notes),
    Invariant("revisions are numbered without a gap", violations_by_query(REVISIONS_IN_ORDER)),
    Invariant("an operation happens once", violations_by_query(OPERATIONS_ONCE)),
    Invariant("a document is what its newest revision says", violations_by_query(NEWEST_REVISION)),
    Invariant("revisions add up to the document", find_content_mismatches),
    Invariant("the file is the document, or queued", find_mirror_mismatches),
    Invariant("the index is of the document, or queued", violations_by_query(PROJECTIONS)),
    Invariant("what belongs together is of one space", violations_by_query(ONE_SPACE)),
    Invariant("memory is of one person", violations_by_query(ONE_OWNER)),
    Invariant("a proposal is for a shared space, and approved by another person", violations_by_query(OF_SPACES)),
    Invariant("a suggestion waits until it is answered", violations_by_query(SUGGESTIONS_WAIT)),
    Invariant("the index is of what was said", violations_by_query(TRANSCRIPTS)),
    Invariant("a conversation that writes no memory has none", violations_by_query(MODES_KEPT)),
    Invariant("a file of a library is searched in one version", violations_by_query(library_checks.INDEXES)),
    Invariant("the newest read version of a file is searched", violations_by_query(library_checks.NEWEST_READ)),
    Invariant("a version of a file has its bytes", library_checks.find_missing_files),
    Invariant("a removed file leaves no vectors", violations_by_query(library_checks.LEFT_VECTORS)),
    Invariant("a removed file leaves no bytes", library_checks.find_left_files),
]
