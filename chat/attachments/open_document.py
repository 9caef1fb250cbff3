"""Read the texts and slides of OpenDocument (.odt, .odp): headings and list items marked as in Markdown, cells between
tabs, notes and comments at the end."""

import zipfile
from collections.abc import Iterator

from chat.attachments.notes import NoteNumbers, margin_lines
from chat.attachments.tables import TableText, span_of
from chat.attachments.xml_parts import XmlReader, member

# The blanks that one element may mean.
BLANKS_MAX_COUNT = 1000
# Elements whose content is not part of the text: deleted text, and the reading of an ideogram.
LEFT_OUT = frozenset({"tracked-changes", "ruby-text"})
STYLES = "styles.xml"


def open_text(archive: zipfile.ZipFile, max_chars: int) -> str:
    """Return the text of an .odt file, up to about `max_chars`."""
    body = _Body(max_chars)
    body.read(archive, "content.xml")
    margins = _Margins(max_chars)
    if member(archive, STYLES):
        margins.read(archive, STYLES)
    return "".join([*body.parts, *body.notes.lines(), *margin_lines(margins.texts)])


class OpenPresentation(XmlReader):
    """The slides of an .odp file, each with its notes."""

    hidden_count = 0

    def __init__(self, archive: zipfile.ZipFile, max_chars: int) -> None:
        self._body = _Body(max_chars)
        self._slides = self._body.slides
        self._body.read(archive, "content.xml")

    def __len__(self) -> int:
        return len(self._slides)

    def texts(self, max_chars: int) -> Iterator[str]:
        """Yield the text of each slide, in the order of the presentation: its title as a heading."""
        for at, slide in enumerate(self._slides):
            end = self._slides[at + 1].first_part if at + 1 < len(self._slides) else None
            parts = self._body.parts[slide.first_part : end]
            yield "".join([*parts, *slide.notes.lines()]).strip("\n ")[: max_chars + 1]


class _Slide:
    def __init__(self, first_part: int) -> None:
        self.first_part = first_part
        self.notes = NoteNumbers()


class _Body(TableText):
    def __init__(self, max_chars: int) -> None:
        super().__init__(max_chars)
        self.notes = NoteNumbers()
        self.slides: list[_Slide] = []
        self._mark = ""
        self._title_depth = 0
        # Paragraphs and headings that are open; text elsewhere is white space of the file, or says who made a comment.
        self._paragraph_depth = self._hidden_depth = 0
        self._spans: list[int] = []
        # The notes that are being read, innermost last: their texts, and the depth of the paragraph that has them.
        self._open_notes: list[tuple[list[str], int]] = []

    def start(self, name: str, attributes: dict[str, str]) -> None:
        if name in LEFT_OUT:
            self._hidden_depth += 1
        match name:
            case "page":
                self.slides.append(_Slide(len(self.parts)))
            case "notes":
                self._say("\nNotes: ")
            case "frame" if attributes.get("class") == "title":
                self._title_depth += 1
            case "frame" if self._title_depth:
                self._title_depth += 1
            case "h":
                self._paragraph_depth += 1
                self._mark = "#" * min(span_of(attributes.get("outline-level")), 6) + " "
            case "p":
                self._paragraph_depth += 1
                self._mark = self._mark or ("# " if self._title_depth else "")
            case "list-item":
                self._mark = "- "
            case "note" | "annotation" if not self._hidden_depth:
                self._open_notes.append(([], self._paragraph_depth))
                self._paragraph_depth = 0
            case "s":
                self._say(" " * min(span_of(attributes.get("c")), BLANKS_MAX_COUNT))
            case "tab":
                self._say("\t")
            case "line-break":
                self._say("\n")
            case "table-row":
                self.begin_row()
            case "table-cell" | "covered-table-cell":
                self.begin_cell()
                self._spans.append(span_of(attributes.get("number-columns-repeated")))

    def end(self, name: str) -> None:
        match name:
            case "frame" if self._title_depth:
                self._title_depth -= 1
            case "h" | "p":
                self._paragraph_depth -= 1
                self._mark = ""
                self._say(" " if self.is_in_cell else "\n" if self.slides else "\n\n")
            case "list-item":
                self._mark = ""
            case "note" | "annotation" if not self._hidden_depth:
                texts, self._paragraph_depth = self._open_notes.pop()
                text = "".join(texts)
                notes = self.slides[-1].notes if self.slides else self.notes
                self._say(notes.add(f"Comment: {text}" if name == "annotation" else text))
            case "table-cell" | "covered-table-cell":
                self.end_cell(self._spans.pop())
            case "table-row":
                self.end_row()
            case "table":
                self._say("\n")
        if name in LEFT_OUT:
            self._hidden_depth -= 1

    def text(self, text: str) -> None:
        if self._paragraph_depth:
            self._say(self._mark + text)
            self._mark = ""

    def _say(self, text: str) -> None:
        if self._hidden_depth:
            return
        if self._open_notes:
            self._open_notes[-1][0].append(text)
        else:
            self.write(text)


class _Margins(_Body):
    """The texts of the headers and footers."""

    def __init__(self, max_chars: int) -> None:
        super().__init__(max_chars)
        self.texts: list[str] = []
        self._first_part = 0

    def start(self, name: str, attributes: dict[str, str]) -> None:
        if name in ("header", "footer"):
            self._first_part = len(self.parts)
        super().start(name, attributes)

    def end(self, name: str) -> None:
        super().end(name)
        if name in ("header", "footer"):
            self.texts.append("".join(self.parts[self._first_part :]))
