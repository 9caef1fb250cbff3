"""Read the text of a Word file: headings and list items marked as in Markdown, cells between tabs, notes at the end."""

import zipfile

from chat.attachments.tables import TableText, span_of
from chat.attachments.xml_parts import Relations, member

# Elements whose content is not shown: it was deleted or moved away, is the reading of an ideogram, or repeats other
# content for older programs.
LEFT_OUT = frozenset({"del", "moveFrom", "rt", "Fallback"})
NOTES = {"footnoteReference": "footnotes", "endnoteReference": "endnotes"}
PRIVATE_USE_NUMBER = 0xE000


def word_text(archive: zipfile.ZipFile, part: str, max_chars: int) -> str:
    """Return the text of the Word file whose body is `part`, up to about `max_chars`."""
    body = _Body(max_chars)
    body.read(archive, part)
    relations = Relations(archive, part)
    texts: dict[int, str] = {}
    for kind in NOTES.values():
        path = relations.of_type.get(kind) or part.rpartition("/")[0] + f"/{kind}.xml"
        if any(of == kind for of, _ in body.notes) and member(archive, path):
            notes = _Notes(max_chars)
            notes.read(archive, path)
            texts |= {number: notes.texts.get(own, "") for (of, own), number in body.notes.items() if of == kind}
    lines = (f"[^{number}]: {' '.join(text.split())}\n" for number, text in sorted(texts.items()))
    return "".join([*body.parts, *lines])


class _Body(TableText):
    def __init__(self, max_chars: int) -> None:
        super().__init__(max_chars)
        # The numbers of the notes by their kind and id, in the order of their references.
        self.notes: dict[tuple[str, str], int] = {}
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
            case "footnoteReference" | "endnoteReference" if not self._hidden_depth:
                note = NOTES[name], attributes.get("id", "")
                self._say(f"[^{self.notes.setdefault(note, len(self.notes) + 1)}]")
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
    """The texts of the notes of one part by their ids."""

    def __init__(self, max_chars: int) -> None:
        super().__init__(max_chars)
        self.texts: dict[str, str] = {}
        self._id = ""
        self._from = 0

    def start(self, name: str, attributes: dict[str, str]) -> None:
        if name in ("footnote", "endnote"):
            # Separators are notes with a type.
            self._id = "" if "type" in attributes and attributes["type"] != "normal" else attributes.get("id", "")
            self._from = len(self.parts)
        super().start(name, attributes)

    def end(self, name: str) -> None:
        super().end(name)
        if name in ("footnote", "endnote") and self._id:
            self.texts[self._id] = "".join(self.parts[self._from :])
