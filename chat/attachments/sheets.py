"""Read the cells of an Excel file (.xlsx), sheet by sheet, with the formats of their numbers."""

import re
import zipfile
from collections.abc import Iterator

from chat.attachments.number_formats import format_of, shown
from chat.attachments.tables import SheetLines
from chat.attachments.xml_parts import Relations, XmlReader, member

CELL_NAME = re.compile(r"([A-Za-z]{1,3})[0-9]+")


class Workbook(XmlReader):
    """The sheets of the workbook whose main part is `part`. Those that are hidden are left out and counted."""

    def __init__(self, archive: zipfile.ZipFile, part: str) -> None:
        self.hidden_count = 0
        self._archive = archive
        self._part = part
        self._sheets: list[tuple[str, str]] = []
        self._is_1904 = False
        self.read(archive, part)

    def __len__(self) -> int:
        return len(self._sheets)

    def texts(self, max_chars: int) -> Iterator[str]:
        """Yield the text of each sheet up to `max_chars`: its name as a heading, and a line for each row with its cells
        between tabs. Rows that are empty are one empty line, which keeps tables apart."""
        relations = Relations(self._archive, self._part)
        strings, styles = _Strings(), _Styles()
        for reader, name in ((strings, "sharedStrings"), (styles, "styles")):
            usual = self._part.rpartition("/")[0] + f"/{name}.xml"
            if path := next((each for each in (*relations.of_type(name), usual) if member(self._archive, each)), ""):
                reader.read(self._archive, path)
        for name, relation in self._sheets:
            lines = SheetLines(name, max_chars)
            if path := relations.targets.get(relation, ""):
                _Sheet(lines, strings.values, styles.formats, is_1904=self._is_1904).read(self._archive, path)
            yield "\n".join([*lines.lines, *self._comments(path)])

    def _comments(self, path: str) -> list[str]:
        """Return a line for each comment on a cell of the sheet at `path`."""
        comments = _Comments()
        for part in Relations(self._archive, path).of_type("comments"):
            if member(self._archive, part):
                comments.read(self._archive, part)
        return comments.lines

    def start(self, name: str, attributes: dict[str, str]) -> None:
        """Take in a sheet, or from which year days are counted."""
        if name == "workbookPr":
            self._is_1904 = attributes.get("date1904", "0").lower() in ("1", "true", "on")
        elif name == "sheet" and attributes.get("state", "visible") == "visible":
            self._sheets.append((attributes.get("name", ""), attributes.get("id", "")))
        elif name == "sheet":
            self.hidden_count += 1


class _Strings(XmlReader):
    """The shared strings: each an element si with one or several t; phonetic hints (rPh) are left out."""

    def __init__(self) -> None:
        self.values: list[str] = []
        self._parts: list[str] = []
        self._is_text = False
        self._phonetic_depth = 0

    def start(self, name: str, attributes: dict[str, str]) -> None:
        if name == "si":
            self._parts = []
        self._is_text = name == "t"
        self._phonetic_depth += name == "rPh"

    def end(self, name: str) -> None:
        self._is_text = False
        self._phonetic_depth -= name == "rPh"
        if name == "si":
            self.values.append("".join(self._parts))

    def text(self, text: str) -> None:
        if self._is_text and not self._phonetic_depth:
            self._parts.append(text)


class _Comments(XmlReader):
    """The comments on the cells of a sheet, each with the name of its cell."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self._cell = ""
        self._parts: list[str] = []
        self._is_text = False

    def start(self, name: str, attributes: dict[str, str]) -> None:
        if name == "comment":
            self._cell, self._parts = attributes.get("ref", ""), []
        self._is_text = name == "t"

    def end(self, name: str) -> None:
        self._is_text = False
        if name == "comment" and (text := " ".join("".join(self._parts).split())):
            self.lines.append(f"Comment on {self._cell}: {text}")

    def text(self, text: str) -> None:
        if self._is_text:
            self._parts.append(text)


class _Styles(XmlReader):
    """The formats of numbers of the cell styles, in their order."""

    def __init__(self) -> None:
        self.formats: list[str] = []
        self._own: dict[int, str] = {}
        self._is_of_cells = False

    def start(self, name: str, attributes: dict[str, str]) -> None:
        if name == "numFmt":
            self._own[int(attributes.get("numFmtId", "0"))] = attributes.get("formatCode", "")
        elif name == "cellXfs":
            self._is_of_cells = True
        elif name == "xf" and self._is_of_cells:
            self.formats.append(format_of(int(attributes.get("numFmtId", "0")), self._own))

    def end(self, name: str) -> None:
        if name == "cellXfs":
            self._is_of_cells = False


class _Sheet(XmlReader):
    def __init__(self, lines: SheetLines, strings: list[str], formats: list[str], *, is_1904: bool) -> None:
        self._lines, self._strings, self._formats, self._is_1904 = lines, strings, formats, is_1904
        self._row = 0
        self._column = -1
        self._cells: dict[int, str] = {}
        self._attributes: dict[str, str] = {}
        self._parts: list[str] = []
        self._is_value = False
        self._phonetic_depth = 0

    def start(self, name: str, attributes: dict[str, str]) -> None:
        match name:
            case "row":
                self._cells, self._column = {}, -1
                self._row = int(attributes.get("r") or self._row + 1)
            case "c":
                self._attributes, self._parts = attributes, []
                # Excel writes no element for an empty cell.
                named = CELL_NAME.fullmatch(attributes.get("r", ""))
                self._column = _column_of(named[1]) if named else self._column + 1
            case "v" | "t":
                self._is_value = True
            case "rPh":
                self._phonetic_depth += 1

    def end(self, name: str) -> None:
        match name:
            case "v" | "t":
                self._is_value = False
            case "rPh":
                self._phonetic_depth -= 1
            case "c":
                self._cells[self._column] = " ".join(self._value("".join(self._parts)).split())
            case "row":
                self._lines.add(self._row, self._cells)

    def text(self, text: str) -> None:
        if self._is_value and not self._phonetic_depth:
            self._parts.append(text)

    def _value(self, text: str) -> str:
        match self._attributes.get("t", "n"):
            case "s":
                return self._strings[int(text)] if text else ""
            case "b":
                return {"1": "TRUE", "0": "FALSE"}.get(text, text)
            case "n" if text:
                style = int(self._attributes.get("s", "0"))
                code = self._formats[style] if style < len(self._formats) else "General"
                return shown(text, code, is_1904=self._is_1904)
            case "d":
                return text.removesuffix("Z").replace("T", " ").removesuffix(" 00:00:00")
            case _:
                return text


def _column_of(letters: str) -> int:
    """Return the number of the column A, B, …, the first of which is 0."""
    number = 0
    for letter in letters.upper():
        number = 26 * number + ord(letter) - ord("A") + 1
    return number - 1
