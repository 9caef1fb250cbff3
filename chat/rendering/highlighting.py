"""Syntax highlighting: spans with Pygments' short class names, which the style sheet colours."""

import functools
import time
from html import escape

from pygments.lexer import Lexer
from pygments.lexers import get_lexer_by_name
from pygments.token import STANDARD_TYPES, Token, _TokenType
from pygments.util import ClassNotFound

# Longer code is not highlighted.
CODE_MAX_CHARS = 40_000
# Time after which one piece of code is shown without colours.
HIGHLIGHTING_SECONDS = 0.25

PLAIN = {Token.Text, Token.Text.Whitespace, Token.Name, Token.Punctuation}
CLASSES = {name for name in STANDARD_TYPES.values() if name}


def highlighted(code: str, language: str) -> str:
    """Return `code` as escaped HTML, highlighted when the language is known and highlighting does not take too long."""
    lexer = _lexer(language.lower()) if language and len(code) <= CODE_MAX_CHARS else None
    if lexer is None:
        return escape(code, quote=False)
    until = time.perf_counter() + HIGHLIGHTING_SECONDS
    html: list[str] = []
    # The unprocessed tokens are the code itself; get_tokens() would strip and add line ends.
    for _, kind, words in lexer.get_tokens_unprocessed(code):
        if time.perf_counter() > until:
            return escape(code, quote=False)
        name = _class(kind)
        html.append(f'<span class="{name}">{escape(words, quote=False)}</span>' if name else escape(words, quote=False))
    return "".join(html)


@functools.lru_cache(maxsize=64)
def _lexer(language: str) -> Lexer | None:
    try:
        return get_lexer_by_name(language)
    except ClassNotFound:
        return None


@functools.cache
def _class(kind: _TokenType) -> str:
    """Return the class of the nearest token type that has one; "" for what has the colour of plain text."""
    while kind not in STANDARD_TYPES:
        assert kind.parent is not None
        kind = kind.parent
    return "" if kind in PLAIN else STANDARD_TYPES[kind]
