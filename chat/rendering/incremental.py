"""Markdown to safe HTML, block by block, also while the text still grows."""

import re
import time
from dataclasses import replace

from chat.rendering import markdown
from chat.rendering.completed_parts import CompletedParts, complete_parts, parts_before
from chat.rendering.plain_items import ItemAppender
from chat.rendering.plain_rows import RowAppender
from chat.rendering.plain_text import Appender, appender_of

# Incremented whenever the same text gets other HTML: stored HTML of another version is rendered again.
HTML_VERSION = 8
# Length of what is parsed again of an open block above which its changes are delayed when they cost much.
LONG_BLOCK_CHARS = 4_000
# Processor time that one update of a growing text may take; the finished text has more.
UPDATE_SECONDS = 0.1
BLANK_LINES = re.compile(r"(?:[ \t]*\n)*")


def render(text: str) -> str:
    """Return a whole message as safe HTML."""
    return "\n".join(blocks(text))


def blocks(text: str) -> list[str]:
    """Return the top-level blocks of a finished text, each as safe HTML."""
    return [block.html for block in markdown.rendered(_plain_line_ends(text), markdown.Definitions())]


class GrowingText:
    """One text block while it streams. After the last delta, blocks() are those of the finished text.

    Only the last block is open; a block is closed, and no longer changes, when a complete line begins the next one.
    """

    def __init__(self) -> None:
        # Markdown that can still change, from the first line of the open block on, which is no blank one; and what has
        # come since.
        self._tail = ""
        self._new: list[str] = []
        self._after_return = False
        # Markdown and HTML of the closed blocks, and the links and footnotes that they define.
        self._sources: list[str] = []
        self._closed: list[str] = []
        self._definitions = markdown.Definitions()
        # The definitions with which the closed blocks were rendered.
        self._known = self._definitions.known()
        # The HTML of the blocks of the tail.
        self._kept: dict[markdown.Source, str] = {}
        # Every block as it is now, and as changes() returned it last.
        self._now: list[str] = []
        self._sent: list[str] = []
        # What is not parsed again of a long list or table at the beginning of the tail.
        self._completed: CompletedParts | None = None
        self._append_point: Appender | None = None
        self._not_before = 0.0

    def append(self, delta: str) -> None:
        if self._after_return and delta.startswith("\n"):
            delta = delta[1:]
            self._after_return = False
        if delta:
            self._after_return = delta.endswith("\r")
            self._new.append(_plain_line_ends(delta))

    def changes(self) -> list[tuple[int, str]]:
        """Return (index, HTML) of each block whose HTML changed since the last call; "" for one that was removed.

        Changes of a very long open block are delayed, so that a message never costs more than a tenth of a processor.
        """
        parsed_again = len(self._tail) - (self._completed.chars if self._completed else 0)
        if parsed_again < LONG_BLOCK_CHARS or time.monotonic() >= self._not_before:
            self._update(UPDATE_SECONDS)
        if self._now is self._sent:
            return []
        before, self._sent = self._sent, self._now
        common = min(len(before), len(self._sent))
        changed = [(index, self._sent[index]) for index in range(common) if before[index] != self._sent[index]]
        changed += list(enumerate(self._sent))[common:]
        return changed + [(index, "") for index in range(common, len(before)) if before[index]]

    def blocks(self) -> list[str]:
        """Return every block of the text so far, each as safe HTML."""
        self._update(markdown.PARSE_SECONDS)
        return self._now

    def _update(self, seconds: float) -> None:
        if not self._new:
            return
        fresh = "".join(self._new)
        self._new = []
        before = self._tail
        self._tail += fresh
        self._tail = self._tail[_blank_lines_end(self._tail) :]
        appended = self._append_point.grown(fresh) if self._append_point else None
        if appended is not None:
            self._now = [*self._now[:-1], appended]
            return
        if isinstance(self._append_point, ItemAppender | RowAppender):
            self._complete_appended(self._append_point, before)
        began = time.thread_time()
        definitions = self._definitions.copy()
        growing = self._parse_tail(definitions, seconds)
        known = definitions.known()
        if known != self._known:
            self._known = known
            self._render_closed_again(definitions, seconds)
        if "\n" in fresh:
            growing = self._close(growing, seconds)
        self._kept = {block.source: block.html for block in growing}
        self._now = self._closed + [block.html for block in growing]
        self._append_point = self._new_append_point(growing) if growing else None
        self._not_before = time.monotonic() + 10 * (time.thread_time() - began)

    def _complete_appended(self, appender: ItemAppender | RowAppender, text: str) -> None:
        """Complete the items or rows that `appender` has put after those that are completed; `text` is the tail with
        them."""
        is_only_block = len(self._now) == len(self._closed) + 1
        start = appender.last_part_start(text)
        done = self._completed.chars if self._completed else 0
        if is_only_block and appender.is_of_top_level and start > done and "]:" not in text:
            self._completed = parts_before(appender.kind, text[:start], appender.before_last_part) or self._completed

    def _parse_tail(self, definitions: markdown.Definitions, seconds: float) -> list[markdown.MarkdownBlock]:
        """Return the blocks of the tail; the first items of a long list, or rows of a table, are not parsed again."""
        growing = None
        if self._completed is not None and "]:" not in self._tail:
            window = markdown.rendered(self._completed.window(self._tail), definitions, seconds)
            growing = self._completed.merged(window, self._tail)
        if growing is None:
            self._completed = None
            growing = markdown.rendered(self._tail, definitions, seconds, self._kept)
        if len(growing) == 1 and growing[0].parts:

            def parse(text: str) -> list[markdown.MarkdownBlock]:
                return markdown.rendered(text, definitions.copy(), seconds)

            self._completed = complete_parts(self._tail, growing[0], self._completed, parse)
        return growing

    def _new_append_point(self, growing: list[markdown.MarkdownBlock]) -> Appender | None:
        last = growing[-1]
        if last.end_line <= self._tail.rstrip().count("\n"):
            # A definition follows, which is no block.
            return None
        lines = self._tail.split("\n", last.first_line)
        above = lines[growing[-2].end_line if len(growing) > 1 else 0 : last.first_line]
        if any(line.strip() for line in above):
            # A definition is right above, which may take this line for its title.
            return None
        appender = appender_of(lines[last.first_line], last.html)
        # What is before a list or table is closed when its first line is complete, and then its parts can be.
        is_of_parts = isinstance(appender, ItemAppender | RowAppender)
        return None if is_of_parts and len(growing) > 1 else appender

    def _close(self, growing: list[markdown.MarkdownBlock], seconds: float) -> list[markdown.MarkdownBlock]:
        """Remove every block from the tail that no further line can change; return those that stay in it."""
        complete = self._tail[: self._tail.rfind("\n") + 1]
        lines = complete.split("\n")
        for index, block in reversed(list(enumerate(growing))):
            if block.ends_with_blank and block.end_line < len(lines) - 1 and not lines[block.end_line].strip(" \t"):
                end = block.end_line + 1
                while end < len(lines) - 1 and not lines[end].strip(" \t"):
                    end += 1
                return self._cut(lines[:end], index + 1, growing)
        spans = [(block.first_line, block.end_line) for block in growing if block.first_line < len(lines) - 1]
        if len(spans) < 2:
            return growing
        # A line that is not complete yet may seem to begin or to change a block.
        outline = spans if complete == self._tail else markdown.outline(complete, seconds)
        if len(outline) < 2 or outline[:-1] != spans[: len(outline) - 1]:
            return growing
        end = outline[-1][0]
        # Definitions right above the last block may still grow into it.
        while end > outline[-2][1] and lines[end - 1].strip():
            end -= 1
        return self._cut(lines[:end], len(outline) - 1, growing)

    def _cut(self, lines: list[str], count: int, growing: list[markdown.MarkdownBlock]) -> list[markdown.MarkdownBlock]:
        """Close the first `count` blocks, whose text is `lines`."""
        text = "".join(f"{line}\n" for line in lines)
        markdown.define(text, self._definitions)
        self._sources += [block.source[0] for block in growing[:count]]
        self._closed += [block.html for block in growing[:count]]
        self._tail = self._tail[len(text) :]
        self._completed = None
        cut = len(lines)
        left = growing[count:]
        return [replace(block, first_line=block.first_line - cut, end_line=block.end_line - cut) for block in left]

    def _render_closed_again(self, definitions: markdown.Definitions, seconds: float) -> None:
        """Render the closed blocks again that a new definition may change."""
        for index, source in enumerate(self._sources):
            if "[" in source:
                again = markdown.rendered(source, definitions.copy(), seconds)
                self._closed[index] = again[0].html if again else ""


def _blank_lines_end(text: str) -> int:
    """Return the offset of the first line of `text` that is not blank, or is not complete."""
    found = BLANK_LINES.match(text)
    return found.end() if found else 0


def _plain_line_ends(text: str) -> str:
    return text.replace("\r\n", "\n").replace("\r", "\n").replace("\0", "\ufffd")
