"""Find the running titles of a file with pages: lines that stand at the top or bottom of most of its pages.

They are no text of a page, and repeated on each they would be found before it. What they say is the title of all pages.
"""

import re
from collections import Counter
from collections.abc import Sequence

# Lines at the top, and at the bottom, of a page that may be running titles.
EDGE_LINES = 2
# A line is one if it stands on this share of the pages, and on at least so many.
PAGES_MIN_SHARE, PAGES_MIN_COUNT = 0.6, 3
TITLE_MAX_CHARS = 120
NUMBERS = re.compile(r"\d+")


def running_titles(texts: Sequence[str]) -> tuple[set[str], str]:
    """Return the running titles of the pages `texts` in the form of `form_of`, and the title of the file that they say;
    "" without one. Pure."""
    counts = Counter(form for text in texts for form in {form_of(line) for line in edges(text)})
    most = max(PAGES_MIN_COUNT, PAGES_MIN_SHARE * len(texts))
    found = {form for form, count in counts.items() if count >= most}
    said = [line for text in texts[:2] for line in edges(text) if form_of(line) in found]
    # A title is words; a page number or a date is none.
    titles = [line for line in dict.fromkeys(said) if len(re.findall(r"[^\W\d_]{3,}", line)) >= 1]
    return found, " ".join(max(titles, key=len, default="").split())[:TITLE_MAX_CHARS]


def without_titles(text: str, titles: set[str]) -> str:
    """Return `text` with its running titles as blank lines, so that the other lines keep their numbers. Pure."""
    if not titles:
        return text
    lines = text.split("\n")
    for at in edge_indices(lines):
        if form_of(lines[at]) in titles:
            lines[at] = ""
    return "\n".join(lines)


def edges(text: str) -> list[str]:
    """Return the first and last lines of a page that are not blank."""
    lines = text.split("\n")
    return [lines[at] for at in edge_indices(lines)]


def edge_indices(lines: Sequence[str]) -> list[int]:
    """Return the indices of these lines."""
    filled = [at for at, line in enumerate(lines) if line.strip()]
    return sorted({*filled[:EDGE_LINES], *filled[-EDGE_LINES:]})


def form_of(line: str) -> str:
    """Return `line` without what differs from page to page: its numbers."""
    return NUMBERS.sub("#", " ".join(line.split()))
