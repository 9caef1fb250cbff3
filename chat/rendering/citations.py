"""The marks by which an answer names what it rests on: "[m14-2]" in its text, a small number in its HTML.

A mark is given to each passage that the model is sent (chat.extensions.SentPassage). Rendering turns every mark in the
Markdown of an answer into an element that shows it as it was written; `Marks` makes links of those whose passages were
really sent for this answer, and numbers them. The stored HTML has no links, so that it can be shown to anybody.
"""

import re
from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

from django.urls import reverse
from django.utils.translation import gettext
from markdown_it import MarkdownIt
from markdown_it.renderer import RendererProtocol
from markdown_it.rules_inline import StateInline
from markdown_it.token import Token

from chat.models import Message
from chat.rendering import thoughts
from oneclaw.llm import Block
from oneclaw.llm.citations import cited_sources
from oneclaw.reasons import Reason
from oneclaw.text import replace_unstorable_in_json

# The key in Message.meta of the passages that an answer may cite: {mark: title, a Reason as JSON}.
SOURCES_KEY = "sources"
MARK = r"[md]\d{1,9}-\d{1,4}"
# One or more marks in brackets, unless they are the text of a link. "!" follows the mark of what the model's server
# says that a text cites: it is not in the text itself, so it is not shown unless it becomes a number.
REFERENCE = re.compile(rf"\[({MARK}(?:\s?[,;]\s?{MARK})*)(!?)\](?!\()")
REFERENCE_AND_SPACE = re.compile(f" ?{REFERENCE.pattern}")
# What may become a reference when more of a growing text arrives, with the space before it.
BEGUN = re.compile(r"[ \n]*(?:\[(?:[md](?:\d[\dmd,; -]*)?)?)?\Z")
BEGUN_MAX_CHARS = 60
# A mark in rendered HTML, with the space before it; made below, and passed by the sanitiser as it is.
CITE = re.compile(rf'(\s?)<span class="cite" data-cite="({MARK})">[^<]*</span>')

Sources = Mapping[str, Any]


def add_to(parser: MarkdownIt) -> None:
    """Let the parser of Markdown find marks."""
    parser.inline.ruler.before("link", "cite", _reference)
    parser.add_render_rule("cite", _render)


def _reference(state: StateInline, silent: bool) -> bool:
    if state.src[state.pos] != "[" or state.linkLevel > 0:
        return False
    found = REFERENCE.match(state.src, state.pos, state.posMax)
    if found is None:
        return False
    if not silent:
        for mark in re.findall(MARK, found[1]):
            token = state.push("cite", "", 0)
            token.content, token.hidden = mark, bool(found[2])
    state.pos = found.end()
    return True


def _render(self: RendererProtocol, tokens: Sequence[Token], index: int, options: Any, env: Any) -> str:
    mark = tokens[index].content
    shown = "" if tokens[index].hidden else f"[{mark}]"
    return f'<span class="cite" data-cite="{mark}">{shown}</span>'


class Marks:
    """The marks of one answer, numbered as they appear. `sources` are the passages that it may cite; without
    `message_id`, as in a copy for others, the numbers are no links."""

    def __init__(self, sources: Sources, message_id: int | None) -> None:
        self._sources, self._message_id = sources, message_id
        self._numbers: dict[str, int] = {}

    def numbered(self, html: str) -> str:
        """Return the HTML of a display block with numbers in place of the marks whose passages were sent."""
        if not self._sources or "data-cite" not in html:
            return html
        # The same source twice in a row is said once.
        last: tuple[int, str] = (-1, "")

        def shown(found: re.Match[str]) -> str:
            nonlocal last
            mark = found[2]
            if mark not in self._sources:
                return found[0]
            follows, is_repeated = last[0] == found.start(), last == (found.start(), mark)
            last = (found.end(), mark)
            return "" if is_repeated else self._number_html(mark, "cite cite--next" if follows else "cite")

        return CITE.sub(shown, html)

    def _number_html(self, mark: str, classes: str) -> str:
        number = self._numbers.setdefault(mark, len(self._numbers) + 1)
        if self._message_id is None:
            return f'<sup class="{classes}">{number}</sup>'
        name = gettext("Source %(number)d: %(title)s") % {"number": number, "title": title_of(self._sources[mark])}
        address, name = reverse("message_source", args=[self._message_id, mark]), escape(name)
        return f'<sup class="{classes}"><a href="{address}" title="{name}" aria-label="{name}">{number}</a></sup>'

    @property
    def titles(self) -> dict[int, str]:
        """Return the titles of the sources whose marks were numbered so far, by number."""
        return {number: title_of(self._sources[mark]) for mark, number in self._numbers.items()}

    def as_footnotes(self, text: str, seq: int) -> str:
        """Return Markdown with references to footnotes in place of the marks whose passages were sent: "[^14-1]" is the
        first one of the message with the number `seq`."""

        def shown(found: re.Match[str]) -> str:
            marks = re.findall(MARK, found[1])
            if not all(mark in self._sources for mark in marks):
                return "" if found[2] else found[0]
            numbers = (self._numbers.setdefault(mark, len(self._numbers) + 1) for mark in dict.fromkeys(marks))
            return "".join(f"[^{seq}-{number}]" for number in numbers)

        return REFERENCE_AND_SPACE.sub(shown, text)


def title_of(source: object) -> str:
    """Return the title of a source in the reader's language."""
    reason = Reason.of(source)
    return "" if reason is None else str(reason)


def marked_texts(content: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Return the blocks of an answer with each run of texts, of which one cites, as one text with marks."""
    found: list[Mapping[str, Any]] = []
    if not any(block.get("citations") for block in content):
        return list(content)
    for block in content:
        if block["type"] == "text":
            block = {"type": "text", "text": with_marks(block["text"], cited_sources(block))}  # type: ignore[arg-type]
            if found and found[-1]["type"] == "text":
                block = {"type": "text", "text": found.pop()["text"] + block["text"]}
        found.append(block)
    return found


def with_marks(text: str, marks: Sequence[str]) -> str:
    """Return `text` with these marks at its end, before the white space there."""
    words = text.rstrip()
    return words + "".join(f"[{mark}!]" for mark in marks if re.fullmatch(MARK, mark)) + text[len(words) :]


def plain_text(content: Sequence[Mapping[str, Any]], sources: Sources) -> str:
    """Return the text of an answer as it is read, searched and copied: without thinking and without marks."""
    texts = [thoughts.parted(block["text"])[1] for block in marked_texts(content) if block["type"] == "text"]
    return without_marks("\n\n".join(texts), sources)


def without_marks(text: str, sources: Sources) -> str:
    """Return `text` without the marks whose passages were sent."""

    def kept(found: re.Match[str]) -> str:
        return "" if found[2] or all(mark in sources for mark in re.findall(MARK, found[1])) else found[0]

    return REFERENCE_AND_SPACE.sub(kept, text) if "[" in text else text


def cited_of(sources: Sources, content: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return those of `sources` that an answer cites."""
    texts = [block["text"] for block in marked_texts(content) if block["type"] == "text"]
    named = {mark for text in texts for found in REFERENCE.finditer(text) for mark in re.findall(MARK, found[1])}
    return {mark: title for mark, title in sources.items() if mark in named}


def content_columns(content: list[Block], meta: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """Return the columns `content` and `text` for the content blocks of an answer; its text has no marks of the sources
    that its `meta` names."""
    content = [replace_unstorable_in_json(block) for block in content]  # type: ignore[misc]
    return {"content": content, "text": plain_text(content, (meta or {}).get(SOURCES_KEY) or {})}


def ended_meta(answer: Message, content: list[Block]) -> dict[str, Any]:
    """Return the column `meta` of an answer that has ended: of the sources that it may cite, those that it cites."""
    if SOURCES_KEY not in answer.meta:
        return {"meta": answer.meta}
    others = {name: value for name, value in answer.meta.items() if name != SOURCES_KEY}
    cited = cited_of(answer.meta[SOURCES_KEY], content)
    return {"meta": others | ({SOURCES_KEY: cited} if cited else {})}
