"""Read the cells of spreadsheets other than .xlsx: old and binary ones of Excel, and those of OpenDocument."""

import datetime as dt
import re
import zipfile
from collections.abc import Iterator
from io import BytesIO

from chat.attachments.number_formats import general, moment, shown
from chat.attachments.tables import SheetLines, span_of
from chat.attachments.xls_formats import formats_of
from chat.attachments.xml_parts import TextLimitError, XmlReader

# The cells that a repeated one of OpenDocument is written as.
REPEATED_MAX_COUNT = 1000
NUMBER = re.compile(r"[-+−]?(?:[1-9][\d., '’\u00a0\u202f]*|0(?:[.,]\d*)?)")


class BinarySheets:
    """The sheets of an .xls or .xlsb file. Those that are hidden are left out and counted."""

    def __init__(self, data: bytes) -> None:
        from python_calamine import CalamineWorkbook, SheetVisibleEnum

        self._book = CalamineWorkbook.from_filelike(BytesIO(data))
        known = self._book.sheets_metadata
        self._names = [each.name for each in known if each.visible == SheetVisibleEnum.Visible]
        # Of binary workbooks (.xlsb), calamine tells days and times from numbers, and no other formats.
        self._formats = dict(
            zip(self._book.sheet_names, [] if data.startswith(b"PK") else formats_of(data), strict=False)
        )
        self.hidden_count = len(known) - len(self._names)

    def __len__(self) -> int:
        return len(self._names)

    def texts(self, max_chars: int) -> Iterator[str]:
        """Yield the text of each sheet up to `max_chars`, like that of an .xlsx file."""
        from python_calamine import WorksheetNotFound

        for name in self._names:
            lines, formats = SheetLines(name, max_chars), self._formats.get(name, {})
            try:
                rows = self._book.get_sheet_by_name(name).to_python(skip_empty_area=False)
                for number, row in enumerate(rows):
                    cells = ((column, value) for column, value in enumerate(row) if value != "")
                    lines.add(number, {at: _text_of(value, formats.get((number, at), "")) for at, value in cells})
            except (WorksheetNotFound, TextLimitError):
                # A sheet of diagrams has no cells.
                pass
            yield "\n".join(lines.lines)


class OpenDocumentSheets(XmlReader):
    """The sheets of an .ods file, whose cells hold what they show. Those that are hidden are left out and counted."""

    def __init__(self, archive: zipfile.ZipFile, max_chars: int) -> None:
        self.hidden_count = 0
        self.sheets: list[SheetLines] = []
        self._max_chars = max_chars
        self._hidden_styles: set[str] = set()
        self._style = ""
        self._is_hidden = False
        self._row = self._row_repeats = self._column = self._note_depth = self._paragraph_depth = 0
        self._cells: dict[int, str] = {}
        self._attributes: dict[str, str] = {}
        self._parts: list[str] = []
        self.read(archive, "content.xml")

    def __len__(self) -> int:
        return len(self.sheets)

    def texts(self, max_chars: int) -> Iterator[str]:
        """Yield the text of each sheet, like that of an .xlsx file."""
        for sheet in self.sheets:
            yield "\n".join(sheet.lines)

    def start(self, name: str, attributes: dict[str, str]) -> None:
        """Take in the start of a style, sheet, row, cell or text."""
        match name:
            case "style":
                self._style = attributes.get("name", "")
            case "table-properties" if attributes.get("display") == "false":
                self._hidden_styles.add(self._style)
            case "table":
                self._is_hidden = attributes.get("style-name") in self._hidden_styles
                self.hidden_count += self._is_hidden
                if not self._is_hidden:
                    self.sheets.append(SheetLines(attributes.get("name", ""), self._max_chars))
                self._row = 0
            case "table-row":
                self._cells, self._column = {}, 0
                self._row_repeats = int(attributes.get("number-rows-repeated", "1"))
            case "table-cell" | "covered-table-cell":
                self._attributes, self._parts = attributes, []
            case "annotation":
                self._note_depth += 1
            case "p":
                self._paragraph_depth += 1
            case "s" | "tab" | "line-break":
                self._parts.append(" ")

    def end(self, name: str) -> None:
        """Take in the end of a row, cell or text."""
        match name:
            case "table-row":
                for number in range(min(self._row_repeats, REPEATED_MAX_COUNT) if any(self._cells.values()) else 0):
                    if not self._is_hidden:
                        self.sheets[-1].add(self._row + number, self._cells)
                self._row += self._row_repeats
            case "table-cell" | "covered-table-cell":
                repeats = int(self._attributes.get("number-columns-repeated", "1"))
                if text := self._shown():
                    self._cells |= dict.fromkeys(range(self._column, self._column + span_of(str(repeats))), text)
                self._column += repeats
            case "annotation":
                self._note_depth -= 1
            case "p":
                self._paragraph_depth -= 1
                self._parts.append(" ")

    def text(self, text: str) -> None:
        """Take in text of a paragraph that is not in a note."""
        if self._paragraph_depth and not self._note_depth:
            self._parts.append(text)

    def _shown(self) -> str:
        text = " ".join("".join(self._parts).split())
        match self._attributes.get("value-type"):
            case "date":
                return self._attributes.get("date-value", text).replace("T", " ").removesuffix(" 00:00:00")
            case "float" if not text or NUMBER.fullmatch(text):
                return general(self._attributes.get("value", text))
        return text


def _text_of(value: object, code: str) -> str:
    match value:
        case bool():
            return str(value).upper()
        case int() | float():
            return shown(value, code) if code else general(value)
        case dt.datetime():
            return moment(value)
        case dt.timedelta():
            hours, seconds = divmod(round(value.total_seconds()), 3600)
            return f"{hours}:{seconds // 60:02}" + (f":{seconds % 60:02}" if seconds % 60 else "")
        case dt.time():
            return value.isoformat("seconds" if value.second else "minutes")
    return " ".join(str(value).split())
