"""An answer while it grows: the API's blocks for the database, and the HTML blocks that changed for the sockets."""

from typing import Any

from chat.models import Message
from chat.rendering.incremental import GrowingText
from chat.rendering.messages import RUNNING_CARD, card_html, furnished, thinking_html


class GrowingThinking:
    """One thinking block while it streams: a single display block."""

    def __init__(self) -> None:
        self._text = ""
        self._is_told = True

    def append(self, delta: str) -> None:
        self._text += delta
        self._is_told = False

    def changes(self) -> list[tuple[int, str]]:
        """As of GrowingText."""
        changed = [] if self._is_told else [(0, thinking_html(self._text))]
        self._is_told = True
        return changed

    def blocks(self) -> list[str]:
        return [thinking_html(self._text)]


class GrowingAnswer:
    """One running assistant message. What is shown is counted in display blocks: each Markdown block, each thinking
    block and each tool call is one, over the whole message."""

    def __init__(self, message: Message) -> None:
        self.message = message
        self.content: list[dict[str, Any]] = []
        # Grows with every change, so that a frame can say how new it is.
        self.revision = 0
        # The revision that the last checkpoint saved.
        self.saved_revision = 0
        self._open: dict[int, dict[str, Any]] = {}
        self._texts: list[GrowingText | GrowingThinking | str] = []
        self._growing: dict[int, GrowingText | GrowingThinking] = {}
        self._first_shown: list[int] = []

    def start(self, index: int, block: dict[str, Any]) -> None:
        """Block `index` of the API's answer begins. A tool call is kept only once it is whole."""
        if (kind := block["type"]) in GROWING:
            # Until it is whole, a thinking block has no signature.
            self._open[index] = {"type": kind, kind: ""}
            self.content.append(self._open[index])
            self._growing[index] = GROWING[kind]()
            self._texts.append(self._growing[index])

    def add_text(self, index: int, text: str) -> None:
        if index not in self._growing:
            self.start(index, {"type": "text"})
        self._open[index][self._open[index]["type"]] += text
        self._growing[index].append(text)
        self.revision += 1

    def finish(self, index: int, block: dict[str, Any]) -> None:
        """Block `index` is whole."""
        if (kind := block["type"]) in GROWING:
            if index not in self._growing:
                self.start(index, block)
                self.add_text(index, block[kind])
            if kind == "thinking":
                self._open[index].update(block)
                self.revision += 1
            return
        self.content.append(block)
        self.revision += 1
        if block["type"] == "tool_use":
            self._texts.append(self.card(block))

    @staticmethod
    def card(use: dict[str, Any]) -> str:
        return card_html(use, RUNNING_CARD)

    def changes(self) -> list[tuple[int, str]]:
        """(display index, HTML) of every Markdown block that changed since the last call."""
        changed, first = [], 0
        for part in self._texts:
            if isinstance(part, str):
                first += 1
                continue
            changed += [(first + index, furnished(html)) for index, html in part.changes()]
            if part is not self._texts[-1]:
                # Not for the last: blocks() would render what changes() puts off.
                first += len(part.blocks())
        return changed

    def shown(self) -> list[str]:
        """Every display block's HTML, in order."""
        blocks: list[str] = []
        for part in self._texts:
            blocks += [part] if isinstance(part, str) else map(furnished, part.blocks())
        return blocks


GROWING: dict[str, type[GrowingText | GrowingThinking]] = {"text": GrowingText, "thinking": GrowingThinking}
