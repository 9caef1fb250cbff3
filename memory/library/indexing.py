"""Build what the search reads of a file: its chunks with page and lines, and the packed terms."""

from collections.abc import Sequence
from dataclasses import dataclass

from django.db import connection

from memory.index.documents import flags_of
from memory.index.vectors import embedded_text
from memory.library.running import running_titles, without_titles
from memory.models import FileIndex, FilePage, FileVersion
from memory.text.chunking import chunks_of
from memory.text.dates import day_in
from memory.text.index_format import LAYOUT_VERSION, pack, text_key
from memory.text.languages import LANGUAGE_NAMES, language_of
from memory.text.terms import terms_of

# Lines of a page are joined up to this length: they are printed lines, and a paragraph has many.
JOINED_MAX_CHARS = 600
# Between the title of a file and the headings of a chunk, as between these.
HEADING_MARK = " › "
# What of a file decides its language.
LANGUAGE_SAMPLE_CHARS = 20_000
COLUMNS = ("ordinal", "page", "start_line", "end_line", "heading", "text", "text_key")

Row = tuple[int, int, int, int, str, str, int]


@dataclass(frozen=True)
class FileContent:
    """The pages of a version, the rows of its chunks in the order of COLUMNS, and the packed chunks."""

    pages: list[FilePage]
    rows: list[Row]
    packed: bytes

    @property
    def lines(self) -> int:
        """Return the number of lines of the file."""
        last = self.pages[-1]
        return last.first_line + last.text.count("\n")


def content_of(version: FileVersion, name: str, texts: Sequence[str]) -> FileContent:
    """Return the content of `version` of the file `name`, whose pages have `texts`. A page begins a section, so that a
    passage is on one page."""
    language = language_of("\n".join(texts)[:LANGUAGE_SAMPLE_CHARS])
    named_day = day_in(name)
    pages: list[FilePage] = []
    rows: list[Row] = []
    layout, terms = [], []
    line, section = 1, 0
    running, title = running_titles(texts)
    for number, text in enumerate(texts, 1):
        pages.append(FilePage(version=version, number=number, first_line=line, text=text))
        chunks = chunks_of(without_titles(text, running), JOINED_MAX_CHARS)
        for chunk in chunks:
            heading = HEADING_MARK.join(filter(None, [title, chunk.heading]))
            meant = meant_text(heading, chunk.text)
            found = terms_of(meant, language)
            key = text_key(embedded_text(meant))
            start, end = line + chunk.start_line - 1, line + chunk.end_line - 1
            rows.append((len(rows), number, start, end, heading, chunk.text, key))
            day = day_in(chunk.heading) or named_day
            of_day = day.toordinal() if day else 0
            layout.append(
                (key, len(found), len(chunk.text), section + chunk.section, 0, of_day, flags_of(chunk, found))
            )
            terms += found
        section += 1 + max((chunk.section for chunk in chunks), default=0)
        line += text.count("\n") + 1
    return FileContent(pages, rows, pack(layout, terms, LANGUAGE_NAMES.index(language)))


def meant_text(heading: str, text: str) -> str:
    """Return what a chunk is found by: its text below the headings that say what it is about. Pure."""
    return text if not heading or text.lstrip().startswith("#") else f"{heading}\n{text}"


def write(version: FileVersion, space_id: int, content: FileContent) -> None:
    """Write the pages, chunks and index of `version` in place of those of the version before. Call inside a transaction
    that holds the file's row."""
    write_pages(version, content)
    with connection.cursor() as cursor:
        cursor.execute("DELETE FROM memory_filechunk WHERE file_id = %s", [version.file_id])
        columns = ", ".join(("space_id", "file_id", *COLUMNS))
        with cursor.copy(f"COPY memory_filechunk ({columns}) FROM STDIN") as copy:
            for row in content.rows:
                copy.write_row((space_id, version.file_id, *row))
    FileIndex.objects.bulk_create(
        [
            FileIndex(
                file_id=version.file_id,
                space_id=space_id,
                version=version,
                layout=LAYOUT_VERSION,
                units=len(content.rows),
                data=content.packed,
            )
        ],
        update_conflicts=True,
        unique_fields=["file"],
        update_fields=["space", "version", "layout", "units", "data", "bits", "embedded_by"],
    )


def write_pages(version: FileVersion, content: FileContent) -> None:
    """Write the pages of `version`, also of one that is not searched."""
    version.texts.all().delete()
    FilePage.objects.bulk_create(content.pages, batch_size=500)
