"""Keep the HTML of the first items of a growing list, or rows of a growing table: a delta does not parse them again.

Only the text after them is parsed, as a list or table of its own, and its HTML is put after theirs. Anything that could
change them (a blank line that makes a list loose, a definition, another kind of block) makes the whole block be parsed
again.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from chat.rendering.markdown import MarkdownBlock

# So many complete items or rows are kept together, and so many after them are parsed again.
COMPLETED_MIN_PARTS, OPEN_PARTS = 2, 1
BEFORE_PARTS = {"table": re.compile(r".*?<tbody>\n", re.DOTALL), "list": re.compile(r"<[uo]l[^>]*>\n")}
AFTER_PARTS = {"table": re.compile(r"</tbody>\n</table></div>\Z"), "list": re.compile(r"</[uo]l>\Z")}
START = re.compile(r' start="\d+"')
# The lines of a table before its rows.
HEAD_LINES = {"table": 2, "list": 0}


@dataclass(frozen=True)
class CompletedParts:
    """The first items or rows of the list or table at the beginning of a text."""

    kind: str
    # The Markdown before all parts, and how many lines of the text the completed ones have.
    head: str
    lines: int
    # How many characters of the text are completed.
    chars: int
    before: str
    # The HTML of the parts.
    html: str

    def window(self, text: str) -> str:
        """Return the part of `text` that must be parsed."""
        return self.head + text[self.chars :]

    def merged(self, blocks: Sequence[MarkdownBlock], text: str) -> list[MarkdownBlock] | None:
        """Return the blocks of `text`, given those of its window; None when the whole text must be parsed."""
        if not blocks or blocks[0].first_line or not blocks[0].parts or blocks[0].kind != self.kind:
            return None
        inner = inner_html(blocks[0])
        if inner is None or START.sub("", inner[0]) != START.sub("", self.before):
            return None
        first, *more = (
            replace(each, first_line=each.first_line + self.lines, end_line=each.end_line + self.lines)
            for each in blocks
        )
        lines = text.split("\n")
        source = "\n".join(lines[: first.end_line]) + ("\n" if first.end_line < len(lines) else "")
        html = self.before + self.html + inner[1] + inner[2]
        parts = tuple(line + self.lines for line in first.parts)
        return [replace(first, first_line=0, source=(source, first.source[1]), html=html, parts=parts), *more]


def complete_parts(
    text: str, block: MarkdownBlock, before: CompletedParts | None, parse: Callable[[str], list[MarkdownBlock]]
) -> CompletedParts | None:
    """Return the completed parts of `text`, which is one list or table, `block`; those `before` are known."""
    if block.first_line or not block.parts or "]:" in text or "[^" in text:
        return None
    # A line that is not complete may still belong to the part before it.
    complete = text.count("\n")
    whole = [line for line in block.parts if line < complete]
    if len(whole) < COMPLETED_MIN_PARTS + OPEN_PARTS:
        return before
    lines = text.split("\n")
    head_lines = HEAD_LINES[block.kind]
    head = "".join(f"{line}\n" for line in lines[:head_lines])
    first, end = head_lines + (before.lines if before else 0), whole[-OPEN_PARTS]
    parsed = parse(head + "".join(f"{line}\n" for line in lines[first:end]))
    own, completed = inner_html(block), inner_html(parsed[0]) if len(parsed) == 1 else None
    if own is None or completed is None or parsed[0].kind != block.kind or not parsed[0].parts:
        return before
    if START.sub("", own[0]) != START.sub("", completed[0]):
        return before
    html = (before.html if before else "") + completed[1]
    if not own[1].startswith(html):
        return before
    chars = sum(len(line) + 1 for line in lines[:end])
    return CompletedParts(block.kind, head, end - head_lines, chars, own[0], html)


def inner_html(block: MarkdownBlock) -> tuple[str, str, str] | None:
    """Return the HTML of a list or table as what is before its items or rows, they themselves, and what is after."""
    start, end = BEFORE_PARTS[block.kind].match(block.html), AFTER_PARTS[block.kind].search(block.html)
    if start is None or end is None:
        return None
    return start.group(), block.html[start.end() : end.start()], end.group()
