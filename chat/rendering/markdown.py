"""Markdown to the safe HTML of its top-level blocks. The only place where a model's text becomes HTML."""

import re
import time
import unicodedata
from collections.abc import Callable, Iterator, Mapping, MutableMapping, Sequence
from dataclasses import dataclass, field
from html import escape
from typing import Any

import nh3
from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML
from markdown_it.rules_block import StateBlock
from markdown_it.rules_core import StateCore
from markdown_it.rules_inline import StateInline
from markdown_it.token import Token

from chat.rendering import citations, footnotes, formulas, html_tags
from chat.rendering.block_parts import parts_of
from chat.rendering.emphasis import ParagraphParser
from chat.rendering.highlighting import CLASSES, highlighted
from chat.rendering.scripts import is_punctuation, is_unspaced, is_word

# Blocks inside blocks; deeper ones are shown as plain text.
NESTING_MAX_LEVELS = 16
# Longer paragraphs are shown as plain text.
PARAGRAPH_MAX_CHARS = 30_000
# Link definitions of one message; further ones are not looked up.
MAX_DEFINITIONS = 64
# Processor time that one text may take.
PARSE_SECONDS = 0.5


CoreRule = Callable[[StateCore], None]


class OverrunError(Exception):
    """The text takes too long to parse."""


class TimeLimit:
    """A limit of processor time for one text. It reads the time at every 64th tick only, because that costs too."""

    def __init__(self, seconds: float) -> None:
        self._until = time.thread_time() + seconds
        self._steps = 0

    def tick(self) -> None:
        """Count one step of the parser. Raise Overrun when the time is over."""
        self._steps += 1
        if not self._steps & 63 and time.thread_time() > self._until:
            raise OverrunError


@dataclass(frozen=True, slots=True)
class MarkdownBlock:
    """A top-level block: its lines, what its HTML is made of, and that HTML."""

    first_line: int
    end_line: int
    source: "Source"
    html: str
    # Whether a blank line after it ends it; a list or a footnote may go on.
    ends_with_blank: bool = False
    # "table", "list" or "loose list", and the first lines of its rows or items; else nothing.
    kind: str = ""
    parts: tuple[int, ...] = ()


# The text of a block, and the definitions if it may refer to them: equal sources become the same HTML.
Source = tuple[str, tuple[Any, ...]]


@dataclass(frozen=True, slots=True)
class Definitions:
    """What the blocks of a message may refer to: the parser's links, and the names of footnotes."""

    links: dict[str, Any] = field(default_factory=dict)
    notes: dict[str, int] = field(default_factory=dict)

    def copy(self) -> "Definitions":
        return Definitions(dict(self.links), dict(self.notes))

    def known(self) -> tuple[Any, ...]:
        """Return a value that is equal for definitions with which every text becomes the same HTML."""
        links = ((label, link["href"], link["title"]) for label, link in self.links.items())
        return (*links, *self.notes)


def rendered(
    text: str,
    definitions: Definitions,
    seconds: float = PARSE_SECONDS,
    kept: MutableMapping[Source, str] | None = None,
) -> list[MarkdownBlock]:
    """Return the top-level blocks of `text`. `definitions` are those so far; what `text` defines is added to them.

    `kept` is a cache of HTML by source, which is read and filled. Text that would take longer than `seconds` seconds
    of processor time becomes one block of plain text.
    """
    kept = {} if kept is None else kept
    env = _environment(definitions, seconds)
    try:
        groups = list(_groups(_run(OF_BLOCKS, text, env, [])))
        known, lines = definitions.known(), text.split("\n")
        return [_block(group, lines, known, kept, env) for group in groups]
    except (OverrunError, RecursionError):
        return [MarkdownBlock(0, text.count("\n") + 1, (text, ()), as_written(text))]


def define(text: str, definitions: Definitions, seconds: float = PARSE_SECONDS) -> None:
    """Add to `definitions` what `text` defines."""
    if "]:" not in text:
        return
    try:
        _run(OF_BLOCKS, text, _environment(definitions, seconds), [])
    except (OverrunError, RecursionError):
        return


def outline(text: str, seconds: float = PARSE_SECONDS) -> list[tuple[int, int]]:
    """Return (first line, end line) of each top-level block, without rendering; [] when it takes too long."""
    tokens: list[Token] = []
    try:
        PARSER.block.parse(text, PARSER, {"clock": TimeLimit(seconds)}, tokens)
    except (OverrunError, RecursionError):
        return []
    return [_lines(group) for group in _groups(tokens)]


def as_written(text: str) -> str:
    """Return `text` as HTML without parsing any markup."""
    return f'<pre class="plain" tabindex="0">{escape(text, quote=False)}</pre>'


def code(content: str, language: str, colours: bool = True) -> str:
    """Return a block of code as HTML, with the language's name for the page to show."""
    language = "".join(LANGUAGE.findall(language[:40]))
    name = f' data-language="{language}"' if language else ""
    shown = highlighted(content, language) if colours else escape(content, quote=False)
    return f'<pre class="code" tabindex="0"{name}><code>{shown}</code></pre>'


def _groups(tokens: Sequence[Token]) -> Iterator[list[Token]]:
    """Yield the tokens of each top-level block."""
    group: list[Token] = []
    for token in tokens:
        group.append(token)
        if token.level == 0 and token.nesting <= 0:
            yield group
            group = []


def _environment(definitions: Definitions, seconds: float) -> dict[str, Any]:
    notes = footnotes.environment(definitions.notes)
    return {"references": definitions.links, "footnotes": notes, "clock": TimeLimit(seconds)}


def _run(rules: Sequence[CoreRule], text: str, env: MutableMapping[str, Any], tokens: list[Token]) -> list[Token]:
    state = StateCore(text, PARSER, env, tokens)
    for rule in rules:
        rule(state)
    return state.tokens


def _block(
    group: list[Token],
    lines: Sequence[str],
    known: tuple[Any, ...],
    kept: MutableMapping[Source, str],
    env: MutableMapping[str, Any],
) -> MarkdownBlock:
    env["clock"].tick()
    first, end = _lines(group)
    text = "\n".join(lines[first:end])
    # The end of its last line changes a block of code.
    text += "\n" if end < len(lines) and group[0].type != "paragraph_open" else ""
    source = (text, known if "[" in text else ())
    if source not in kept:
        html = PARSER.renderer.render(_run(OF_WORDS, "", env, group), PARSER.options, env)
        kept[source] = CLEANER.clean(html).strip()
    type = group[0].type
    ends_with_blank = type in ENDED_BY_BLANK or (type == "fence" and _closed(group[0]))
    return MarkdownBlock(first, end, source, kept[source], ends_with_blank, *parts_of(group))


ENDED_BY_BLANK = {
    *("paragraph_open", "heading_open", "hr", "blockquote_open", "table_open", "formula", "open_formula"),
}


def _lines(group: Sequence[Token]) -> tuple[int, int]:
    first, end = group[0].map or [0, 0]
    return first, end


# -- The parser's own rules ----------------------------------------------------------------------

LANGUAGE = re.compile(r"[\w.+#-]")
ADDRESS = re.compile(r"://[^\s<>\x00-\x1f]+")
LATIN_HOST = re.compile(r"://(?:[a-z0-9-]+\.)+[a-z]{2,}(?::\d+)?", re.IGNORECASE)


def _deep(state: StateBlock, first: int, end: int, silent: bool) -> bool:
    """Keep text that is nested too deeply as plain text, which the parser would drop."""
    state.env["clock"].tick()
    if silent or state.level < NESTING_MAX_LEVELS:
        return False
    token = state.push("as_written", "", 0)
    token.content = state.getLines(first, end, state.blkIndent, False)
    token.map = [first, end]
    state.line = end
    return True


def _in_time(state: StateInline, silent: bool) -> bool:
    state.env["clock"].tick()
    return False


def _address(state: StateInline, silent: bool) -> bool:
    """Make a link of a bare http(s) address."""
    if silent or state.linkLevel > 0 or state.src[state.pos] != ":":
        return False
    scheme = next((name for name in ("https", "http") if state.pending.endswith(name)), None)
    found = ADDRESS.match(state.src, state.pos, state.posMax)
    if scheme is None or found is None or is_word(state.pending[: -len(scheme)][-1:]):
        return False
    rest = _without_trailing_punctuation(_before_punctuation(found.group()))
    href = state.md.normalizeLink(scheme + rest)
    if len(rest) <= 3 or not state.md.validateLink(href):
        return False
    state.pending = state.pending[: -len(scheme)]
    state.push("link_open", "a", 1).attrs = {"href": href}
    state.push("text", "", 0).content = scheme + rest
    state.push("link_close", "a", -1)
    state.pos += len(rest)
    return True


def _before_punctuation(address: str) -> str:
    """Return `address` up to a quotation mark, "**", or what ends it in other scripts: their punctuation, punctuation
    before one of their letters, or such a letter right after a Latin host."""
    host = LATIN_HOST.match(address)
    if host and is_unspaced(address[host.end() : host.end() + 1]):
        return host.group()
    for index, char in enumerate(address):
        after = address[index + 1 : index + 2]
        if char == '"' or (char == "*" and after == "*"):
            return address[:index]
        if char in ",;!)]'" and is_unspaced(after) and not (char == ")" and _is_balanced(address[: index + 1])):
            return address[:index]
        if char > "\x7f" and is_punctuation(char) and not _is_in_name(char, after):
            return address[:index]
    return address


def _is_balanced(text: str) -> bool:
    return text.count("(") >= text.count(")")


def _is_in_name(char: str, after: str) -> bool:
    """Return whether punctuation is part of a name, as in /wiki/Foo–Bar, or an emoji."""
    return (char in "–’·" and is_word(after)) or unicodedata.category(char) == "So"


def _without_trailing_punctuation(address: str) -> str:
    """Return `address` without a full stop after it or a closing parenthesis around it."""
    closing = address.count(")") - address.count("(")
    end = len(address)
    while end and (address[end - 1] in "?!.,:;*_~'\"]|" or (address[end - 1] == ")" and closing > 0)):
        end -= 1
        closing -= address[end] == ")"
    return address[:end]


def _few_definitions(state: StateCore) -> None:
    """Limit the definitions of a message, after its blocks are known and before their text is parsed."""
    definitions = state.env.get("references", {})
    for label in list(definitions)[MAX_DEFINITIONS:]:
        del definitions[label]


def _inline(state: StateCore) -> None:
    """Parse the text of blocks like the parser's own rule, but show a very long paragraph as plain text."""
    for token in state.tokens:
        if token.type == "inline" and len(token.content) <= PARAGRAPH_MAX_CHARS:
            token.children = []
            state.md.inline.parse(token.content, state.md, state.env, token.children)
        elif token.type == "inline":
            token.children = [Token("plain_lines", "", 0, content=token.content)]


def _images_as_links(state: StateCore) -> None:
    """Replace images by links, so that a browser fetches nothing because a model wrote it."""
    for token in state.tokens:
        if token.type != "inline" or not any(child.type == "image" for child in token.children or []):
            continue
        children: list[Token] = []
        inside_link = False
        for child in token.children or []:
            if child.type in ("link_open", "link_close"):
                inside_link = child.type == "link_open"
            if child.type == "image":
                address = str(child.attrs.get("src", ""))
                shown = Token("text", "", 0, content=child.content or address)
                around = [Token("link_open", "a", 1, attrs={"href": address}), Token("link_close", "a", -1)]
                children += [shown] if inside_link else [around[0], shown, around[1]]
            else:
                children.append(child)
        token.children = children


class Renderer(RendererHTML):
    """The parser's HTML renderer with the elements that differ here."""

    def as_written(self, tokens: Sequence[Token], index: int, options: Any, env: Any) -> str:
        return as_written(tokens[index].content)

    def plain_lines(self, tokens: Sequence[Token], index: int, options: Any, env: Any) -> str:
        return escape(tokens[index].content, quote=False).replace("\n", "<br>\n")

    def fence(self, tokens: Sequence[Token], index: int, options: Any, env: Any) -> str:
        token = tokens[index]
        language = token.info.split(maxsplit=1)[0] if token.info.strip() else ""
        # While it still grows it stays plain, so that a long one costs little.
        return code(token.content, language, colours=_closed(token)) + "\n"

    def code_block(self, tokens: Sequence[Token], index: int, options: Any, env: Any) -> str:
        return code(tokens[index].content, "") + "\n"

    def list_item_open(self, tokens: Sequence[Token], index: int, options: Any, env: Any) -> str:
        # So is the marker of an item.
        tokens[index].attrSet("dir", "auto")
        html = self.renderToken(tokens, index, options, env)
        checked = (tokens[index].meta or {}).get("checked")
        return html if checked is None else f'{html}<span class="task">{"☑" if checked else "☐"}</span> '

    def heading_open(self, tokens: Sequence[Token], index: int, options: Any, env: Any) -> str:
        # The page has its own outline; a model's first heading may be of any level.
        return f'<h3 data-level="{tokens[index].tag[1:]}">'

    def heading_close(self, tokens: Sequence[Token], index: int, options: Any, env: Any) -> str:
        return "</h3>\n"

    def blockquote_open(self, tokens: Sequence[Token], index: int, options: Any, env: Any) -> str:
        # Its border is at the side of its first letter; static/css/direction.css does the rest.
        tokens[index].attrSet("dir", "auto")
        return self.renderToken(tokens, index, options, env)

    def table_open(self, tokens: Sequence[Token], index: int, options: Any, env: Any) -> str:
        return '<div class="wide" tabindex="0" dir="auto"><table>\n'

    def table_close(self, tokens: Sequence[Token], index: int, options: Any, env: Any) -> str:
        return "</table></div>\n"

    def th_open(self, tokens: Sequence[Token], index: int, options: Any, env: Any) -> str:
        style = str(tokens[index].attrs.get("style", ""))
        side = style.removeprefix("text-align:") if style else ""
        return f'<{tokens[index].tag} class="{side}">' if side else f"<{tokens[index].tag}>"

    td_open = th_open


def _closed(fence: Token) -> bool:
    """Return whether a fenced block has its closing line."""
    first, end = fence.map or [0, 0]
    unfinished = bool(fence.content) and not fence.content.endswith("\n")
    return not unfinished and end - first - 2 == fence.content.count("\n")


def _parser() -> MarkdownIt:
    parser = MarkdownIt("default", {"html": False, "breaks": True, "tasklists": True}, renderer_cls=Renderer)
    parser.inline = ParagraphParser()
    parser.block.ruler.before("table", "deep", _deep, {"alt": []})
    parser.inline.ruler.before("text", "in_time", _in_time)
    formulas.add_to(parser)
    footnotes.add_to(parser)
    citations.add_to(parser)
    html_tags.add_to(parser)
    parser.inline.ruler.push("address", _address)
    parser.core.ruler.after("block", "few_definitions", _few_definitions)
    parser.core.ruler.at("inline", _inline)
    parser.core.ruler.after("inline", "images_as_links", _images_as_links)
    return parser


PARSER = _parser()
# The parser's work, in two halves: which blocks there are and what they define; what the words in them become.
RULES = PARSER.core.ruler.getRules("")
OF_BLOCKS, OF_WORDS = RULES[: RULES.index(_inline)], RULES[RULES.index(_inline) :]

TAGS = {
    *("p", "br", "hr", "h3", "blockquote", "ul", "ol", "li", "pre", "code", "span", "div"),
    *(
        "strong",
        "em",
        "s",
        "sub",
        "sup",
        "kbd",
        "mark",
        "u",
        "details",
        "summary",
        "a",
        "table",
        "thead",
        "tbody",
        "tr",
        "th",
        "td",
    ),
}
ATTRIBUTES: Mapping[str, set[str]] = {
    "a": {"href", "title"},
    "ol": {"start"},
    "h3": {"data-level"},
    "pre": {"data-language"},
    "div": {"data-note"},
    "sup": {"data-note"},
    "span": {"data-cite"},
}
# The one kind of address without a host that stays: a conversation.
OWN_ADDRESS = re.compile(r"/c/[0-9a-f-]{36}")
# Always the last step, whatever the parser has let through.
CLEANER = nh3.Cleaner(
    tags=TAGS,
    attributes={name: set(allowed) for name, allowed in ATTRIBUTES.items()},
    allowed_classes={
        "span": CLASSES | {"task", "math", "math--display", "note__number", "cite"},
        "sup": {"note-ref"},
        "pre": {"code", "plain"},
        "div": {"wide", "math", "math--display", "note"},
        "ul": {"contains-task-list"},
        "li": {"task-list-item"},
        "th": {"left", "center", "right"},
        "td": {"left", "center", "right"},
    },
    tag_attribute_values={
        "pre": {"tabindex": {"0"}},
        "span": {"tabindex": {"0"}},
        "div": {"tabindex": {"0"}, "role": {"doc-footnote"}, "dir": {"auto"}},
        **{name: {"dir": {"auto"}} for name in ("li", "blockquote")},
        "sup": {"tabindex": {"0"}, "role": {"link"}},
    },
    set_tag_attribute_values={"a": {"target": "_blank"}},
    link_rel="noopener noreferrer nofollow",
    url_schemes={"http", "https", "mailto"},
    url_relative=lambda address: address if OWN_ADDRESS.fullmatch(address) else None,
)
