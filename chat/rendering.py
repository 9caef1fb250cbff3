"""Markdown to safe HTML, block by block, also while the text still grows."""

from typing import Any

from chat import markdown

# Counted up whenever the same text gets other HTML: stored HTML of another version is made anew.
VERSION = 1


def render(text: str) -> str:
    """A whole message as safe HTML."""
    return "\n".join(blocks(text))


def blocks(text: str) -> list[str]:
    """The top-level blocks of a finished text, each as safe HTML."""
    return [block.html for block in markdown.rendered(_plain_line_ends(text), {})]


class GrowingText:
    """One text block while it streams. After the last delta its blocks are those of the finished text.

    Only the last block is open; a block is settled when a complete line begins the next one.
    """

    def __init__(self) -> None:
        self._tail = ""
        self._new: list[str] = []
        self._after_return = False
        # Of settled blocks: their Markdown and HTML, and the links that they define.
        self._sources: list[str] = []
        self._settled: list[str] = []
        self._definitions: dict[str, Any] = {}
        # The links that were known when the settled blocks were rendered.
        self._known: dict[str, Any] = {}
        self._now: list[str] = []
        self._shown: list[str] = []

    def append(self, delta: str) -> None:
        if self._after_return and delta.startswith("\n"):
            delta = delta[1:]
            self._after_return = False
        if delta:
            self._after_return = delta.endswith("\r")
            self._new.append(_plain_line_ends(delta))

    def changes(self) -> list[tuple[int, str]]:
        """(index, HTML) of each block whose HTML changed since the last call; "" for one that is no more."""
        before, self._shown = self._shown, self.blocks()
        shown = self._shown
        if shown is before:
            return []
        changed = [(index, html) for index, html in enumerate(shown) if index >= len(before) or before[index] != html]
        return changed + [(index, "") for index in range(len(shown), len(before)) if before[index]]

    def blocks(self) -> list[str]:
        """Every block of the text so far, each as safe HTML."""
        if not self._new:
            return self._now
        fresh = "".join(self._new)
        self._new = []
        self._tail += fresh
        if "\n" in fresh:
            self._settle()
        definitions = dict(self._definitions)
        growing = [block.html for block in markdown.rendered(self._tail, definitions)]
        if definitions.keys() != self._known.keys():
            self._render_settled_again(definitions)
        self._now = self._settled + growing
        return self._now

    def _settle(self) -> None:
        """Take every block out of the tail that no further line can change."""
        complete = self._tail[: self._tail.rfind("\n") + 1]
        try:
            outline = markdown.outline(complete)
        except (markdown.Overrun, RecursionError):
            return
        if len(outline) < 2:
            return
        lines = complete.split("\n")
        end = outline[-1][0]
        # Definitions right above the last block may still grow into it.
        while end > outline[-2][1] and lines[end - 1].strip():
            end -= 1
        source = "".join(f"{line}\n" for line in lines[:end])
        for block in markdown.rendered(source, self._definitions):
            self._sources.append("\n".join(lines[block.first_line : block.end_line]))
            self._settled.append(block.html)
        self._tail = self._tail[len(source) :]

    def _render_settled_again(self, definitions: dict[str, Any]) -> None:
        """A definition has come that earlier blocks may have been waiting for."""
        self._known = definitions
        for index, source in enumerate(self._sources):
            if "[" in source:
                (block,) = markdown.rendered(source, dict(definitions)) or [None]
                self._settled[index] = block.html if block else ""


def _plain_line_ends(text: str) -> str:
    return text.replace("\r\n", "\n").replace("\r", "\n").replace("\0", "\ufffd")
