"""Append rows of plain cells to the HTML of a growing table without parsing its Markdown again.

Most rows of a long table are words and numbers. Such a row can change nothing above it, so its HTML is put after that
of the rows before it.
"""

import re

TABLE_START = '<div class="wide" tabindex="0" dir="auto"><table>\n<thead>\n'
HEAD_CELL = re.compile(r"<th( class=\"[a-z]+\")?>")
ROW = "<tr>\n"
AFTER_ROWS = "</tbody>\n</table></div>"
# Characters that a further text may have; a longer one is parsed.
FRESH_MAX_CHARS = 15_000
# Rows of a wider table are parsed: each short line of it would be filled up with many empty cells.
WIDE_MAX_CELLS = 50


class RowAppender:
    """The position in the last row of a table, which is one line of plain cells, or after a complete one."""

    kind, is_of_top_level = "table", True

    def __init__(self, head: str, row: str, cell_tags: list[str], plain: re.Pattern[str]) -> None:
        # `head` is the HTML before the last row, and `row` the Markdown of that one; "" before it begins.
        self._head, self._row, self._tags, self._plain = head, row, cell_tags, plain

    def grown(self, fresh: str) -> str | None:
        """Return the block's HTML with `fresh` at its end; None when its Markdown must be parsed again."""
        if len(fresh) > FRESH_MAX_CHARS:
            return None
        *whole, row = (self._row + fresh).split("\n")
        shown = [self.html_of(line) for line in whole]
        last = self.html_of(row) if row else ""
        if last is None or None in shown:
            return None
        self._row = row
        self._head += "".join(filter(None, shown))
        return f"{self._head}{last}{AFTER_ROWS}"

    @property
    def before_last_part(self) -> str:
        """Return the block's HTML up to its last row."""
        return self._head

    def last_part_start(self, text: str) -> int:
        """Return where the last row begins in `text`, the Markdown up to the last call of grown()."""
        return len(text) - len(self._row)

    def html_of(self, line: str) -> str | None:
        """Return the HTML of a row; None when it is not one of plain cells that begins with a bar."""
        first, *cells = line.split("|")
        if first or not cells or not all(not cell or self._plain.fullmatch(cell) for cell in cells):
            return None
        cells += [""] * (len(self._tags) - len(cells))
        between = (f"<td{tag}>{cell.strip(' ')}</td>\n" for tag, cell in zip(self._tags, cells, strict=False))
        return f"{ROW}{''.join(between)}</tr>\n"


def row_appender_of(source: str, html: str, plain: re.Pattern[str]) -> RowAppender | None:
    """Return where rows can be appended to a block, or None when it is no table, or its last row is not a plain one.

    `source` is its Markdown and `html` its HTML.
    """
    if not html.startswith(TABLE_START) or not html.endswith(f"</tr>\n{AFTER_ROWS}") or "\n\n" in source[-3:]:
        return None
    tags = HEAD_CELL.findall(html[: html.index("</thead>")])
    if len(tags) > WIDE_MAX_CELLS:
        return None
    row = source[source.rfind("\n") + 1 :]
    head = html.removesuffix(AFTER_ROWS)
    if row:
        head = head[: head.rfind(ROW)]
    appender = RowAppender(head, row, tags, plain)
    return appender if not row or appender.grown("") == html else None
