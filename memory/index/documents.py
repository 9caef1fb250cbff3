"""Index documents: their chunks, terms and vectors. Only what changed is written."""

import logging
from bisect import bisect_left
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from django.db import connection, transaction
from django.db.models import Q

from memory.index.vectors import IndexedText, KeptVectors, embed_document, embed_documents, embedded_text
from memory.models import DocumentIndex, MemoryChunk, MemoryDocument, MemoryRevision
from memory.policy.paths import is_in_skill
from memory.text.chunking import Chunk, chunks_of, speakers
from memory.text.dates import TIME_WORDS, day_in
from memory.text.index_format import (
    ASKS,
    HEADING,
    LAYOUT_VERSION,
    TELLS_TIME,
    continued,
    first_units,
    language_and_speech,
    pack,
    text_key,
)
from memory.text.languages import LANGUAGE_NAMES, language_of
from memory.text.terms import speaker_number, stems_of, terms_of
from oneclaw.locks import hold

# Characters that may follow a question mark.
AFTER_QUESTION_MARK = " \t\n\"'”’»)*_"
COLUMNS = ("ordinal", "start_line", "end_line", "heading", "text", "text_key")
FORGET = MemoryRevision.Source.FORGET
# Of a longer text, what comes before a change is not indexed again.
CONTINUED_MIN_CHARS = 20_000
TIME_TERMS = frozenset(term for word in TIME_WORDS for term in stems_of(word))

Row = tuple[int, int, int, str, str, int]

logger = logging.getLogger(__name__)


def try_to_index(document_id: int) -> bool:
    """Index the document, and return whether that worked.

    An exception is logged; the row still says that the index is out of date, so the sweep tries again.
    """
    try:
        index_document(document_id)
    except Exception:
        logger.exception("Document %s could not be indexed; the sweep tries again.", document_id)
        return False
    return True


def try_to_index_all(document_ids: Sequence[int]) -> bool:
    """Index several documents together, and return whether that worked. An exception is logged as in try_to_index."""
    try:
        index_documents(document_ids)
        embed_documents(document_ids)
    except Exception:
        logger.exception("%d documents could not be indexed; the sweep tries again.", len(document_ids))
        return False
    return True


def index_document(document_id: int, force: bool = False) -> None:
    """Update the index of the document to its content. Idempotent: safe to run twice, late, or concurrently.

    `force` writes the index even if it is of the current version; texts that have a vector keep it.
    """
    with transaction.atomic():
        # Of concurrent calls, those that waited for the lock find the index up to date.
        hold(f"index {document_id}")
        made = index_documents([document_id], force).get(document_id)
    known = IndexedText(made.version, made.names, made.vectors) if made else None
    embed_document(document_id, during_save=True, known=known)


def index_documents(document_ids: Iterable[int], force: bool = False) -> "dict[int, IndexContent]":
    """Update the indexes of several documents in one transaction, without vectors, and return what was written of each,
    by its id. `force` as in index_document.

    Documents that change in between are read and indexed again.
    """
    waiting, written = set(document_ids), dict[int, IndexContent]()
    while waiting:
        documents = MemoryDocument.objects.filter(pk__in=waiting)
        if force:
            made = {document.pk: IndexContent.of(document) for document in documents}
        else:
            made = {document.pk: _content_of(document) for document in documents.to_index()}
        with transaction.atomic():
            rows = MemoryDocument.objects.select_for_update(no_key=True).filter(pk__in=made).order_by("pk")
            locked = list(rows.defer("content"))
            unchanged = [document for document in locked if _is_as_read(document, made[document.pk])]
            _write(unchanged, made)
        written |= {document.pk: made[document.pk] for document in unchanged}
        # Documents with another version by now were changed while their index was built: build it again.
        waiting = set(made) & {document.pk for document in locked} - {document.pk for document in unchanged}
    return written


def _is_as_read(document: MemoryDocument, made: "IndexContent") -> bool:
    """Return whether `made` is of the version of the locked `document` and continues the index that is stored."""
    return document.version == made.version and (not made.first or document.indexed_version == made.after_version)


def _content_of(document: MemoryDocument) -> "IndexContent":
    """Return the index content of `document`, made from that of its earlier version as far as nothing has changed."""
    if len(document.content) < CONTINUED_MIN_CHARS or document.is_deleted:
        return IndexContent.of(document)
    versions = {"number__gt": document.indexed_version, "number__lte": document.version}
    changes = list(document.revisions.filter(**versions).values_list("source", "hunks"))
    earlier = DocumentIndex.objects.filter(
        document=document, version=document.indexed_version, layout=LAYOUT_VERSION
    ).first()
    is_whole = len(changes) == document.version - document.indexed_version
    # A forgetting rewrites the history, so that its numbers are of other lines.
    if earlier is None or not changes or not is_whole or any(source == FORGET for source, _ in changes):
        return IndexContent.of(document)
    unchanged = min((hunk["at"] for _, hunks in changes for hunk in hunks), default=0)
    return IndexContent.of(document, earlier, unchanged)


@dataclass(frozen=True)
class IndexContent:
    """The index of one version of a document: rows of MemoryChunk in the order of COLUMNS, and the packed chunks.

    The rows before the ordinal `first` are those of the index of `after_version`, which stay as they are, and so do
    their vectors.
    """

    version: int
    rows: list[Row]
    packed: bytes
    names: frozenset[str]
    first: int = 0
    after_version: int = 0
    vectors: KeptVectors | None = None

    @property
    def units(self) -> int:
        """Return the number of all chunks."""
        return self.first + len(self.rows)

    @classmethod
    def of(
        cls, document: MemoryDocument, earlier: DocumentIndex | None = None, unchanged_lines: int = 0
    ) -> "IndexContent":
        """Build the index content of `document`: empty if it is deleted, or of a skill.

        Since the `earlier` index its first `unchanged_lines` are the same.
        """
        # What a skill says is used only as the person approved it, so that no search may find it.
        is_searched = document.deleted_at is None and not is_in_skill(document.path)
        pieces = chunks_of(document.content) if is_searched else []
        language = language_of(document.content)
        day = day_in(document.path)
        names = speakers(chunk.text for chunk in pieces)
        # What a speaker says is indexed by who the speakers are, and a term by the language: both of the whole text.
        has_same_terms = (LANGUAGE_NAMES.index(language), False) if not names else None
        first = 0
        if earlier is not None and language_and_speech(earlier.data) == has_same_terms:
            # The last line may go on in the next one.
            first = min(bisect_left([chunk.end_line for chunk in pieces], unchanged_lines), earlier.units)
        rows: list[Row] = []
        layout, terms = [], []
        for ordinal, chunk in enumerate(pieces[first:], first):
            found = terms_of(chunk.text, language)
            key = text_key(embedded_text(chunk.text, names))
            day_of_chunk = day_in(chunk.heading) or day
            rows.append((ordinal, chunk.start_line, chunk.end_line, chunk.heading, chunk.text, key))
            speaker = chunk.speaker if names else ""
            layout.append(
                (
                    key,
                    len(found),
                    len(chunk.text),
                    chunk.section,
                    speaker_number(speaker) if speaker in names else 0,
                    day_of_chunk.toordinal() if day_of_chunk else 0,
                    flags_of(chunk, found),
                )
            )
            terms += found
        packed = pack(layout, terms, LANGUAGE_NAMES.index(language))
        if not first or earlier is None:
            return cls(document.version, rows, packed, names)
        packed = continued(first_units(earlier.data, first), packed)
        kept = KeptVectors.of(earlier, first)
        return cls(document.version, rows, packed, names, first, earlier.version, kept)


def flags_of(chunk: Chunk, terms: Sequence[int]) -> int:
    """Return the flags of `chunk`, which has `terms` (memory/text/index_format.py)."""
    if chunk.is_heading:
        return HEADING
    asks = chunk.text.rstrip(AFTER_QUESTION_MARK).endswith(("?", "？"))
    return (ASKS if asks else 0) | (0 if TIME_TERMS.isdisjoint(terms) else TELLS_TIME)


def _write(documents: Sequence[MemoryDocument], made: dict[int, IndexContent]) -> None:
    """Write the indexes of `documents`, whose rows are locked."""
    before: dict[int, dict[int, Row]] = {}
    later = Q()
    for document in documents:
        later |= Q(document=document, ordinal__gte=made[document.pk].first)
    chunks = MemoryChunk.objects.filter(later) if documents else MemoryChunk.objects.none()
    for row in chunks.values_list("document_id", *COLUMNS):
        before.setdefault(row[0], {})[row[1]] = row[1:]
    removed: list[tuple[int, int]] = []
    changed: list[tuple[int, int, *Row]] = []
    for document in documents:
        old, rows = before.get(document.pk, {}), made[document.pk].rows
        fresh = [row for row in rows if old.get(row[0]) != row]
        removed += [(document.pk, row[0]) for row in fresh if row[0] in old]
        removed += [(document.pk, ordinal) for ordinal in old if ordinal >= made[document.pk].units]
        changed += [(document.space_id, document.pk, *row) for row in fresh]
    with connection.cursor() as cursor:
        if removed:
            cursor.execute(
                "DELETE FROM memory_memorychunk USING unnest(%s::bigint[], %s::int[]) AS gone (document_id, ordinal)"
                " WHERE memory_memorychunk.document_id = gone.document_id"
                " AND memory_memorychunk.ordinal = gone.ordinal",
                [list(column) for column in zip(*removed, strict=True)],
            )
        if changed:
            columns = ", ".join(("space_id", "document_id", *COLUMNS))
            with cursor.copy(f"COPY memory_memorychunk ({columns}) FROM STDIN") as copy:
                for row in changed:
                    copy.write_row(row)
        cursor.execute(
            "UPDATE memory_memorydocument SET indexed_version = version WHERE id = ANY(%s)",
            [[document.pk for document in documents]],
        )
    DocumentIndex.objects.bulk_create(
        [
            DocumentIndex(
                document=document,
                space_id=document.space_id,
                version=document.version,
                layout=LAYOUT_VERSION,
                units=made[document.pk].units,
                data=made[document.pk].packed,
            )
            for document in documents
        ],
        update_conflicts=True,
        unique_fields=["document"],
        update_fields=["space", "version", "layout", "units", "data", "bits", "embedded_by"],
    )
