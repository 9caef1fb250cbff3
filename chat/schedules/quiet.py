"""When the person is sent nothing, or no model is asked: what HEARTBEAT.md holds, what the model answered, and the
limits of a day. Pure."""

import json
import re
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any

HEARTBEAT_OK = "HEARTBEAT_OK"
# An answer with the words above is quiet with this many characters besides.
QUIET_MAX_CHARS = 300
NOTE_MAX_CHARS = 300
TEXT_MAX_CHARS = 8_000
# Times a day that a model is asked for the schedules of one person.
DAY_MAX_BEATS = 48

COMMENT = re.compile(r"<!--.*?(?:-->|\Z)", re.DOTALL)
HEADING = re.compile(r"#{1,6}(?:\s|$)|(?:=+|-+)$")
# A mark of a list, with or without an empty box.
EMPTY_ITEM = re.compile(r"(?:[-*+]|\d{1,9}[.)])?\s*(?:\[[ \t]?\])?$")
HASH_BYTES = 16


@dataclass(frozen=True)
class Answer:
    """What came of asking a model: what it tells the person, "" when it is quiet, and its note for later beats."""

    text: str
    note: str = ""

    @property
    def is_quiet(self) -> bool:
        return not self.text


def has_tasks(checklist: str) -> bool:
    """Return whether the text of a HEARTBEAT.md holds more than blank lines, headings, comments and empty boxes."""
    lines = (line.strip() for line in COMMENT.sub("\n", checklist).splitlines())
    return any(not (HEADING.match(line) or EMPTY_ITEM.match(line)) for line in lines)


def answer_of_call(arguments: dict[str, Any]) -> Answer:
    """Return the answer that a call of heartbeat_respond gives."""
    note = " ".join(str(arguments.get("note") or "").split())[:NOTE_MAX_CHARS]
    said = answer_of_text(str(arguments.get("text") or "")) if arguments.get("tell") is True else Answer("")
    return Answer(said.text, note)


def answer_of_text(text: str) -> Answer:
    """Return the answer that a text without a call gives: quiet with HEARTBEAT_OK at its beginning or its end, unless
    more than QUIET_MAX_CHARS stand besides."""
    text = text.strip()
    rest = text.removeprefix(HEARTBEAT_OK).removesuffix(HEARTBEAT_OK).strip()
    if rest != text and len(rest) <= QUIET_MAX_CHARS:
        return Answer("")
    return Answer(rest[:TEXT_MAX_CHARS])


def fingerprint(*parts: Any) -> str:
    """Return a short text that identifies `parts`, JSON values."""
    known = json.dumps(parts, ensure_ascii=False, sort_keys=True)
    return blake2b(known.encode(), digest_size=HASH_BYTES).hexdigest()


def is_used_up(asked: int, tokens: int, most_tokens: int) -> str:
    """Return the code of the limit of a day that is reached after `asked` beats with `tokens`; "" when none is.

    `most_tokens` 0 is no limit.
    """
    if asked >= DAY_MAX_BEATS:
        return "beat.beats_used"
    return "beat.tokens_used" if 0 < most_tokens <= tokens else ""
