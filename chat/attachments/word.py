"""Read the text of a Word file: headings and list items marked as in Markdown, cells between tabs, and at the end the
notes, comments, headers and footers."""

import zipfile
from collections.abc import Mapping

from chat.attachments.notes import NoteNumbers, margin_lines
from chat.attachments.tables import TableText, span_of
from chat.attachments.xml_parts import Relations, member

# Elements whose content is not shown: it was deleted or moved away, is the reading of an ideogram, or repeats other
# content for older programs.
LEFT_OUT = frozenset({"del", "moveFrom", "rt", "Fallback"})
# The type of the part, and the element of one note, by the element that refers to it.
NOTES = {
    "footnoteReference": ("footnotes", "footnote"),
    "endnoteReference": ("endnotes", "endnote"),
    "commentReference": ("comments", "comment"),
}
PRIVATE_USE_NUMBER = 0xE000


def word_text(archive: zipfile.ZipFile, part: str, max_chars: int) -> str:
    """Return the text of the Word file whose body is `part`, up to about `max_chars`."""
    relations = Relations(archive, part)
    noted: dict[tuple[str, str], str] = {}
    for reference, (kind, element) in NOTES.items():
        usual = part.rpartition("/")[0] + f"/{kind}.xml"
        if path := next((each for each in (*relations.of_type(kind), usual) if member(archive, each)), ""):
            notes = _Notes(max_chars, element)
            notes.read(archive, path)
            noted |= {(reference, own): text for own, text in notes.texts.items()}
    body = _Body(max_chars, noted)
    body.read(archive, part)
    margins: list[str] = []
    for path in (*relations.of_type("header"), *relations.of_type("footer")):
        if member(archive, path):
            margin = _Body(max_chars)
            margin.read(archive, path)
            margins.append("".join(margin.parts))
    return "".join([*body.parts, *body.notes.lines(), *margin_lines(margins)])


class _Body(TableText):
    def __init__(self, max_chars: int, noted: Mapping[tuple[str, str], str] | None = None) -> None:
        """`noted`: the texts of the notes by the element that refers to one and by its id."""
        super().__init__(max_chars)
        self.notes = NoteNumbers()
        self._noted = noted or {}
        self._references: dict[tuple[str, str], str] = {}
        self._mark = ""
        self._is_text = False
        self._hidden_depth = 0
        self._spans: list[int] = []

    def start(self, name: str, attributes: dict[str, str]) -> None:
        if name in LEFT_OUT:
            self._hidden_depth += 1
        value = attributes.get("val", "")
        match name:
            case "t":
                self._is_text = True
            case "tab" | "ptab" if "pos" not in attributes:
                self._say("\t")
            case "br" | "cr":
                self._say("\n")
            case "noBreakHyphen":
                self._say("-")
            case "sym" if (number := int(attributes.get("char", "0"), 16)) and number < PRIVATE_USE_NUMBER:
                self._say(chr(number))
            case "footnoteReference" | "endnoteReference" | "commentReference" if not self._hidden_depth:
                note = name, attributes.get("id", "")
                if note not in self._references:
                    self._references[note] = self.notes.add(self._noted.get(note, ""))
                self._say(self._references[note])
            case "tr":
                self.begin_row()
            case "gridBefore":
                self.skip_cells(span_of(value))
            case "tc":
                self.begin_cell()
                self._spans.append(1)
            case "gridSpan" if self._spans:
                self._spans[-1] = span_of(value)
            case "pStyle" if value[:7].lower() == "heading" and value[7:].isdigit():
                self._mark = "#" * min(int(value[7:]), 6) + " "
            case "numPr":
                self._mark = self._mark or "- "

    def end(self, name: str) -> None:
        match name:
            case "t":
                self._is_text = False
            case "p":
                self._mark = ""
                self._say(" " if self.is_in_cell else "\n\n")
            case "tc":
                self.end_cell(self._spans.pop())
            case "tr":
                self.end_row()
            case "tbl":
                self._say("\n")
        if name in LEFT_OUT:
            self._hidden_depth -= 1

    def text(self, text: str) -> None:
        if self._is_text:
            self._say(self._mark + text)
            self._mark = ""

    def _say(self, text: str) -> None:
        if not self._hidden_depth:
            self.write(text)


class _Notes(_Body):
    """The texts of the notes of one part by their ids; `element` is that of one note."""

    def __init__(self, max_chars: int, element: str) -> None:
        super().__init__(max_chars)
        self.texts: dict[str, str] = {}
        self._element = element
        self._id = self._author = ""
        self._first_part = 0

    def start(self, name: str, attributes: dict[str, str]) -> None:
        if name == self._element:
            # Separators are notes with a type.
            self._id = "" if attributes.get("type", "normal") != "normal" else attributes.get("id", "")
            self._author = attributes.get("author", "")
            self._first_part = len(self.parts)
        super().start(name, attributes)

    def end(self, name: str) -> None:
        super().end(name)
        if name == self._element and self._id:
            text = "".join(self.parts[self._first_part :])
            self.texts[self._id] = f"Comment by {self._author}: {text}" if self._element == "comment" else text
