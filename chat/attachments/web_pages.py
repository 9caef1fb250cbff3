"""Read the text of an HTML page: headings and list items marked as in Markdown, cells between tabs."""

import contextlib
import re
from html.parser import HTMLParser

from chat.attachments.encodings import BYTE_ORDER_MARKS, decode_text
from chat.attachments.tables import line_of, span_of

CHARSET = re.compile(rb"<meta[^>]{1,200}?charset\s*=\s*[\"']?([\w-]{2,40})", re.IGNORECASE)
# Where a page names its encoding.
HEAD_BYTES = 4096
# What browsers read for these names, which pages give for encodings of Windows (WHATWG Encoding).
WINDOWS_NAMES = {
    **dict.fromkeys(("iso-8859-1", "latin1", "us-ascii"), "cp1252"),
    **dict.fromkeys(("shift_jis", "shift-jis", "sjis", "x-sjis", "windows-31j"), "cp932"),
    **dict.fromkeys(("gb2312", "gbk", "gb_2312-80", "x-gbk"), "gb18030"),
    **dict.fromkeys(("euc-kr", "ks_c_5601-1987", "windows-949"), "cp949"),
    **dict.fromkeys(("big5", "x-x-big5"), "big5hkscs"),
    **dict.fromkeys(("utf-16", "utf-16le", "utf-16be"), "utf-8"),
}
HIDDEN = frozenset({"script", "style", "template", "noscript", "svg", "iframe", "object", "select", "rt", "rp"})
BLOCKS = frozenset(
    """address article aside blockquote body dd details div dl dt fieldset figcaption figure footer form header hr html
    main nav ol p pre section summary table tbody tfoot thead title ul""".split()  # noqa: SIM905
)
HEADINGS = {f"h{level}": "#" * level + " " for level in range(1, 7)}


def text_of_page(data: bytes) -> str:
    """Return the text of the HTML page `data`, without scripts, styles and addresses of links."""
    page = _Page()
    page.feed(decoded(data))
    page.close()
    lines = (line.strip(" ") for line in "".join(page.parts).split("\n"))
    return re.sub(r"\n{3,}", "\n\n", "\n".join(lines)).strip("\n ")


def decoded(data: bytes) -> str:
    """Return the text of `data` in the encoding that the page names, or else in the one that it seems to have.

    Raise EncodingUnknownError or NoTextError.
    """
    if not data.isascii() and not data.startswith(tuple(mark for mark, _ in BYTE_ORDER_MARKS)):
        with contextlib.suppress(UnicodeDecodeError):
            return data.decode()
    if found := CHARSET.search(data[:HEAD_BYTES]):
        with contextlib.suppress(LookupError, UnicodeError):
            return data.decode(WINDOWS_NAMES.get(found[1].decode().lower(), found[1].decode()))
    return decode_text(data)


class _Cell:
    """A cell of a table, whose text is in the parts."""

    def __init__(self, attributes: dict[str, str | None]) -> None:
        self.parts: list[str] = []
        self.columns, self.rows = span_of(attributes.get("colspan")), span_of(attributes.get("rowspan"))


class _Table:
    """A table that is open. A table that only lays out a page has other tables or headings in it."""

    def __init__(self, attributes: dict[str, str | None]) -> None:
        self.rows: list[list[_Cell]] = []
        self.is_layout = attributes.get("role") in ("presentation", "none")
        self.cell: _Cell | None = None

    def lines(self) -> list[str]:
        """Return the line of each row, or the text of each cell of a layout."""
        if self.is_layout:
            return ["\n\n" + "".join(cell.parts) for row in self.rows for cell in row]
        lines = []
        # How many more rows a cell above covers, by the columns.
        covered: dict[int, int] = {}
        for row in self.rows:
            above, column = dict(covered), 0
            covered = {each: left - 1 for each, left in covered.items() if left > 1}
            cells: dict[int, str] = {}
            for cell in row:
                while column in above:
                    column += 1
                cells[column] = " ".join("".join(cell.parts).split())
                if cell.rows > 1:
                    covered |= dict.fromkeys(range(column, column + cell.columns), cell.rows - 1)
                column += cell.columns
            lines.append(line_of(cells))
        return lines


class _Page(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.parts: list[str] = []
        self._tables: list[_Table] = []
        self._hidden_depth = self._pre_depth = 0

    def close(self) -> None:
        super().close()
        while self._tables:
            self._end_table()

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        table = self._tables[-1] if self._tables else None
        if tag in HIDDEN:
            self._hidden_depth += 1
        elif tag == "table":
            if table:
                table.is_layout = True
            self._tables.append(_Table(dict(attributes)))
        elif table and tag == "tr":
            table.rows.append([])
            table.cell = None
        elif table and tag in ("td", "th"):
            table.cell = _Cell(dict(attributes))
            if not table.rows:
                table.rows.append([])
            table.rows[-1].append(table.cell)
        elif tag in HEADINGS:
            if table and table.cell:
                table.is_layout = True
            self._write("\n\n" + HEADINGS[tag])
        elif tag == "li":
            self._write("\n- ")
        elif tag in ("br", "tr"):
            self._write("\n")
        elif tag in BLOCKS:
            self._write("\n\n")
        self._pre_depth += tag == "pre"

    def handle_endtag(self, tag: str) -> None:
        if tag in HIDDEN:
            self._hidden_depth = max(0, self._hidden_depth - 1)
        elif tag == "table" and self._tables:
            self._end_table()
        elif self._tables and tag in ("td", "th", "tr"):
            self._tables[-1].cell = None
        elif tag in BLOCKS or tag in HEADINGS:
            self._write("\n\n")
        self._pre_depth = max(0, self._pre_depth - (tag == "pre"))

    def handle_data(self, text: str) -> None:
        if not self._hidden_depth:
            self._write(text if self._pre_depth else re.sub(r"\s+", " ", text))

    def _write(self, text: str) -> None:
        """Append `text` to the cell that is open, or else to what is around the table."""
        cells = [table.cell for table in self._tables if table.cell]
        (cells[-1].parts if cells else self.parts).append(text)

    def _end_table(self) -> None:
        lines = self._tables.pop().lines()
        self._write("\n\n" + "\n".join(lines) + "\n\n")
