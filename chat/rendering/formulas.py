r"""Formulas in Markdown: TeX between $…$, $$…$$, \(…\) or \[…\], which stays unchanged until the page typesets it.

Where a block ends never depends on what comes after it, so that a text may stream: $$ or \[ alone on a line begins a
block, which ends with the line that closes it or before a blank one.
"""

import re
from collections.abc import Sequence
from html import escape
from typing import Any

from markdown_it import MarkdownIt
from markdown_it.renderer import RendererProtocol
from markdown_it.rules_block import StateBlock
from markdown_it.rules_inline import StateInline
from markdown_it.token import Token

from chat.rendering.scripts import is_unspaced, is_word

# What closes a formula that has its own line, and one among words.
DISPLAYED = {"$$": "$$", r"\[": r"\]"}
AMONG_WORDS = {"$": "$", r"\(": r"\)"}
# Characters of a formula within a paragraph.
FORMULA_MAX_CHARS = 2_000
# Lines of a paragraph above a "$$" in which a formula may have been begun.
BEGUN_MAX_LINES = 40
# "5 and" is the beginning of an amount of money rather than of a formula.
AMOUNT = re.compile(r"\d[\d.,]*[kKmMbB]?[.,;:!?]?\s+[^\W\d_]{2}")
# What is no TeX: a word among others before any command, another currency, "each" as in "150/$".
NO_TEX = re.compile(r"\A[^\\]*\s[^\W\d_]{2,}\s|[¢£¥\u20a0-\u20cf\uffe0\uffe1\uffe5\uffe6]|\A/|/\Z")


def add_to(parser: MarkdownIt) -> None:
    ends = ["paragraph", "reference", "blockquote", "list"]
    parser.block.ruler.before("table", "formula", _of_its_own, {"alt": ends})
    parser.inline.ruler.before("escape", "formula", _among_words)
    parser.add_render_rule("formula", _render)
    parser.add_render_rule("open_formula", _render_open)


def _of_its_own(state: StateBlock, first: int, end: int, silent: bool) -> bool:
    begin, stop = state.bMarks[first] + state.tShift[first], state.eMarks[first]
    closer = DISPLAYED.get(state.src[begin : begin + 2])
    if closer is None or state.is_code_block(first):
        return False
    if not state.src[begin + 2 : stop].strip():
        last, closed = _last_line(state, first, end, closer)
        if silent:
            return not _ends_formula(state, first)
    else:
        last, closed = first, _closed(state.src, closer, begin + 2, stop)
        if closed < 0 or not state.src[begin + 2 : closed].strip() or state.src[closed + 2 : stop].strip():
            return False
        if silent:
            return True
    source = state.getLines(first, last + 1, state.blkIndent, False).strip()
    state.line = last + 1
    if closed < 0:
        _push(state, "open_formula", source, first)
    elif state.src[closed + 2 : state.eMarks[last]].strip():
        # Words follow on its last line.
        state.push("paragraph_open", "p", 1).map = [first, last + 1]
        token = _push(state, "inline", source, first)
        token.children = []
        state.push("paragraph_close", "p", -1)
    else:
        _push(state, "formula", source, first)
    return True


def _ends_formula(state: StateBlock, line: int) -> bool:
    """Return whether this line, "$$" alone, ends a formula that begins above it in its paragraph, after words."""
    if state.parentType != "paragraph" or line - state.line > BEGUN_MAX_LINES:
        return False
    return state.getLines(state.line, line, state.blkIndent, False).count("$$") % 2 == 1


def _last_line(state: StateBlock, first: int, end: int, closer: str) -> tuple[int, int]:
    """Return its last line, and the offset in the text at which it is closed, or -1."""
    line = first + 1
    while line < end and not state.isEmpty(line) and state.sCount[line] >= state.blkIndent:
        closed = _closed(state.src, closer, state.bMarks[line] + state.tShift[line], state.eMarks[line])
        if closed >= 0:
            return line, closed
        line += 1
    return line - 1, -1


def _push(state: StateBlock, type: str, source: str, first: int) -> Token:
    token = state.push(type, "", 0)
    token.content = source
    token.map = [first, state.line]
    token.block = True
    return token


def _among_words(state: StateInline, silent: bool) -> bool:
    source, begin = state.src, state.pos
    if source[begin] not in "$\\":
        return False
    opener = next((each for each in (*DISPLAYED, *AMONG_WORDS) if source.startswith(each, begin)), None)
    if opener is None:
        return False
    closer = (DISPLAYED | AMONG_WORDS)[opener]
    inside = begin + len(opener)
    closed = _closed(source, closer, inside, min(state.posMax, inside + FORMULA_MAX_CHARS))
    is_formula = closed >= 0 and bool(source[inside:closed].strip())
    if opener == "$" and is_formula:
        is_formula = _is_no_money(source, begin, closed)
    if is_formula:
        state.pos = closed + len(closer)
        if not silent:
            token = state.push("formula", "", 0)
            token.content = source[begin : state.pos]
            token.meta = {"display": opener in DISPLAYED}
        return True
    if opener != "$$":
        return False
    # Neither of the two dollars begins a formula.
    if not silent:
        state.append_pending(opener)
    state.pos = inside
    return True


def _is_no_money(source: str, begin: int, closed: int) -> bool:
    """Return whether $…$ is a formula: no space inside next to the dollars, no word or number outside them, and no
    amount between them."""
    before, after, content = source[begin - 1 : begin], source[closed + 1 : closed + 2], source[begin + 1 : closed]
    if is_word(before) or is_word(after) or content[0].isspace() or content[-1].isspace():
        return False
    is_amount = AMOUNT.match(content) or (content[0].isdigit() and any(map(is_unspaced, content.partition("\\")[0])))
    return not is_amount and NO_TEX.search(content) is None


def _closed(source: str, closer: str, begin: int, end: int) -> int:
    """Return the offset of `closer` between `begin` and `end`, with no backslash before it; -1 if there is none."""
    found = source.find(closer, begin, end)
    while found >= 0:
        before = source[begin:found]
        if (len(before) - len(before.rstrip("\\"))) % 2 == 0:
            return found
        found = source.find(closer, found + 1, end)
    return -1


def _render(self: RendererProtocol, tokens: Sequence[Token], index: int, options: Any, env: Any) -> str:
    token = tokens[index]
    source = escape(token.content, quote=False)
    if token.block:
        return f'<div class="math math--display" tabindex="0">{source}</div>\n'
    if token.meta["display"]:
        return f'<span class="math math--display" tabindex="0">{source}</span>'
    return f'<span class="math">{source}</span>'


def _render_open(self: RendererProtocol, tokens: Sequence[Token], index: int, options: Any, env: Any) -> str:
    return "<p>" + escape(tokens[index].content, quote=False).replace("\n", "<br>\n") + "</p>\n"
