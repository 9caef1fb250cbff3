"""Excerpts of Markdown for lists of search results: the words around what was found, without the marks."""

import re

from django.utils.html import escape
from django.utils.safestring import SafeString, mark_safe

from oneclaw.words import QUESTION_MAX_CHARS, found_in

# The length of an excerpt before and after its first match.
CHARS_BEFORE, CHARS_AFTER = 60, 160
# How much Markdown around the first match is read, so that a mark is not cut in two.
READ_CHARS = 1000
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


def excerpt(markdown: str, pieces: list[str], *, is_markdown: bool = True) -> SafeString:
    """Return the part of `markdown` around the first of `pieces` (oneclaw.words), with each of them in <mark>, as safe
    HTML. Pure.

    Without `is_markdown`, the text is shown as it is.
    """
    first = found_in(markdown, pieces)[:1]
    begin = max(0, first[0][0] - READ_CHARS) if first else 0
    near = markdown[begin : begin + 2 * READ_CHARS]
    text = plain(near) if is_markdown else near
    found = found_in(text, pieces)
    if first and not found:
        # The words are in the address of a link, for example.
        text, found = near, found_in(near, pieces)
    start = max(0, found[0][0] - CHARS_BEFORE) if found else 0
    if start:
        start = text.find(" ", start, start + CHARS_BEFORE // 2) + 1 or start
    end = start + CHARS_BEFORE + CHARS_AFTER
    parts = marked(" ".join(text[start:end].split()), pieces)
    more = "…" if end < len(text) or begin + len(near) < len(markdown) else ""
    return mark_safe(("…" if begin or start else "") + parts + more)  # noqa: S308 - escaped there


def around(text: str, pieces: list[str], chars: int) -> str:
    """Return `text` from `chars` characters before the first of `pieces` to as many after it; its beginning when none
    is there. Pure."""
    for begin in range(0, len(text), READ_CHARS):
        # With the letter before, and with what may end after it.
        start = max(0, begin - 1)
        if first := found_in(text[start : begin + READ_CHARS + QUESTION_MAX_CHARS], pieces)[:1]:
            at = start + first[0][0]
            return text[max(0, at - chars) : at + chars]
    return text[:chars]


def plain(markdown: str) -> str:
    """Return the words of `markdown` without its marks. Pure."""
    for pattern, rest in MARKS:
        markdown = pattern.sub(rest, markdown)
    return markdown


def marked(text: str, pieces: list[str]) -> SafeString:
    """Return `text` as safe HTML, each of `pieces` (oneclaw.words) in <mark>. Pure."""
    parts, end = [], 0
    for begin, until in found_in(text, pieces):
        parts += [escape(text[end:begin]), f"<mark>{escape(text[begin:until])}</mark>"]
        end = until
    return mark_safe("".join([*parts, escape(text[end:])]))  # noqa: S308 - escaped
