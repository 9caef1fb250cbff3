"""Load templates without the line breaks that a page does not show, so that their lines can be short.

A line break with the white space around it is taken out where HTML does not show it: next to the beginning or the end
of a block, also with tags of the template in between that write nothing. In any other text, and between attributes, a
space is left of it.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from django.template import Origin
from django.template.loaders import filesystem

# fmt: off
BLOCKS = frozenset((
    "address", "article", "aside", "blockquote", "body", "caption", "dd", "details", "dialog", "div", "dl", "dt",
    "fieldset", "figcaption", "figure", "footer", "form", "h1", "h2", "h3", "h4", "head", "header", "hr", "html",
    "legend", "li", "link", "main", "meta", "nav", "ol", "optgroup", "option", "p", "script", "section", "select",
    "style", "table", "tbody", "td", "template", "tfoot", "th", "thead", "title", "tr", "ul",
))
# fmt: on
# Besides these, they show no white space at their beginning and end.
CONTAINERS = BLOCKS | {"button", "summary"}
# Elements whose white space is shown.
RAW = "pre|textarea|script|style"
TOKEN = re.compile(
    r"(?P<text>\{%\s*(?P<whole>blocktranslate|comment)\b.*?\{%\s*end(?P=whole)\s*%\}|<!--.*?-->)"
    rf"|(?P<raw><(?P<element>{RAW})\b.*?</(?P=element)\s*>)"
    r"|(?P<tag>\{%\s*(?P<name>\w+).*?%\})|(?P<value>\{\{.*?\}\}|\{#.*?#\})"
    r"|(?P<html></?(?P<html_name>[a-zA-Z][\w-]*)(?:\{%.*?%\}|\{\{.*?\}\}|\"(?:\{%.*?%\}|\{\{.*?\}\}|[^\"])*\"|'[^']*'|[^>\"'])*>)"
    r"|(?P<space>\s+)|(?P<words>[^\s<{]+|[<{])",
    re.DOTALL,
)
# Tags of the template that write nothing themselves.
SILENT = frozenset(
    (
        "autoescape",
        "endautoescape",
        "block",
        "endblock",
        "extends",
        "load",
        "localize",
        "endlocalize",
        "with",
        "endwith",
    )
)
# What matters between the attributes of a tag of HTML.
IN_TAG = re.compile(r"\{%.*?%\}|\{\{.*?\}\}|\s*\n\s*|[\"'>]")
# A condition of a whole attribute, with the space before it.
CONDITION = re.compile(r"\{% if [^%]*%\} ")
ASSIGNMENT = re.compile(r" as \w+ ?%\}\Z")
BEGINS, BRANCHES, ENDS = {"if", "for", "ifchanged"}, {"elif", "else", "empty"}, {"endif", "endfor", "endifchanged"}


class Loader(filesystem.Loader):
    """Loads the templates of the product's folders."""

    def get_contents(self, origin: Origin) -> str:
        found = super().get_contents(origin)
        return compact(found) if origin.name.endswith(".html") else found


@dataclass
class Token:
    """A piece of a template: a tag of the template or of HTML, words, white space, or text that is left alone."""

    text: str
    kind: str
    name: str = ""
    # Of a tag that branches or ends, the index of the one that begins; of one that begins, that of its end.
    partner: int = -1

    @property
    def is_silent(self) -> bool:
        return self.kind == "tag" and (self.name in SILENT or ASSIGNMENT.search(self.text) is not None)

    @property
    def is_block(self) -> bool:
        """Return whether it is a whole element with its own lines, or one that is not shown."""
        return self.kind == "raw" and not self.text.startswith("<textarea")


def compact(source: str) -> str:
    """Return the template `source` without the line breaks that a page does not show. Pure."""
    tokens = tokens_of(source)
    parts = []
    for at, token in enumerate(tokens):
        if token.kind == "space" and "\n" in token.text:
            parts.append("" if is_hidden(tokens, at) else " ")
        else:
            parts.append(in_one_line(token.text) if token.kind in ("open", "raw") else token.text)
    return "".join(parts)


def tokens_of(source: str) -> list[Token]:
    """Return the pieces of a template in order; joined, they are `source`. Pure."""
    tokens: list[Token] = []
    open_tags: list[int] = []
    for found in TOKEN.finditer(source):
        kind = str(found.lastgroup) if found.lastgroup else "words"
        name = found["name"] or (found["html_name"] or "").lower()
        if found["html"]:
            kind = "close" if found[0].startswith("</") else "open"
        elif found["tag"]:
            kind = "tag"
        token = Token(found[0], kind, name)
        if kind == "tag" and name in BEGINS:
            open_tags.append(len(tokens))
        elif kind == "tag" and name in BRANCHES | ENDS and open_tags:
            token.partner = open_tags[-1]
            if name in ENDS:
                tokens[open_tags.pop()].partner = len(tokens)
        tokens.append(token)
    return tokens


def is_hidden(tokens: Sequence[Token], at: int) -> bool:
    """Return whether the white space `tokens[at]` is next to the beginning or the end of a block. Pure."""
    return is_hidden_before(tokens, at - 1) or is_hidden_after(tokens, at + 1)


def is_hidden_before(tokens: Sequence[Token], at: int) -> bool:
    """Return whether white space after `tokens[at]` is not shown because of what is before it. Pure."""
    while at >= 0:
        token = tokens[at]
        if token.kind == "space":
            return True
        if token.kind in ("open", "close"):
            return token.name in (CONTAINERS if token.kind == "open" else BLOCKS)
        if token.is_block:
            return True
        if token.kind == "tag" and token.name in ("if", "elif", "else") and not is_of_loop(tokens, token):
            # What is before all of its branches.
            at = token.partner - 1 if token.name != "if" else at - 1
        elif token.is_silent:
            at -= 1
        else:
            return False
    return True


def is_hidden_after(tokens: Sequence[Token], at: int) -> bool:
    """Return whether white space before `tokens[at]` is not shown because of what is after it. Pure."""
    while at < len(tokens):
        token = tokens[at]
        if token.kind in ("open", "close"):
            return token.name in (BLOCKS if token.kind == "open" else CONTAINERS)
        if token.is_block:
            return True
        if token.kind == "space":
            at += 1
            continue
        if token.kind == "tag" and token.name in ("endif", "elif", "else") and not is_of_loop(tokens, token):
            # What is after all of its branches.
            at = tokens[token.partner].partner + 1 if token.name != "endif" else at + 1
        elif token.is_silent:
            at += 1
        else:
            return False
    return False


def is_of_loop(tokens: Sequence[Token], token: Token) -> bool:
    """Return whether the branch or end `token` is that of a loop, or of nothing in this template. Pure."""
    return token.name != "if" and (token.partner < 0 or tokens[token.partner].name != "if")


def in_one_line(tag: str) -> str:
    """Return a tag of HTML, and what follows it, with a space in place of each line break between its attributes.
    Pure."""
    parts, quote, at = [], "", 0
    for found in IN_TAG.finditer(tag):
        if found[0] == ">" and not quote:
            break
        parts.append(tag[at : found.start()])
        text, at = found[0], found.end()
        if text in ("'", '"'):
            quote = "" if text == quote else quote or text
        elif "\n" in text and not quote:
            # A condition before an attribute has the space inside; before the end there is none.
            is_needless = tag.startswith(">", at) or CONDITION.match(tag, at)
            text = "" if is_needless else " "
        parts.append(text)
    return "".join([*parts, tag[at:]])
