"""An answer while it grows: the API's blocks for the database, and the HTML blocks that changed for the sockets."""

from typing import Any

from chat.fragments import tool_card_html
from chat.models import Message
from chat.rendering import GrowingText


class GrowingAnswer:
    """One running assistant message. What is shown is counted in display blocks: each Markdown block and each
    tool call is one, over the whole message."""

    def __init__(self, message: Message) -> None:
        self.message = message
        self.content: list[dict[str, Any]] = []
        # Grows with every change, so that a frame can say how new it is.
        self.revision = 0
        # The revision that the last checkpoint saved.
        self.saved_revision = 0
        self._open: dict[int, dict[str, Any]] = {}
        self._texts: list[GrowingText | str] = []
        self._growing: dict[int, GrowingText] = {}
        self._first_shown: list[int] = []

    @property
    def has_text(self) -> bool:
        return any(block["type"] == "text" and block["text"] for block in self.content)

    def start(self, index: int, block: dict[str, Any]) -> None:
        """Block `index` of the API's answer begins. A tool call is kept only once it is whole."""
        if block["type"] == "text":
            self._open[index] = {"type": "text", "text": ""}
            self.content.append(self._open[index])
            self._growing[index] = GrowingText()
            self._texts.append(self._growing[index])

    def add_text(self, index: int, text: str) -> None:
        if index not in self._growing:
            self.start(index, {"type": "text"})
        self._open[index]["text"] += text
        self._growing[index].append(text)
        self.revision += 1

    def finish(self, index: int, block: dict[str, Any]) -> None:
        """Block `index` is whole."""
        if block["type"] == "text":
            if index not in self._growing:
                self.add_text(index, block["text"])
            return
        self.content.append(block)
        self.revision += 1
        if block["type"] == "tool_use":
            self._texts.append(self.card(block))

    @staticmethod
    def card(use: dict[str, Any]) -> str:
        return tool_card_html(use["id"], use["name"], "running", use["input"], "", [])

    def changes(self) -> list[tuple[int, str]]:
        """(display index, HTML) of every Markdown block that changed since the last call."""
        changed, first = [], 0
        for part in self._texts:
            if isinstance(part, str):
                first += 1
                continue
            changed += [(first + index, html) for index, html in part.changes()]
            if part is not self._texts[-1]:
                # Not for the last: blocks() would render what changes() puts off.
                first += len(part.blocks())
        return changed

    def shown(self) -> list[str]:
        """Every display block's HTML, in order."""
        blocks: list[str] = []
        for part in self._texts:
            blocks += [part] if isinstance(part, str) else part.blocks()
        return blocks
