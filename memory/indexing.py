"""Documents into the index: units, their terms, their vectors. Only what changed is written."""

from dataclasses import dataclass

from django.db import connection, transaction

from memory.chunking import SPEAKER, Unit, speakers, units
from memory.dates import day_in, tells_time
from memory.languages import language_of
from memory.models import DocumentIndex, MemoryChunk, MemoryDocument
from memory.packing import ASKS, HEADING, LAYOUT, TELLS_TIME, pack
from memory.terms import speaker_number, terms_of
from memory.vectors import embed_document, embedded_text, text_key

# What may stand behind a question mark.
CLOSING = " \t\n\"'”’»)*_"
COLUMNS = ("ordinal", "start_line", "end_line", "heading", "text", "text_key")


def index_document(document_id: int, force: bool = False) -> None:
    """Make the index of a document agree with its content. Safe to run twice, late, or beside another.

    `force` writes it again although its version says that nothing changed; texts that have a vector keep it.
    """
    while True:
        document = MemoryDocument.objects.get(pk=document_id)
        if document.indexed_version == document.version and not force:
            return
        made = Made.of(document)
        with transaction.atomic():
            held = MemoryDocument.objects.select_for_update(no_key=True).get(pk=document_id)
            if held.version == document.version:
                _write(held, made)
                break
    embed_document(document_id, only_at_once=True)


@dataclass(frozen=True)
class Made:
    """What the index is to hold of a document: rows of MemoryChunk in the order of COLUMNS, and the packed rest."""

    rows: list[tuple[int, int, int, str, str, int]]
    packed: bytes

    @classmethod
    def of(cls, document: MemoryDocument) -> "Made":
        pieces = units(document.content) if document.deleted_at is None else []
        language = language_of(document.content)
        day = day_in(document.path)
        names = speakers(unit.text for unit in pieces)
        rows, layout, terms = [], [], []
        for ordinal, unit in enumerate(pieces):
            found = terms_of(unit.text, language)
            key = text_key(embedded_text(unit.text, names))
            about = day_in(unit.heading) or day
            rows.append((ordinal, unit.start_line, unit.end_line, unit.heading, unit.text, key))
            layout.append(
                (
                    key,
                    len(found),
                    len(unit.text),
                    unit.section,
                    speaker_number(unit.speaker if unit.speaker in names else ""),
                    about.toordinal() if about else 0,
                    _flags(unit),
                )
            )
            terms += found
        return cls(rows, pack(layout, terms))


def _flags(unit: Unit) -> int:
    if unit.is_heading:
        return HEADING
    body = SPEAKER.sub("", unit.text, count=1)
    return (ASKS if body.rstrip(CLOSING).endswith(("?", "？")) else 0) | (TELLS_TIME if tells_time(body) else 0)


def _write(document: MemoryDocument, made: Made) -> None:
    """Bring the rows up to date, under the document's lock."""
    chunks = MemoryChunk.objects.filter(document=document)
    before = {row[0]: row for row in chunks.values_list(*COLUMNS)}
    changed = [row for row in made.rows if before.get(row[0]) != row]
    gone = [row[0] for row in changed if row[0] in before] + [
        ordinal for ordinal in before if ordinal >= len(made.rows)
    ]
    if gone:
        chunks.filter(ordinal__in=gone)._raw_delete(chunks.db)
    if changed:
        with (
            connection.cursor() as cursor,
            cursor.copy(
                "COPY memory_memorychunk"
                " (space_id, document_id, ordinal, start_line, end_line, heading, text, text_key) FROM STDIN"
            ) as copy,
        ):
            for row in changed:
                copy.write_row((document.space_id, document.pk, *row))
    DocumentIndex.objects.update_or_create(
        document=document,
        defaults={
            "space_id": document.space_id,
            "version": document.version,
            "layout": LAYOUT,
            "units": len(made.rows),
            "data": made.packed,
            "embedded_by": None,
        },
    )
    MemoryDocument.objects.filter(pk=document.pk).update(indexed_version=document.version)
