"""Emphasis next to scripts without spaces, by the amendment "CJK-friendly emphasis" of CommonMark.

CommonMark asks for a space or punctuation before "**" when punctuation follows, which Chinese and Japanese do not have,
as in 含**「重点」**内容. The amendment (github.com/tats-u/markdown-cjk-friendly) takes a character of those scripts for
either.
"""

from markdown_it.main import MarkdownIt
from markdown_it.parser_inline import ParserInline
from markdown_it.rules_inline import StateInline
from markdown_it.rules_inline.state_inline import Scanned
from markdown_it.token import Token
from markdown_it.utils import EnvType

from chat.rendering.scripts import is_punctuation, is_unspaced


class ParagraphState(StateInline):
    """The parser's state of one paragraph."""

    def scanDelims(self, start: int, canSplitWord: bool) -> Scanned:
        """Return whether a run of markers can open or close, and its length."""
        scanned = super().scanDelims(start, canSplitWord)
        end = start + scanned.length
        before = self.src[start - 1] if start else " "
        after = self.src[end] if end < self.posMax else " "
        if not (is_unspaced(before) or is_unspaced(after)):
            return scanned
        can_open, can_close = _flanks(before, after), _flanks(after, before)
        if not canSplitWord:
            can_open, can_close = (
                can_open and (not can_close or is_punctuation(before)),
                can_close and (not can_open or is_punctuation(after)),
            )
        return Scanned(can_open, can_close, scanned.length)


def _flanks(outside: str, inside: str) -> bool:
    """Return whether markers between `outside` and `inside` touch a word with the latter."""
    if inside.isspace():
        return False
    if is_unspaced(inside) or not is_punctuation(inside):
        return True
    return outside.isspace() or is_punctuation(outside) or is_unspaced(outside)


class ParagraphParser(ParserInline):
    """The parser of paragraphs, with that state."""

    def parse(self, src: str, md: MarkdownIt, env: EnvType, tokens: list[Token]) -> list[Token]:
        """Append the tokens of `src` to `tokens`, and return them."""
        state = ParagraphState(src, md, env, tokens)
        self.tokenize(state)
        for rule in self.ruler2.getRules(""):
            rule(state)
        return state.tokens
