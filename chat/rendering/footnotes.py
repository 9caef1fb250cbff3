"""Footnotes in Markdown: [^name] refers to a note that begins with "[^name]: " and is shown where it was written.

A note's number is its position among the notes, so that a later note changes no earlier number. Notes have no ids:
a page shows many messages; static/js/notes.js finds a note within its own.
"""

from collections.abc import Sequence
from html import escape
from typing import Any

from markdown_it import MarkdownIt
from markdown_it.renderer import RendererProtocol
from markdown_it.rules_core import StateCore
from markdown_it.rules_inline import StateInline
from markdown_it.token import Token
from mdit_py_plugins.footnote import footnote_plugin

# Notes of one message that can be referred to.
MAX_NOTES = 64


def add_to(parser: MarkdownIt) -> None:
    footnote_plugin(parser, inline=False, move_to_end=False)
    parser.inline.ruler.at("footnote_ref", _reference)
    parser.core.ruler.after("block", "few_footnotes", _few)
    parser.add_render_rule("footnote_ref", _render_reference)
    parser.add_render_rule("footnote_reference_open", _render_open)
    parser.add_render_rule("footnote_reference_close", _render_close)


def environment(names: dict[str, int]) -> dict[str, Any]:
    """Return what the parser keeps under "footnotes"; the keys of `names` are those of the notes so far, in order."""
    return {"refs": names, "list": {}}


def _few(state: StateCore) -> None:
    names = state.env.get("footnotes", {}).get("refs", {})
    for name in list(names)[MAX_NOTES:]:
        del names[name]


def _reference(state: StateInline, silent: bool) -> bool:
    begin = state.pos
    if not state.src.startswith("[^", begin):
        return False
    end = state.src.find("]", begin, state.posMax)
    number = _number(state.env, state.src[begin + 2 : end]) if end > 0 else None
    if number is None:
        return False
    if not silent:
        state.push("footnote_ref", "", 0).meta = {"number": number}
    state.pos = end + 1
    return True


def _number(env: Any, name: str) -> int | None:
    names = env.get("footnotes", {}).get("refs", {})
    return list(names).index(f":{name}") + 1 if f":{name}" in names else None


def _render_reference(self: RendererProtocol, tokens: Sequence[Token], index: int, options: Any, env: Any) -> str:
    number = tokens[index].meta["number"]
    return f'<sup class="note-ref" role="link" tabindex="0" data-note="{number}">{number}</sup>'


def _render_open(self: RendererProtocol, tokens: Sequence[Token], index: int, options: Any, env: Any) -> str:
    name = tokens[index].meta["label"]
    number = _number(env, name) or escape(name)
    begin = f'<div class="note" role="doc-footnote" data-note="{number}" dir="auto">'
    return f'{begin}<span class="note__number">{number}</span>\n'


def _render_close(self: RendererProtocol, tokens: Sequence[Token], index: int, options: Any, env: Any) -> str:
    return "</div>\n"
