"""Keep the HTML of the first items of a growing list, or rows of a growing table: a delta does not parse them again.

Only the text after them is parsed, as a list or table of its own, and its HTML is put after theirs. Anything that could
change them (the blank line that makes a list loose, a definition, another kind of block) makes the whole block be
parsed again.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from chat.rendering.markdown import MarkdownBlock

# So many complete items or rows are kept together, and so many after them are parsed again. Those of a loose list are
# parsed once more to be kept.
COMPLETED_MIN_PARTS, OPEN_PARTS = 1, 1
COMPLETED_MIN_LOOSE_PARTS = 2
BEFORE_LIST = re.compile(r"<[uo]l[^>]*>\n")
BEFORE_PARTS = {"table": re.compile(r".*?<tbody>\n", re.DOTALL), "list": BEFORE_LIST, "loose list": BEFORE_LIST}
AFTER_PARTS = ("</ul>", "</ol>", "</tbody>\n</table></div>")
# The tags at which an item or row begins and ends; text has none, because it is escaped.
PART_TAGS = {"table": re.compile(r"<(/)?tr>\n"), "list": re.compile(r"(?:<li[ >]|<(/)li>\n)")}
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
    complete = done + text.count("\n", done_chars)
    whole = [line for line in block.parts if line < complete]
    min_parts = COMPLETED_MIN_LOOSE_PARTS if block.kind == "loose list" else COMPLETED_MIN_PARTS
    if len(whole) < min_parts + OPEN_PARTS:
        return before
    end_line = whole[-OPEN_PARTS]
    fresh = "".join(f"{line}\n" for line in text[done_chars:].split("\n", end_line - done)[:-1])
    own = inner_html(block)
    if own is None:
        return before
    if block.kind == "loose list":
        html = _loose_html(fresh, block, own, before, parse)
    else:
        known = before.html if before else ""
        html = known + _first_parts(block.kind, own[1].removeprefix(known), block.parts.index(end_line))
    if html is None or not own[1].startswith(html):
        return before
    if before:
        return replace(before, end_line=end_line, chars=done_chars + len(fresh), before=own[0], html=html)
    return parts_before(block.kind, fresh, own[0] + html)


def parts_before(kind: str, text: str, html: str) -> CompletedParts | None:
    """Return the completed parts of a list or table that begins with `text`; their HTML, with what is before them, is
    `html`. None when nothing can be parsed without them."""
    start, marker = BEFORE_PARTS[kind].match(html), MARKER.match(text)
    if start is None or (kind == "loose list" and marker is None):
        return None
    head = head_html = ""
    if kind == "table":
        head = "".join(f"{line}\n" for line in text.split("\n", TABLE_HEAD_LINES)[:TABLE_HEAD_LINES])
    elif kind == "loose list" and marker is not None:
        head, head_html = marker.group() + LOOSE_ITEM, LOOSE_ITEM_HTML
    return CompletedParts(
        kind, head, head_html, text.count("\n"), len(text), start.group(), html.removeprefix(start.group())
    )


def _first_parts(kind: str, html: str, count: int) -> str:
    """Return the HTML of the first `count` items or rows of `html`, which stay as they are."""
    depth = 0
    for tag in PART_TAGS[kind].finditer(html):
        depth += -1 if tag[1] else 1
        count -= depth == 0
        if not count:
            return html[: tag.end()]
    return ""


def _loose_html(
    fresh: str,
    block: MarkdownBlock,
    own: tuple[str, str, str],
    before: CompletedParts | None,
    parse: Callable[[str], list[MarkdownBlock]],
) -> str | None:
    """Return the HTML of the items before those that stay open, which end with `fresh`; None when they are not loose
    without what follows them, which may still change."""
    parsed = parse(before.head + fresh if before else fresh)
    completed = inner_html(parsed[0]) if len(parsed) == 1 and parsed[0].parts else None
    head_html = before.head_html if before else ""
    if completed is None or parsed[0].kind != block.kind or not completed[1].startswith(head_html):
        return None
    if START.sub("", own[0]) != START.sub("", completed[0]):
        return None
    return (before.html if before else "") + completed[1].removeprefix(head_html)


def inner_html(block: MarkdownBlock) -> tuple[str, str, str] | None:
    """Return the HTML of a list or table as what is before its items or rows, they themselves, and what is after."""
    start = BEFORE_PARTS[block.kind].match(block.html)
    end = next(filter(block.html.endswith, AFTER_PARTS), None)
    if start is None or end is None:
        return None
    return start.group(), block.html[start.end() : len(block.html) - len(end)], end
