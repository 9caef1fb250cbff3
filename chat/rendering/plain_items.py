"""Append plain items to the HTML of a growing list without parsing its Markdown again.

Most items of a long list are one line of words. Such an item can change nothing above it, so its HTML is put after that
of the items before it.
"""

import re

ITEM_LINE = re.compile(r"( *)(?:([-+*])|\d{1,9}([.)])) (?=\S)")
LETTER = re.compile(r"[^\W\d_]")
# The tag of an item, and the HTML of one that is one line of text.
ITEM = '<li dir="auto">'
OPEN_ITEM = re.compile(r"<li[^>\n]*>(?:\n<p>)?[^\n]+")
CLOSED_LISTS = ("</li>\n</ul>", "</li>\n</ol>", "</p>\n</li>\n</ul>", "</p>\n</li>\n</ol>")
# Characters of one item; a longer one is parsed again.
ITEM_MAX_CHARS = 15_000


class ItemAppender:
    """The position after the last word of the last item of a list, which is one line of text."""

    def __init__(self, head: str, closing: str, waiting: str, plain: re.Pattern[str], marker: re.Match[str]) -> None:
        self._head, self._closing, self._plain = head, closing, plain
        is_loose = closing.startswith("</p>")
        self.kind = "loose list" if is_loose else "list"
        indent, bullet, delimiter = marker.groups()
        number = r"\d{1,9}" + re.escape(delimiter) if delimiter else re.escape(bullet)
        line = ("\n\n?" if is_loose else "\n") + indent + number
        self._next = re.compile(rf"{line} (?=\S)")
        self._empty = re.compile(rf"{line} ?\Z")
        # The number of an item that is not complete is shown as a line of the item before it.
        self._number = re.compile(rf"\n{indent}(\d{{1,9}})\Z") if delimiter else None
        self._between = f"</p>\n</li>\n{ITEM}\n<p>" if is_loose else f"</li>\n{ITEM}"
        # Text after the last word of the item.
        self._waiting = waiting
        self._room = ITEM_MAX_CHARS

    def grown(self, fresh: str) -> str | None:
        """Return the block's HTML with `fresh` at its end; None when its Markdown must be parsed again."""
        words, *items = self._next.split(self._waiting + fresh)
        last = items[-1] if items else words
        begun = self._empty.search(last) or (self._number.search(last) if self._number else None)
        before = last[: begun.start() if begun else len(last)]
        shown = before.rstrip(" \n")
        if begun and "\n" in before[len(shown) :]:
            # A blank line makes the list a loose one, or ends it.
            return None
        self._room = ITEM_MAX_CHARS if items else self._room - len(fresh)
        if items:
            items[-1] = shown
        else:
            words = shown
        if self._room < len(shown) or not self._is_plain(words, items):
            return None
        self._waiting = last[len(shown) :]
        self._head += self._between.join([words.rstrip(" "), *(item.rstrip(" ") for item in items)])
        if begun and begun.groups():
            return f"{self._head}<br>\n{begun[1]}{self._closing}"
        if begun:
            return f"{self._head}{self._between.partition(ITEM)[0]}{ITEM}</li>{self._closing.partition('</li>')[2]}"
        return self._head + self._closing

    def _is_plain(self, words: str, items: list[str]) -> bool:
        return (not words or self._plain.fullmatch(words) is not None) and all(
            LETTER.match(item) and self._plain.fullmatch(item) for item in items
        )

    @property
    def before_last_part(self) -> str:
        """Return the block's HTML up to its last item."""
        return self._head[: self._head.rfind("<li")]

    @property
    def is_of_top_level(self) -> bool:
        """Return whether the last item is one of the list that is the block."""
        return self._closing in CLOSED_LISTS

    def last_part_start(self, text: str) -> int:
        """Return where the line of the last item begins in `text`, the Markdown up to the last call of grown()."""
        return text.rfind("\n", 0, len(text) - len(self._waiting)) + 1


def item_appender_of(source: str, head: str, closing: str, waiting: str, plain: re.Pattern[str]) -> ItemAppender | None:
    """Return where items can be appended to a block, or None when its last line is not an item, or not all of one.

    `source` is its Markdown up to its last word, `head` and `closing` are its HTML before and after that, and `waiting`
    has the spaces and line ends after it.
    """
    marker = ITEM_LINE.match(source, source.rfind("\n") + 1)
    if marker is None or not closing.startswith(CLOSED_LISTS):
        return None
    item = head[head.rfind("<li") :]
    is_loose = closing.startswith("</p>")
    if OPEN_ITEM.fullmatch(item) is None or ("\n" in item) != is_loose:
        return None
    return ItemAppender(head, closing, waiting, plain, marker)
