"""A conversation read from a file, before it is stored, and functions that its readers share. Pure."""

import datetime as dt
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from chat.transfer.importing.reasons import MESSAGE_MAX_CHARS
from oneclaw.llm import Block
from oneclaw.reasons import Reason

# Length of another program's id; the stored one begins with the program's name.
ID_MAX_CHARS = 150
# Characters of a tool's input or result that are kept.
TOOL_MAX_CHARS = 4_000
# Times before this one are ignored as mistakes.
EARLIEST = dt.datetime(1990, 1, 1, tzinfo=dt.UTC)
# Memory tools of other programs, whose calls are not imported.
MEMORY_TOOLS = {"bio", "memory_user_edits", "conversation_search", "recent_chats"}


@dataclass
class Said:
    """One message. `parent` is the index of the one before it in Conversation.messages, or None."""

    role: str
    parent: int | None
    content: list[Block]
    created_at: dt.datetime | None = None
    finished_at: dt.datetime | None = None
    status: str = "complete"
    model: str = ""
    stop_reason: str = ""
    usage: dict[str, int] | None = None
    # Of tool results: their cards by the id of the call.
    cards: dict[str, Any] = field(default_factory=dict)
    # Of a failed answer: its protocol code, and why.
    error_code: str = ""
    error: Reason | None = None
    # Whether its owner found the answer good, and why; None: not rated.
    rating: tuple[bool, str] | None = None
    # Whether it was said without memory.
    apart: bool = False

    @property
    def text(self) -> str:
        return "\n\n".join(block["text"] for block in self.content if block["type"] == "text")

    def tool_ids(self, kind: str, name: Literal["id", "tool_use_id"]) -> list[str]:
        return [block[name] for block in self.content if block["type"] == kind]


@dataclass
class Conversation:
    """One conversation. Each message comes after its parent."""

    # The name of the program that it comes from, and its id there.
    origin: str
    title: str
    messages: list[Said]
    # The indexes of the shown messages.
    shown: set[int]
    created_at: dt.datetime | None = None
    active_at: dt.datetime | None = None
    archived: bool = False
    pinned: bool = False
    folder: str = ""
    # The name of the agent.
    agent: str = ""
    mode: str = "agent"
    memory: str = "all"
    # Pictures and files that were left out.
    left_out: int = 0


def moment(value: object) -> dt.datetime | None:
    """Return a time that is written as seconds since 1970 or in ISO 8601; None for anything else."""
    try:
        if isinstance(value, str):
            found = dt.datetime.fromisoformat(value)
            found = found if found.tzinfo else found.replace(tzinfo=dt.UTC)
        elif isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value):
            found = dt.datetime.fromtimestamp(value, dt.UTC)
        else:
            return None
        return found if EARLIEST < found < dt.datetime.now(dt.UTC) + dt.timedelta(days=1) else None
    except (ValueError, OverflowError, OSError):
        return None


def words(value: object, max_chars: int = 200) -> str:
    """Return `value` as one line of text; "" for anything but text."""
    return " ".join(value.split())[:max_chars] if isinstance(value, str) else ""


def plain(value: object) -> str:
    """Return text with line feeds only, cut at MESSAGE_MAX_CHARS; "" for anything else."""
    if not isinstance(value, str):
        return ""
    text = value.replace("\r\n", "\n").replace("\r", "\n").strip("\n")
    return text if len(text) <= MESSAGE_MAX_CHARS else text[:MESSAGE_MAX_CHARS] + "\n\n… (longer than can be imported)"


def fenced(text: object, language: str = "") -> str:
    """Return a fenced block of code in Markdown, whatever it contains; "" for no text."""
    code = plain(text)
    if not code.strip():
        return ""
    longest = max((len(run) for run in re.findall(r"`{3,}", code)), default=2)
    fence = "`" * (longest + 1)
    language = language if re.fullmatch(r"[\w+#.-]{1,20}", language) else ""
    return f"{fence}{language}\n{code}\n{fence}"


def shortened(text: str) -> str:
    """Return the input or result of a tool, cut at TOOL_MAX_CHARS."""
    return text if len(text) <= TOOL_MAX_CHARS else text[:TOOL_MAX_CHARS] + "\n…"


def joined(parts: Sequence[str]) -> str:
    return "\n\n".join(part for part in parts if part.strip())


def spoken(text: str) -> list[Block]:
    return [{"type": "text", "text": text}] if text.strip() else []


def attached(name: object) -> str:
    """Return the Markdown in place of a file that was left out."""
    called = re.sub(r"[*_`\[\]<>]", "", words(name, 120))
    return f"*Attached: {called}*" if called else "*A file was attached here.*"


def mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def listing(value: object) -> list[Any]:
    return value if isinstance(value, list) else []


def in_order(parents: Mapping[str, str | None]) -> list[str]:
    """Return the nodes of a forest, each after its parent and before its younger siblings, without those of a cycle."""
    children: dict[str | None, list[str]] = {}
    for node, parent in parents.items():
        children.setdefault(parent if parent in parents else None, []).append(node)
    ordered, waiting = [], children.get(None, [])[::-1]
    while waiting:
        node = waiting.pop()
        ordered.append(node)
        waiting += children.get(node, [])[::-1]
    return ordered


def branch(messages: Sequence[Said], last: int | None) -> set[int]:
    """Return the indexes of the message `last` and of all before it."""
    shown = set()
    while last is not None:
        shown.add(last)
        last = messages[last].parent
    return shown


def newest(messages: Sequence[Said]) -> int | None:
    """Return the index of the last message of the branch that follows the newest version everywhere; None for no
    messages."""
    last: dict[int | None, int] = {said.parent: index for index, said in enumerate(messages)}
    at = last.get(None)
    while at in last:
        at = last[at]
    return at
