"""Excerpts of Markdown for lists of search results: the words around what was found, without the marks."""

import re
from collections.abc import Iterator

from django.utils.html import escape
from django.utils.safestring import SafeString, mark_safe

# The length of an excerpt before and after its first match.
CHARS_BEFORE, CHARS_AFTER = 60, 160
# How much Markdown around the first match is read, so that a mark is not cut in two.
READ_CHARS = 1000
# Scripts that are written without spaces: PostgreSQL takes a run of them for one word.
UNSPACED = re.compile(
    r"[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]"
)
# Marks of Markdown, each with what remains of it.
MARKS = [
    # The marks at the beginning of a line: headings, quotes, list items with their boxes, fences with their language.
    (re.compile(r"^[ \t]*(?:(?:#{1,6}|>|[-*+]|\d{1,9}[.)])[ \t]+)*(?:\[[ xX]\][ \t]+)?", re.M), ""),
    (re.compile(r"^[ \t]*(?:```|~~~)[^\n]*$", re.M), ""),
    # The rule below a table's head, and the bars between its cells.
    (re.compile(r"^[ \t]{0,9}\|?[ \t]{0,9}:?-{2,}:?[ \t|:-]*$", re.M), ""),
    (re.compile(r"^[ \t]*\||\|[ \t]*$", re.M), ""),
    (re.compile(r"[ \t]+\|[ \t]+"), " · "),
    # Links and images: their words.
    (re.compile(r"!?\[([^\[\]\n]{0,500})\]\([^()\s]{0,1000}(?:[ \t]+\"[^\"\n]{0,300}\")?\)"), r"\1"),
    # Emphasis and code, in pairs around words.
    (re.compile(r"(\*\*|__|~~)(?=\S)([^\n]{1,500}?)(?<=\S)\1"), r"\2"),
    (re.compile(r"(?<![\w*_])([*_])(?=\S)([^\n*_]{1,500}?)(?<=\S)\1(?![\w*_])"), r"\2"),
    (re.compile(r"(`{1,3})([^`\n]{1,500})\1"), r"\2"),
]


def excerpt(markdown: str, words: list[str], *, is_markdown: bool = True) -> SafeString:
    """Return the piece of `markdown` around the first of `words`, with each of them in <mark>, as safe HTML. Pure.

    Without `is_markdown`, the text is shown as it is.
    """
    pattern = pattern_of(words)
    first = pattern.search(markdown)
    begin = max(0, first.start() - READ_CHARS) if first else 0
    near = markdown[begin : begin + 2 * READ_CHARS]
    text = plain(near) if is_markdown else near
    if first and not pattern.search(text):
        # The words are in the address of a link, for example.
        text = near
    found = pattern.search(text)
    start = max(0, found.start() - CHARS_BEFORE) if found else 0
    if start:
        start = text.find(" ", start, start + CHARS_BEFORE // 2) + 1 or start
    end = start + CHARS_BEFORE + CHARS_AFTER
    parts = "".join(marked_parts(" ".join(text[start:end].split()), pattern))
    more = "…" if end < len(text) or begin + len(near) < len(markdown) else ""
    return mark_safe(("…" if begin or start else "") + parts + more)  # noqa: S308 - escaped there


def plain(markdown: str) -> str:
    """Return the words of `markdown` without its marks. Pure."""
    for pattern, rest in MARKS:
        markdown = pattern.sub(rest, markdown)
    return markdown


def pattern_of(words: list[str], *, whole: bool = True) -> re.Pattern[str]:
    """Return a pattern of any of `words` at the start of a word; without `whole`, anywhere."""
    begun = {word: r"(?<!\w)" if whole and not UNSPACED.search(word) else "" for word in words}
    return re.compile("|".join(begin + re.escape(word) for word, begin in begun.items()), re.I)


def marked(text: str, words: list[str]) -> SafeString:
    """Return `text` as safe HTML, each of `words` at the start of a word in <mark>. Pure."""
    return mark_safe("".join(marked_parts(text, pattern_of(words))) if words else escape(text))  # noqa: S308 - escaped


def marked_parts(piece: str, pattern: re.Pattern[str]) -> Iterator[str]:
    """Yield `piece` as safe HTML, with each match of `pattern` in <mark>."""
    end = 0
    for found in pattern.finditer(piece):
        yield escape(piece[end : found.start()])
        yield f"<mark>{escape(found[0])}</mark>"
        end = found.end()
    yield escape(piece[end:])
