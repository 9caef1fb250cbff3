"""Replace forgotten lines in pieces of documents and in JSON values."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from chat.extensions import ContextItem
from memory.policy.tombstones import BLANK, LineMatcher
from memory.prompt.items import blanked

# The shortest text that may have been cut.
CUT_TEXT_MIN_CHARS = 100

# Whether a line is the start of a forgotten one.
IsPrefix = Callable[[str], bool]


@dataclass(frozen=True)
class Eraser:
    """A replacer of forgotten lines in pieces of documents and in JSON values."""

    known: LineMatcher
    is_prefix: IsPrefix

    def is_in_prompt(self, item: ContextItem) -> bool:
        """Return whether a piece of a system prompt holds a forgotten line, or may hold a part of one."""
        return item.get("cut", False) or self.item(item) is not item

    def item(self, item: ContextItem) -> ContextItem:
        """Return the piece with forgotten lines replaced; `item` itself when there is none."""
        return blanked(item, self.known.is_in, self.is_prefix)

    def text(self, text: str) -> str:
        """Return `text` with each forgotten line replaced, and a cut last line that is the start of one."""
        lines = self.known.blanked(text).split("\n")
        if len(text) >= CUT_TEXT_MIN_CHARS and self.is_prefix(lines[-1].rstrip("…")):
            lines[-1] = BLANK
        return "\n".join(lines)

    def value(self, value: Any) -> Any:
        """Return the JSON `value` with forgotten lines replaced in every string."""
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, list):
            return [self.value(part) for part in value]
        if isinstance(value, dict):
            return {name: self.value(part) for name, part in value.items()}
        return value

    def result(self, content: Any) -> Any:
        """Return the content of a tool result, a string of JSON, with forgotten lines replaced in every string."""
        try:
            value = json.loads(content) if isinstance(content, str) else None
        except ValueError:
            value = None
        if value is None:
            return self.value(content)
        kept = self.value(value)
        return content if kept == value else json.dumps(kept, ensure_ascii=False)
