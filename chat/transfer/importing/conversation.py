"""A conversation read from a file, before it is stored, and functions that its readers share. Pure."""

import datetime as dt
import json
import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import Any, Literal

from chat.transfer.importing.nested import decoded
from chat.transfer.importing.reasons import MESSAGE_MAX_CHARS
from oneclaw.llm import Block
from oneclaw.reasons import Reason

# Length of another program's id; the stored one begins with the program's name.
ID_MAX_CHARS = 150
# Characters of a tool's result that are kept, and of a page or another text of outsiders.
TOOL_MAX_CHARS = 4_000
QUOTE_MAX_CHARS = 1_500
# Times before this one are ignored as mistakes.
EARLIEST = dt.datetime(1990, 1, 1, tzinfo=dt.UTC)
# Memory tools of other programs, whose calls are not imported.
MEMORY_TOOLS = {"bio", "memory_user_edits", "conversation_search", "recent_chats"}
PICTURE = "*A picture was here.*"
# A text of so many words is no id, date or name of a field.
FEW_WORDS = 3
# A letter of a script that puts no spaces between words, and so many of them that are more than a few words.
UNSPACED, FEW_UNSPACED = re.compile("[\u0e00-\u0eff\u3040-\u30ff\u3400-\u9fff\uac00-\ud7ff]"), 10
# The keys under which the words of parts of any kind stand, and those of data that are none.
WORD_KEYS = {"text", "content", "value", "transcript", "transcription", "caption", "question", "answer", "message"}
DATA_KEYS = {"data", "url", "id", "uuid", "type", "content_type", "asset_pointer", "created_at", "updated_at"}
# The keys of what a tool was told to change in a file or document: what stands there, and what will.
OLD_KEYS = ("old_str", "old_string", "old_text", "pattern")
NEW_KEYS = ("new_str", "new_string", "new_text", "replacement")
DOCUMENT_KEYS = ("title", "name", "content", "updates", "command", "id", "type", "language", "version_uuid")
PATH_KEYS = ("path", "file_path", "filename", "file_name", "file")
# An address in a quotation.
ADDRESS = re.compile(r"https?://[^\s<>]+")
# What says that a conversation is among those that are shown first, or put away.
PINNED_KEYS = ("pinned", "is_pinned", "isPinned", "pinned_time", "is_starred", "starred", "isStarred", "starred_at",
               "favorite", "favourite", "is_favorite", "isFavorite")  # fmt: skip
ARCHIVED_KEYS = ("archived", "is_archived", "isArchived")


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
    # Pictures, files and other parts that were left out or shortened, and thoughts and other hidden parts.
    left_out: int = 0
    hidden: int = 0


@dataclass
class Left:
    """Counts what of a conversation is not imported."""

    # Parts of which a line in the message tells, and texts that are shortened.
    parts: int = 0
    # Thoughts, and what the other program did not show either.
    hidden: int = 0

    def others(self, value: Mapping[str, Any], known: Iterable[str], shown: str = "") -> None:
        """Count each other key than those `known` that holds more than a few words, which are not in `shown`."""
        for key in value.keys() - set(known):
            texts = (text for _, text in strings_in(value[key], key))
            self.hidden += any(is_wordy(text) and plain(text).strip() not in shown for text in texts)

    def shortened(self, text: str, max_chars: int = TOOL_MAX_CHARS) -> str:
        """Return the result of a tool or another text, cut at `max_chars`; a cut is counted."""
        if len(text) <= max_chars:
            return text
        self.parts += 1
        return text[:max_chars] + "\n…"

    def said(self, texts: Sequence[str]) -> str:
        """Return the text of a message of these parts, cut at MESSAGE_MAX_CHARS; a cut is counted."""
        text = joined(texts)
        self.parts += len(text) > MESSAGE_MAX_CHARS
        return plain(text)

    def unknown(self, part: object) -> str:
        """Return the words of a part of an unknown kind, as they are; without any, a line that it was left out."""
        if texts := words_of(part):
            return plain(joined(texts))
        if part in (None, "", {}, []):
            return ""
        self.parts += 1
        kind = words(mapping(part).get("type") or mapping(part).get("content_type"), 60)
        if "image" in kind:
            return PICTURE
        kind = re.sub(r"[*`\[\]<>]", "", kind)
        return f"*A part of the kind “{kind}” was left out.*" if kind else "*A part was left out.*"

    def quoted(self, part: object) -> str:
        """Return a text of outsiders, such as a page or the result of a search, as a quotation with its title and
        address, shortened; "" without any words."""
        about = mapping(part)
        title = next((unmarked(about[key]) for key in ("title", "name") if unmarked(about.get(key))), "")
        address = words(about.get("url") or about.get("link"), 1_000)
        texts = [plain(part)] if isinstance(part, str) else words_of(part, but=("title", "name"))
        lines = [f"**{title}**" if title else "", f"<{address}>" if ADDRESS.fullmatch(address) else ""]
        text = joined([" ".join(filter(None, lines)), self.shortened(joined(texts), QUOTE_MAX_CHARS)])
        return "\n".join(f"> {line}".rstrip() for line in text.split("\n")) if text else ""

    def call(self, name: str, arguments: object, result: str = "") -> str:
        """Return the call of a tool as Markdown. What it was to write, such as a file, is a block of code of its
        own and whole; short values are JSON; the result is shortened."""
        values = parsed(arguments) if isinstance(arguments, str) else arguments
        long = [(key, text) for key, text in strings_in(values) if is_long(text)]
        language = language_of(mapping(values))
        blocks = [joined([f"*{key}*" if len(long) > 1 else "", fenced(text, language)]) for key, text in long]
        rest = without_long(values) if long else arguments
        shown = rest if isinstance(rest, str) else in_json(rest) if rest else ""
        heading = re.sub(r"[*`\[\]<>]", "", name)
        return joined([f"*{heading}*" if heading else "", fenced(shown, "json"), *blocks, self.result(result)])

    def result(self, text: str) -> str:
        """Return what a tool has brought as a block of code, shortened."""
        return fenced(self.shortened(plain(text)))

    def document(self, arguments: object) -> str:
        """Return a document that an assistant has written or changed: its title and text, or what was in it and what
        is there now; "" when `arguments` are none of such a tool."""
        values = mapping(parsed(arguments) if isinstance(arguments, str) else arguments)
        title, language = unmarked(values.get("title") or values.get("name")), language_of(values)
        self.others(values, (*DOCUMENT_KEYS, *OLD_KEYS, *NEW_KEYS))
        changes = [mapping(each) for each in listing(values.get("updates"))] or [values]
        parts = [fenced(values.get("content"), language)]
        for change in changes:
            old, new = (next((change[key] for key in keys if change.get(key)), None) for keys in (OLD_KEYS, NEW_KEYS))
            parts += [joined(["*Before:*", fenced(old, language)])] if old and old != ".*" else []
            parts += [joined(["*Now:*" if old and old != ".*" else "", fenced(new, language)])] if new else []
        found = joined(parts)
        return joined([f"**{title}**" if title else "", found]) if found else ""


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


def joined(parts: Sequence[str]) -> str:
    return "\n\n".join(part for part in parts if part.strip())


def spoken(text: str) -> list[Block]:
    return [{"type": "text", "text": text}] if text.strip() else []


def attached(name: object) -> str:
    """Return the Markdown in place of a file that was left out."""
    called = unmarked(name)
    return f"*Attached: {called}*" if called else "*A file was attached here.*"


def unmarked(name: object) -> str:
    """Return a name on one line, without signs of Markdown."""
    return re.sub(r"[*_`\[\]<>]", "", words(name, 120))


def is_wordy(text: str) -> bool:
    """Return whether `text` has more than a few words."""
    return len(text.split()) > FEW_WORDS or len(UNSPACED.findall(text)) > FEW_UNSPACED


def strings_in(value: object, key: str = "") -> Iterator[tuple[str, str]]:
    """Yield each text in `value`, in order, with its key. Without recursion."""
    waiting: list[tuple[str, object]] = [(key, value)]
    while waiting:
        key, value = waiting.pop()
        if isinstance(value, str):
            yield key, value
        elif isinstance(value, dict):
            waiting += [*value.items()][::-1]
        elif isinstance(value, list):
            waiting += [(key, each) for each in reversed(value)]


def words_of(part: object, but: Sequence[str] = ()) -> list[str]:
    """Return the texts of a part of any kind, each once, without ids, addresses, data and what has one of the keys
    `but`."""
    texts = {}
    for key, text in strings_in(part, "text"):
        has_words = key in WORD_KEYS or len(text.split()) >= FEW_WORDS or is_wordy(text)
        if has_words and key not in DATA_KEYS and key not in but and text.strip() and not text.startswith("data:"):
            texts[plain(text)] = True
    return list(texts)


def parsed(text: str) -> object:
    """Return the value of the JSON `text`, and `text` itself when it is none."""
    try:
        return decoded(text.encode())
    except ValueError:
        return text


def in_json(value: object) -> str:
    try:
        return json.dumps(value, ensure_ascii=False, indent=2)
    except (ValueError, RecursionError):
        return ""


def is_long(text: str) -> bool:
    """Return whether the text of a tool's input is better read outside of its JSON."""
    return len(text) > 200 or "\n" in text or (is_wordy(text) and ('"' in text or "\\" in text))


def without_long(value: object) -> object:
    """Return the input of a tool without the texts that are shown outside of it."""
    if isinstance(value, dict):
        kept = {key: without_long(item) for key, item in value.items()}
        return {key: item for key, item in kept.items() if item is not None}
    if isinstance(value, list):
        return [item for item in map(without_long, value) if item not in (None, {})]
    return None if isinstance(value, str) and is_long(value) else value


def language_of(arguments: Mapping[str, Any]) -> str:
    """Return the language of the text that a tool was to write, for the block of code; "" when it is unknown."""
    named = words(arguments.get("language"))
    if named:
        return named
    kind = words(arguments.get("type"))
    if "markdown" in kind:
        return "markdown"
    if kind.startswith("code/"):
        return kind.removeprefix("code/")
    if kind.startswith("text/"):
        return kind.removeprefix("text/")
    path = next((words(arguments[key]) for key in PATH_KEYS if words(arguments.get(key))), "")
    return PurePosixPath(path).suffix.removeprefix(".")


def is_set(value: Mapping[str, Any], keys: Sequence[str]) -> bool:
    """Return whether `value` has one of `keys` with a time, a number or true."""
    return any(value.get(key) not in (None, False, 0, "", "false") for key in keys)


def mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def listing(value: object) -> list[Any]:
    return value if isinstance(value, list) else []


def unique(ids: Iterable[str]) -> list[str]:
    """Return the ids of messages in order, with another one for each that is missing or that another message has."""
    found: dict[str, bool] = {}
    for id in ids:
        found[id if id and id not in found else f"#{len(found)}"] = True
    return list(found)


def in_order(parents: Mapping[str, str | None]) -> list[str]:
    """Return the nodes of a forest, each after its parent and before its younger siblings. A cycle begins with its
    first node."""
    children: dict[str | None, list[str]] = {}
    for node, parent in parents.items():
        children.setdefault(parent if parent in parents else None, []).append(node)
    ordered: dict[str, bool] = {}
    for first in [*children.get(None, []), *parents]:
        waiting = [first]
        while waiting:
            node = waiting.pop()
            if node not in ordered:
                ordered[node] = True
                waiting += children.get(node, [])[::-1]
    return list(ordered)


def threaded(
    parents: Mapping[str, str | None], read: Callable[[str], Said | None]
) -> tuple[list[Said], dict[str, int | None]]:
    """Return the messages that `read` makes of the nodes, each after its parent, and by node the index of its message,
    or of the nearest one before it."""
    messages: list[Said] = []
    indexes: dict[str, int | None] = {}
    for key in in_order(parents):
        said, parent = read(key), indexes.get(parents[key] or "")
        if said is None:
            indexes[key] = parent
            continue
        said.parent, indexes[key] = parent, len(messages)
        messages.append(said)
    return messages, indexes


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
