"""The few HTML elements that models write and Markdown lacks: br, sub, sup, kbd, mark, u, and details with a summary.

Exactly these, in pairs and without attributes, but for "open"; every other tag stays text. What becomes of them passes
the sanitiser.
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

BREAK = re.compile(r"<br ?/?>(?:[ \t]*\n[ \t]*)?", re.IGNORECASE)
PAIRED = re.compile(r"<(sub|sup|kbd|mark|u)>", re.IGNORECASE)
DETAILS = re.compile(r"<details(?: open)?>[ \t]*", re.IGNORECASE)
SUMMARY = re.compile(r"<summary>(.*?)</summary>[ \t]*", re.IGNORECASE)
END = "</details>"
FENCES = ("```", "~~~")


def add_to(parser: MarkdownIt) -> None:
    parser.inline.ruler.before("autolink", "paired_tag", _among_words)
    ends = ["paragraph", "reference", "blockquote", "list"]
    parser.block.ruler.before("table", "details", _details, {"alt": ends})
    parser.add_render_rule("details_open", _render_open)
    parser.add_render_rule("details_close", _render_close)


def _among_words(state: StateInline, silent: bool) -> bool:
    """Make a line break of <br>, and an element of a tag whose end tag follows in the same paragraph."""
    if state.src[state.pos] != "<":
        return False
    if found := BREAK.match(state.src, state.pos, state.posMax):
        if not silent:
            state.push("hardbreak", "br", 0)
        state.pos = found.end()
        return True
    found = PAIRED.match(state.src, state.pos, state.posMax)
    if found is None:
        return False
    name = found[1].lower()
    end = _last_of_pair(state, f"</{found[1]}>", found.end())
    if end < 0:
        return False
    after, limit = end + len(name) + 3, state.posMax
    if not silent:
        state.push(f"{name}_open", name, 1)
        state.pos, state.posMax = found.end(), end
        state.md.inline.tokenize(state)
        state.push(f"{name}_close", name, -1)
    state.pos, state.posMax = after, limit
    return True


def _last_of_pair(state: StateInline, end_tag: str, begin: int) -> int:
    """Return the offset of `end_tag` after `begin`, -1 if there is none; that nothing ends is known without looking."""
    return state.src.find(end_tag, begin, state.posMax) if state.html_terminator_last(end_tag) >= begin else -1


def _details(state: StateBlock, first: int, end: int, silent: bool) -> bool:
    """Fold what lies between a line that begins with <details> and one that ends with </details>.

    Without such a line, the block goes to the end of the text, so that what follows changes no block before it, and the
    tag is shown as it was written.
    """
    begin = state.bMarks[first] + state.tShift[first]
    if not state.src.startswith("<", begin) or state.is_code_block(first):
        return False
    found = DETAILS.match(state.src, begin, state.eMarks[first])
    if found is None:
        return False
    if silent:
        return True
    stop, is_closed = _stop(state, first, end)
    token = state.push("details_open", "details", 1)
    token.map, token.meta = [first, stop], {"is_closed": is_closed}
    if is_closed:
        _fold(state, first, stop - 1, found.end())
    else:
        token.content = state.src[begin : state.eMarks[first]].strip()
        _blocks(state, first + 1, stop)
    state.push("details_close", "details", -1).meta = token.meta
    state.line = stop
    return True


def _stop(state: StateBlock, first: int, end: int) -> tuple[int, bool]:
    """Return the line after the element, and whether an end tag closes it. Tags in blocks of code do not count."""
    depth, fence, last = 0, "", first
    for line in range(first, end):
        if state.isEmpty(line):
            continue
        text = state.src[state.bMarks[line] + state.tShift[line] : state.eMarks[line]].strip(" \t").lower()
        if state.sCount[line] < state.blkIndent:
            break
        last = line
        if text.startswith(FENCES) and (not fence or text.startswith(fence)):
            fence = "" if fence else text[:3]
        if fence:
            continue
        depth += text.startswith("<details") - text.endswith(END)
        if depth <= 0:
            return line + 1, True
    return last + 1, False


def _fold(state: StateBlock, first: int, last: int, begin: int) -> None:
    """Push the summary and the blocks of the lines `first` to `last`; `begin` is the offset after the first tag."""
    before = state.bMarks[first], state.tShift[first], state.sCount[first], state.eMarks[last]
    written = state.src[state.bMarks[last] : state.eMarks[last]].rstrip(" \t")
    state.eMarks[last] = state.bMarks[last] + len(written) - len(END)
    state.bMarks[first], state.tShift[first], state.sCount[first] = begin, 0, state.blkIndent
    line = state.skipEmptyLines(first)
    at = state.bMarks[line] + state.tShift[line]
    found = SUMMARY.match(state.src, at, state.eMarks[line]) if line <= last else None
    if found is None:
        _blocks(state, line, last + 1)
    else:
        state.push("summary_open", "summary", 1)
        token = state.push("inline", "", 0)
        token.content, token.map, token.children = found[1].strip(), [line, line + 1], []
        state.push("summary_close", "summary", -1)
        rest = state.bMarks[line], state.tShift[line]
        state.bMarks[line], state.tShift[line] = found.end(), 0
        _blocks(state, line, last + 1)
        state.bMarks[line], state.tShift[line] = rest
    state.bMarks[first], state.tShift[first], state.sCount[first], state.eMarks[last] = before


def _blocks(state: StateBlock, first: int, end: int) -> None:
    """Push the blocks of these lines."""
    before = state.lineMax, state.parentType
    # A paragraph looks for its end up to there.
    state.lineMax, state.parentType = end, "root"
    state.md.block.tokenize(state, first, end)
    state.lineMax, state.parentType = before


def _render_open(self: RendererProtocol, tokens: Sequence[Token], index: int, options: Any, env: Any) -> str:
    token = tokens[index]
    return "<details>\n" if token.meta["is_closed"] else f"<div>\n<p>{escape(token.content, quote=False)}</p>\n"


def _render_close(self: RendererProtocol, tokens: Sequence[Token], index: int, options: Any, env: Any) -> str:
    return "</details>\n" if tokens[index].meta["is_closed"] else "</div>\n"
