"""A growing answer: the API's blocks, which are stored, and the HTML blocks, which a page shows."""

from typing import Any

from chat.models import Message
from chat.rendering import citations, incremental, outgoing_links, thoughts
from chat.rendering.cards import RUNNING_CARD
from chat.rendering.incremental import GrowingText
from chat.rendering.messages import card_html, is_said_before_call, thinking_html, with_code_buttons
from oneclaw.llm import AnswerRefusedError, Block, EmptyAnswerError, Finished, ModelRequestError
from oneclaw.text import replace_unstorable, replace_unstorable_in_json

# The stop reason of an answer that the model declined to give, and of one that its server has paused.
REFUSAL, PAUSE = "refusal", "pause_turn"


class GrowingThinking:
    """A thinking block while it streams, with the methods of GrowingText: one display block, or none without text."""

    def __init__(self) -> None:
        self._text = ""
        self._has_changed = False

    def append(self, delta: str) -> None:
        """Add `delta` to the text."""
        self._text += delta
        self._has_changed = True

    def changes(self) -> list[tuple[int, str]]:
        """Return [(0, HTML)] if the block changed since the last call."""
        changed = list(enumerate(self.blocks())) if self._has_changed else []
        self._has_changed = False
        return changed

    def blocks(self) -> list[str]:
        """Return the block's HTML as it is now."""
        return list(filter(None, [thinking_html(self._text)]))


class GrowingReply:
    """A text block while it streams, with the methods of GrowingText: the thoughts that a local model may begin it with
    are a display block of their own, as in a stored answer."""

    def __init__(self) -> None:
        self._text = GrowingText()
        # What has come before the text: its thoughts, or what may become some.
        self._before = ""
        self._is_text_begun = False
        self._thinking, self._has_changed = "", False

    def append(self, delta: str) -> None:
        """Add `delta` to the text."""
        if not self._is_text_begun:
            self._before += delta
            self._has_changed = True
            delta = self._begun_text()
        if delta:
            self._text.append(delta)

    def _begun_text(self) -> str:
        """Return what has come after the thoughts, or all if there are none; "" while that is not known."""
        if thoughts.may_begin(self._before) or thoughts.is_open(self._before):
            return ""
        _, text = thoughts.parted(self._before)
        self._is_text_begun = bool(text)
        self._before = self._before[: len(self._before) - len(text)]
        return text

    def changes(self) -> list[tuple[int, str]]:
        """Return (index, HTML) of each block that changed since the last call."""
        before = self._thinking
        html = self._thinking_html()
        first = [(0, html)] if html != before else []
        return first + [(index + bool(html), each) for index, each in self._text.changes()]

    def blocks(self) -> list[str]:
        """Return the HTML of each block as it is now."""
        if not self._is_text_begun and thoughts.may_begin(self._before):
            return incremental.blocks(self._before)
        return [*filter(None, [self._thinking_html()]), *self._text.blocks()]

    def _thinking_html(self) -> str:
        """Return the HTML of the thoughts, which is made again only while they grow."""
        if self._has_changed and not thoughts.may_begin(self._before):
            self._thinking = thinking_html(thoughts.parted(self._before)[0])
            self._has_changed = False
        return self._thinking


Growing = GrowingText | GrowingThinking | GrowingReply


class GrowingAnswer:
    """A running assistant message.

    Display blocks are numbered over the whole message: each Markdown block, thinking block and tool call is one.
    """

    def __init__(self, message: Message) -> None:
        self.message = message
        self.content: list[Block] = []
        # Incremented with every change; frames carry it, so that older ones are ignored.
        self.revision = 0
        # The revision that the last checkpoint saved.
        self.saved_revision = 0
        self._open: dict[int, Block] = {}
        self._texts: list[Growing | str] = []
        self._growing: dict[int, Growing] = {}
        # The end of a growing text that may become a mark, which is shown when that is known.
        self._held: dict[int, str] = {}
        self._marks: citations.Marks | None = None

    @property
    def _sources(self) -> citations.Sources:
        """Return the passages that the answer may cite."""
        return self.message.meta.get(citations.SOURCES_KEY) or {}

    @property
    def text(self) -> str:
        """Return the text of the answer so far, without thinking."""
        return citations.plain_text(self.content, self._sources)

    @property
    def cited(self) -> frozenset[str]:
        """Return the marks of the passages that the answer cites so far."""
        return frozenset(citations.cited_of(self._sources, self.content))

    @property
    def is_empty(self) -> bool:
        """Return whether the answer says nothing and calls no tool."""
        return not any(
            block["type"] == "tool_use" or (block["type"] == "text" and block["text"].strip()) for block in self.content
        )

    def start(self, index: int, block: Block) -> None:
        """Begin block `index` of the API's answer. A tool call is added only by `finish`."""
        if (kind := block["type"]) in GROWING:
            # A thinking block gets its signature in `finish`.
            self._open[index] = {"type": "text", "text": ""} if kind == "text" else {"type": "thinking", "thinking": ""}
            is_continued = kind == "text" and self._continues_text()
            self.content.append(self._open[index])
            if is_continued:
                self._growing[index] = self._texts[-1]  # type: ignore[assignment]
                return
            self._growing[index] = GROWING[kind]()
            self._texts.append(self._growing[index])

    def _continues_text(self) -> bool:
        """Return whether a text that begins now is read as one with the block before it: a model that cites splits what
        it says by what it rests on."""
        return bool(self._sources and self.content) and self.content[-1]["type"] == "text"

    def add_text(self, index: int, text: str) -> None:
        """Add `text` to block `index`, which is begun if needed."""
        if index not in self._growing:
            self.start(index, {"type": "text"})
        block = self._open[index]
        if block["type"] == "text":
            block["text"] += text
        else:
            block["thinking"] += text
        self._show(index, text)
        self.revision += 1

    def _show(self, index: int, text: str) -> None:
        """Show `text` at the end of block `index`, but hold back what may become a mark, so that none jumps."""
        if self._sources and self._open[index]["type"] == "text":
            text = self._held.pop(index, "") + text
            begun = citations.BEGUN.search(text, max(0, len(text) - citations.BEGUN_MAX_CHARS))
            if begun and begun[0]:
                self._held[index], text = begun[0], text[: begun.start()]
        if text:
            self._growing[index].append(text)

    def finish(self, index: int, block: Block) -> None:
        """Complete block `index` with `block`; deltas may have added all of its text before."""
        if (kind := block["type"]) in GROWING:
            if index not in self._growing:
                self.start(index, block)
                self.add_text(index, block["text"] if kind == "text" else block["thinking"])
            if kind == "thinking":
                self._open[index].update(block)
                self.revision += 1
            elif kind == "text":
                self._finish_text(index, block)
            return
        self.content.append(block)
        self.revision += 1
        if block["type"] == "tool_use":
            before = len(self.content) - 2
            if before >= 0 and is_said_before_call(self.content, before):
                # It was shown as thinking until the call came.
                said = GrowingText()
                said.append(self.content[before]["thinking"])
                self._texts[-1] = said
            self._texts.append(card_html(block, RUNNING_CARD))

    def _finish_text(self, index: int, block: Block) -> None:
        """Keep what a text cites as the API said it, and show its marks and what was held back."""
        if block.get("citations"):
            self._open[index]["citations"] = block["citations"]
        held = citations.with_marks(self._held.pop(index, ""), citations.cited_sources(block))
        if held:
            self._growing[index].append(held)
            self.revision += 1

    def _numbered(self, html: str) -> str:
        """Return the HTML of a text with its code furnished and its marks numbered."""
        if self._marks is None and self._sources:
            self._marks = citations.Marks(self._sources, self.message.pk)
        html = outgoing_links.with_hosts(with_code_buttons(html), self.message.pk)
        return self._marks.numbered(html) if self._marks else html

    def changes(self) -> list[tuple[int, str]]:
        """Return (display index, HTML) of every block of text that changed since the last call."""
        changed, first = [], 0
        for part in self._texts:
            if isinstance(part, str):
                first += 1
                continue
            changed += [(first + index, self._numbered(html)) for index, html in part.changes()]
            if part is not self._texts[-1]:
                # Not for the last part: blocks() would render what changes() postpones.
                first += len(part.blocks())
        return changed

    def shown(self) -> list[str]:
        """Return every display block's HTML, in order."""
        blocks: list[str] = []
        for part in self._texts:
            blocks += [part] if isinstance(part, str) else map(self._numbered, part.blocks())
        return blocks


GROWING: dict[str, type[GrowingReply | GrowingThinking]] = {"text": GrowingReply, "thinking": GrowingThinking}


def failure_after(finished: Finished, *, is_empty: bool) -> ModelRequestError | None:
    """Return why an answer that ended so is none; None when it is one."""
    if finished.stop_reason == REFUSAL:
        return AnswerRefusedError(finished.explanation)
    if is_empty and finished.stop_reason not in Message.CUT_ENDINGS:
        return EmptyAnswerError(f"stop reason {finished.stop_reason}")
    return None


def end_columns(finished: Finished) -> dict[str, Any]:
    """Return the columns of Message for the end of an answer."""
    return {
        "stop_reason": replace_unstorable(finished.stop_reason)[:40],
        "usage": replace_unstorable_in_json(finished.usage),
        "model": replace_unstorable(finished.model)[:100],
    }
