"""Write the tables of documents: a line for each row, with its cells between tabs, each in the column that is meant."""

from chat.attachments.xml_parts import TextLimitError, XmlReader

# The columns or rows that one cell may cover, as in HTML.
SPAN_MAX_COUNT = 1000


def line_of(cells: dict[int, str]) -> str:
    """Return the row with these `cells` by their columns, the first of which is 0. Pure."""
    last = max((column for column, text in cells.items() if text), default=-1)
    return "\t".join(cells.get(column, "") for column in range(last + 1))


def span_of(value: str | None) -> int:
    """Return how many columns or rows a cell covers, by the attribute `value`. Pure."""
    return min(int(value), SPAN_MAX_COUNT) if value and value.isascii() and value.isdigit() and int(value) else 1


class SheetLines:
    """The lines of one sheet, below its name. Empty rows are one empty line."""

    def __init__(self, name: str, max_chars: int) -> None:
        self.lines = [f"# {' '.join(name.split())}"]
        self._last = -1
        self._room = max_chars

    def add(self, number: int, cells: dict[int, str]) -> None:
        """Add the row with this number. Raise TextLimitError when there is no room for more."""
        line = line_of(cells)
        if not line:
            return
        if len(self.lines) > 1 and number > self._last + 1:
            self.lines.append("")
        self._last = number
        self.lines.append(line)
        self._room -= len(line)
        if self._room < 0:
            raise TextLimitError


class TableText(XmlReader):
    """Reads text with tables, up to `max_chars`. A table within a cell is written as text of this cell."""

    def __init__(self, max_chars: int) -> None:
        self.parts: list[str] = []
        self._room = max_chars
        # The cells of the rows, and the texts of the cells, that are open: one of each for every nested table.
        self._rows: list[list[str]] = []
        self._cells: list[list[str]] = []

    @property
    def is_in_cell(self) -> bool:
        """Return whether what is read now is in a cell of a table."""
        return bool(self._cells)

    def write(self, text: str) -> None:
        """Append `text`. Raise TextLimitError when there is no room for more."""
        if self._cells:
            self._cells[-1].append(text)
            return
        self.parts.append(text)
        self._room -= len(text)
        if self._room < 0:
            raise TextLimitError

    def begin_row(self) -> None:
        """Begin a row of a table."""
        self._rows.append([])

    def skip_cells(self, count: int) -> None:
        """Leave `count` columns of the row empty."""
        self._rows[-1] += [""] * count

    def begin_cell(self) -> None:
        """Begin a cell of the row."""
        self._cells.append([])

    def end_cell(self, columns: int = 1) -> None:
        """End the cell, which covers so many columns."""
        text = " ".join("".join(self._cells.pop()).split())
        self._rows[-1] += [text, *[""] * (columns - 1)]

    def end_row(self) -> None:
        """End the row, and write it."""
        row = self._rows.pop()
        self.write(f" {' '.join(row)} " if self._cells else "\t".join(row).rstrip("\t") + "\n")
