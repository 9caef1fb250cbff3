"""Read the cells of an Excel file, sheet by sheet."""

import datetime as dt
import re
import zipfile
from collections.abc import Iterator

from chat.attachments.xml_parts import Relations, XmlReader

WORKBOOK, STRINGS, STYLES = "xl/workbook.xml", "xl/sharedStrings.xml", "xl/styles.xml"
# The built-in number formats of dates, and what a format of a file's own has that shows a date.
DATE_FORMATS = frozenset({14, 15, 16, 17, 22})
DATE_LETTERS = re.compile(r"[yYdD]")
QUOTED = re.compile(r"\"[^\"]*\"|\[[^\[\]]*\]|\\.")
# Day 0 of serial dates, which count a 29 February 1900 that never was; and the largest one, in the year 9999.
FIRST_DAY, LAST_SERIAL = dt.datetime(1899, 12, 30), 2_958_465


def sheets(archive: zipfile.ZipFile) -> Iterator[str]:
    """Yield the text of each sheet: its name as a heading, and a line for each row with its cells between tabs."""
    workbook, strings, styles = _Workbook(), _Strings(), _Styles()
    workbook.read(archive, WORKBOOK)
    names = set(archive.namelist())
    if STRINGS in names:
        strings.read(archive, STRINGS)
    if STYLES in names:
        styles.read(archive, STYLES)
    targets = Relations(archive, WORKBOOK).targets
    for name, relation in workbook.sheets:
        sheet = _Sheet(strings.values, styles.dates)
        sheet.read(archive, targets[relation])
        yield "\n".join([f"# {name}", *sheet.rows])


class _Workbook(XmlReader):
    def __init__(self) -> None:
        self.sheets: list[tuple[str, str]] = []

    def start(self, name: str, attributes: dict[str, str]) -> None:
        if name == "sheet" and attributes.get("state", "visible") == "visible":
            self.sheets.append((" ".join(attributes.get("name", "").split()), attributes.get("id", "")))


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


class _Styles(XmlReader):
    """The numbers of the cell styles that show dates."""

    def __init__(self) -> None:
        self.dates: set[str] = set()
        self._formats: set[int] = set(DATE_FORMATS)
        self._count: int | None = None

    def start(self, name: str, attributes: dict[str, str]) -> None:
        if name == "numFmt" and DATE_LETTERS.search(QUOTED.sub("", attributes.get("formatCode", ""))):
            self._formats.add(int(attributes.get("numFmtId", "0")))
        elif name == "cellXfs":
            self._count = 0
        elif name == "xf" and self._count is not None:
            if int(attributes.get("numFmtId", "0")) in self._formats:
                self.dates.add(str(self._count))
            self._count += 1

    def end(self, name: str) -> None:
        if name == "cellXfs":
            self._count = None


class _Sheet(XmlReader):
    def __init__(self, strings: list[str], dates: set[str]) -> None:
        self.rows: list[str] = []
        self._strings, self._dates = strings, dates
        self._cells: list[str] = []
        self._attributes: dict[str, str] = {}
        self._parts: list[str] = []
        self._is_value = False

    def start(self, name: str, attributes: dict[str, str]) -> None:
        match name:
            case "row":
                self._cells = []
            case "c":
                self._attributes, self._parts = attributes, []
            case "v" | "t":
                self._is_value = True

    def end(self, name: str) -> None:
        match name:
            case "v" | "t":
                self._is_value = False
            case "c":
                self._cells.append(" ".join(self._value("".join(self._parts)).split()))
            case "row" if any(self._cells):
                self.rows.append("\t".join(self._cells).rstrip("\t"))

    def text(self, text: str) -> None:
        if self._is_value:
            self._parts.append(text)

    def _value(self, text: str) -> str:
        match self._attributes.get("t", "n"):
            case "s":
                return self._strings[int(text)] if text else ""
            case "b":
                return {"1": "TRUE", "0": "FALSE"}.get(text, text)
            case "n" if self._attributes.get("s") in self._dates:
                return _day(text)
            case _:
                return text


def _day(text: str) -> str:
    """Return a serial date as an ISO date, with its time unless it is midnight."""
    try:
        serial = float(text)
    except ValueError:
        return text
    if not 0 < serial <= LAST_SERIAL:
        return text
    at = FIRST_DAY + dt.timedelta(seconds=round(serial * 86_400))
    return at.isoformat(" ", "minutes") if at.time() != dt.time.min else at.date().isoformat()
