"""Append plain words to the HTML of a growing block without parsing its Markdown again.

Most of what a model adds are letters and spaces in a paragraph, or anything at all inside a block of code. Parsing the
whole block again for each of them is the main cost of streaming Markdown; this avoids most of it.
"""

import re
from html import escape

from chat.rendering.plain_items import ItemAppender, item_appender_of
from chat.rendering.plain_rows import RowAppender, row_appender_of

# Nothing in here can open, close or change anything in Markdown when it follows such a character in a line of words.
# A closing parenthesis is one of them unless it may close a link.
PLAIN_CHARACTER = r"""[^\W_]|[,.?!:;'"(%+=@-]|[^\x00-\x7f\s]"""
# Possessive, so that words are matched in runs and a mismatch is not tried again with shorter ones.
PLAIN_RUN = r"""[^\W_]++|[,.?!:;'"(%+=@ -]++|[^\x00-\x7f\s]++"""
PLAIN = re.compile(rf"(?:{PLAIN_RUN}|\)++)++")
PLAIN_IN_LINK = re.compile(rf"(?:{PLAIN_RUN})++")
# The last word of the text so far: nothing but such characters, after a space or a line end, with a letter among them
# (so that the line is no list marker, rule, or underline of a heading), or a digit after another word of the line.
LAST_WORD = re.compile(rf"(?:(?:\A|[ \n])(?=[^ \n]*[^\W\d_])|(?<=[^\W_] )(?=[^ \n]*\d))((?:{PLAIN_CHARACTER}|[)])+)\Z")
# The rest of a table's row may be empty cells.
CLOSING_TAGS = re.compile(
    r"(?:</(?:p|li|ul|ol|blockquote|h3|t[dhr]|thead|tbody|table|div)>\s*|<t[dh](?: class=\"[a-z]+\")?></t[dh]>\s*)+\Z"
)
# Longer paragraphs are parsed again: those above the parser's own limit are not Markdown.
APPEND_MAX_CHARS = 15_000
CODE_END = "</code></pre>"
# The parser drops a last line that has only white space so far.
BLANK_LINE = re.compile(r"(?<=\n)[ \t]+\Z")


class WordAppender:
    """The position between the last word of a paragraph, list, heading or table and the tags that close it."""

    def __init__(self, head: str, closing: str, plain: re.Pattern[str], room: int) -> None:
        self._head, self._closing, self._plain, self._room = head, closing, plain, room
        # Spaces at the end of a line are not shown before something follows them.
        self._spaces = ""

    def grown(self, fresh: str) -> str | None:
        """Return the block's HTML with `fresh` at its end; None when its Markdown must be parsed again."""
        self._room -= len(fresh)
        if self._room < 0 or not self._plain.fullmatch(fresh):
            return None
        shown = self._spaces + fresh
        words = shown.rstrip(" ")
        self._head += words
        self._spaces = shown[len(words) :]
        return self._head + self._closing


class CodeAppender:
    """The position at the end of a block of code whose fence is still open."""

    def __init__(self, head: str, fence: str, waiting: str) -> None:
        # `fence` is the character that may close it; `waiting` the end of its text that is not shown yet.
        self._head, self._fence, self._waiting = head, fence, waiting

    def grown(self, fresh: str) -> str | None:
        """Return the block's HTML with `fresh` at its end; None when its Markdown must be parsed again."""
        if self._fence in fresh:
            return None
        text = self._waiting + fresh
        blank = BLANK_LINE.search(text)
        shown = text[: blank.start()] if blank else text
        # A line end waits as well: what follows it may be a blank line.
        shown, self._waiting = (shown[:-1], text[len(shown) - 1 :]) if shown.endswith("\n") else (shown, "")
        self._head += escape(shown, quote=False).replace("\u00a0", "&nbsp;")
        return f"{self._head}\n{CODE_END}" if self._waiting else f"{self._head}{CODE_END}"


Appender = WordAppender | ItemAppender | RowAppender | CodeAppender


def appender_of(source: str, html: str) -> Appender | None:
    """Return where text can be appended to a block with this Markdown and HTML; None when nowhere."""
    fence = source[:3]
    if fence in ("```", "~~~"):
        return _code_appender(source, html, fence[0])
    plain = PLAIN_IN_LINK if "](" in source else PLAIN
    if "]:" not in source and (rows := row_appender_of(source, html, plain)):
        return rows
    text = source.rstrip(" \n")
    word, closing = LAST_WORD.search(text[-80:]), CLOSING_TAGS.search(html[-400:])
    if word is None or closing is None or "]:" in source:
        return None
    head = html[: len(html) - len(closing.group())]
    if not head.endswith(word[1]):
        # What the block does not end with has become something else.
        return None
    if items := item_appender_of(text, head, closing.group(), source[len(text) :], plain):
        return items
    room = APPEND_MAX_CHARS - len(source)
    return WordAppender(head, closing.group(), plain, room) if text == source else None


def _code_appender(source: str, html: str, fence: str) -> CodeAppender | None:
    first_line, line_end, content = source.partition("\n")
    last_line = content.rstrip().rpartition("\n")[2].strip()
    # With a bar, the next line may make it the head of a table.
    if not line_end or "|" in first_line or not html.endswith(CODE_END) or (last_line and set(last_line) == {fence}):
        return None
    head = html.removesuffix(CODE_END)
    if BLANK_LINE.search(source) or source.endswith("\n"):
        waiting = source[len(source.rstrip(" \t")) :]
        # The line end before it is in the HTML unless the code is still empty.
        return CodeAppender(head[:-1], fence, "\n" + waiting) if head.endswith("\n") else None
    return CodeAppender(head, fence, "")
