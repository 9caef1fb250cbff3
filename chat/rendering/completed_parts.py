"""Keep the HTML of the first items of a growing list, or rows of a growing table: a delta does not parse them again.

Only the text after them is parsed, as a list or table of its own, and its HTML is put after theirs. Anything that could
change them (the blank line that makes a list loose, a definition, another kind of block) makes the whole block be
parsed again.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from chat.rendering.markdown import MarkdownBlock

# So many complete items or rows are kept together, and so many after them are parsed again.
COMPLETED_MIN_PARTS, OPEN_PARTS = 2, 1
BEFORE_LIST, AFTER_LIST = re.compile(r"<[uo]l[^>]*>\n"), re.compile(r"</[uo]l>\Z")
BEFORE_PARTS = {
    "table": re.compile(r".*?<tbody>\n", re.DOTALL),
    "list": BEFORE_LIST,
    "loose list": BEFORE_LIST,
}
AFTER_PARTS = {"table": re.compile(r"</tbody>\n</table></div>\Z"), "list": AFTER_LIST, "loose list": AFTER_LIST}
START = re.compile(r' start="\d+"')
# The lines of a table before its rows.
TABLE_HEAD_LINES = 2
MARKER = re.compile(r" {0,3}(?:[-+*]|\d{1,9}[.)])(?= )")
# An item before the others that makes their list a loose one, and its HTML.
LOOSE_ITEM, LOOSE_ITEM_HTML = " x\n\n", '<li dir="auto">\n<p>x</p>\n</li>\n'


@dataclass(frozen=True)
class CompletedParts:
    """The first items or rows of the list or table at the beginning of a text."""

    kind: str
    # The Markdown to parse before the parts that are not completed, and its HTML after `before`.
    head: str
    head_html: str
    # How many lines and characters of the text are completed.
    end_line: int
    chars: int
    before: str
    # The HTML of the parts.
    html: str

    def window(self, text: str) -> str:
        """Return the part of `text` that must be parsed."""
        return self.head + text[self.chars :]

    def extended(self, text: str, html: str) -> "CompletedParts":
        """Return the completed parts of `text`, whose HTML, with what is before it, is `html`."""
        lines = text.count("\n", self.chars)
        return replace(self, end_line=self.end_line + lines, chars=len(text), html=html.removeprefix(self.before))

    def merged(self, blocks: Sequence[MarkdownBlock], text: str) -> list[MarkdownBlock] | None:
        """Return the blocks of `text`, given those of its window; None when the whole text must be parsed."""
        if not blocks or blocks[0].first_line or not blocks[0].parts or blocks[0].kind != self.kind:
            return None
        inner = inner_html(blocks[0])
        if (
            inner is None
            or not inner[1].startswith(self.head_html)
            or START.sub("", inner[0]) != START.sub("", self.before)
        ):
            return None
        head_lines = self.head.count("\n")
        added = self.end_line - head_lines
        first, *more = (
            replace(each, first_line=each.first_line + added, end_line=each.end_line + added) for each in blocks
        )
        own_lines = first.end_line - self.end_line
        lines = text[self.chars :].split("\n", own_lines)
        source = text[: self.chars] + "\n".join(lines[:own_lines]) + ("\n" if own_lines < len(lines) else "")
        html = self.before + self.html + inner[1].removeprefix(self.head_html) + inner[2]
        parts = tuple(line + added for line in first.parts if line >= head_lines)
        return [replace(first, first_line=0, source=(source, first.source[1]), html=html, parts=parts), *more]


def complete_parts(
    text: str, block: MarkdownBlock, before: CompletedParts | None, parse: Callable[[str], list[MarkdownBlock]]
) -> CompletedParts | None:
    """Return the completed parts of `text`, which is one list or table, `block`; those `before` are known."""
    if block.first_line or not block.parts or "]:" in text:
        return None
    # A line that is not complete may still belong to the part before it.
    done, done_chars = (before.end_line, before.chars) if before else (0, 0)
    rest = text[done_chars:]
    complete = done + rest.count("\n")
    whole = [line for line in block.parts if line < complete]
    if len(whole) < COMPLETED_MIN_PARTS + OPEN_PARTS:
        return before
    lines = rest.split("\n", whole[-OPEN_PARTS] - done)[:-1]
    if before is None and block.kind == "table":
        head = "".join(f"{line}\n" for line in lines[:TABLE_HEAD_LINES])
    else:
        head = before.head if before else ""
    fresh = "".join(f"{line}\n" for line in lines)
    # The first items of a loose list must be loose without what follows them, which may still change.
    parsed = parse(head + fresh if before else fresh)
    own, completed = inner_html(block), inner_html(parsed[0]) if len(parsed) == 1 else None
    if own is None or completed is None or parsed[0].kind != block.kind or not parsed[0].parts:
        return before
    head_html = before.head_html if before else ""
    if START.sub("", own[0]) != START.sub("", completed[0]) or not completed[1].startswith(head_html):
        return before
    html = (before.html if before else "") + completed[1].removeprefix(head_html)
    if not own[1].startswith(html):
        return before
    if before is None and block.kind == "loose list":
        marker = MARKER.match(fresh)
        if marker is None:
            return None
        head, head_html = marker.group() + LOOSE_ITEM, LOOSE_ITEM_HTML
    return CompletedParts(block.kind, head, head_html, done + len(lines), done_chars + len(fresh), own[0], html)


def inner_html(block: MarkdownBlock) -> tuple[str, str, str] | None:
    """Return the HTML of a list or table as what is before its items or rows, they themselves, and what is after."""
    start, end = BEFORE_PARTS[block.kind].match(block.html), AFTER_PARTS[block.kind].search(block.html)
    if start is None or end is None:
        return None
    return start.group(), block.html[start.end() : end.start()], end.group()
