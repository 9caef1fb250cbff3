"""The prompt cache: what of a request is read from it, and what is written.

From the page "Prompt caching": a mark writes the prefix that ends there; a read looks back at most 20 blocks from each
mark; prefixes shorter than the model's least length are not cached; a read renews the time to live. tool_choice,
thinking, effort and images change the prefix of messages, not that of tools and system.
"""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tests.strict_api.models import ModelRules
from tests.strict_api.parts import Part
from tests.strict_api.signatures import short_hash

LOOKBACK_BLOCKS = 20
ENTRIES_MAX_COUNT = 20_000
TTL_SECONDS = {"5m": 300.0, "1h": 3600.0}


class Clock:
    """A clock that tests can move."""

    def __init__(self) -> None:
        self._moved = 0.0

    def now(self) -> float:
        """Return the seconds since some moment."""
        return time.monotonic() + self._moved

    def move(self, seconds: float) -> None:
        """Let time pass at once."""
        self._moved += seconds


@dataclass(frozen=True)
class CacheUse:
    """How many tokens of a request are read from the cache, written for five minutes or an hour, or neither."""

    read: int = 0
    written_5m: int = 0
    written_1h: int = 0
    fresh: int = 0

    def usage(self) -> dict[str, Any]:
        """Return the fields of `usage`."""
        return {
            "input_tokens": self.fresh,
            "cache_creation_input_tokens": self.written_5m + self.written_1h,
            "cache_read_input_tokens": self.read,
            "cache_creation": {
                "ephemeral_5m_input_tokens": self.written_5m,
                "ephemeral_1h_input_tokens": self.written_1h,
            },
        }


class PromptCache:
    """The prefixes that the server keeps."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        # When each ends, and the seconds that a read adds.
        self._entries: dict[str, tuple[float, float]] = {}

    def use(self, body: Mapping[str, Any], parts: Sequence[Part], facts: ModelRules) -> CacheUse:
        """Return what the request reads, and keep what it writes."""
        ends: list[int] = []
        total = 0
        for part in parts:
            total += part.tokens
            ends.append(total)
        marks = {index: ttl for index, ttl in _marks(body, parts).items() if ends[index] >= facts.cached_tokens}
        if not marks:
            return CacheUse(fresh=total)
        prefixes = _prefixes(body, parts, facts)
        hit = self._longest(prefixes, marks)
        start = ends[hit] if hit >= 0 else 0
        read, written = start, {"5m": 0, "1h": 0}
        for index, ttl in sorted(marks.items()):
            self._keep(prefixes[index], TTL_SECONDS[ttl])
            if index > hit:
                written[ttl] += ends[index] - start
                start = ends[index]
        return CacheUse(read, written["5m"], written["1h"], total - max(start, read))

    def _longest(self, prefixes: Sequence[str], marks: Mapping[int, str]) -> int:
        """Return the index of the last part that is read, and renew its entry; -1 when nothing is."""
        now = self._clock.now()
        for mark in sorted(marks, reverse=True):
            for index in range(mark, max(-1, mark - LOOKBACK_BLOCKS), -1):
                until, seconds = self._entries.get(prefixes[index], (0.0, 0.0))
                if until > now:
                    self._entries[prefixes[index]] = (now + seconds, seconds)
                    return index
        return -1

    def _keep(self, prefix: str, seconds: float) -> None:
        now = self._clock.now()
        if len(self._entries) > ENTRIES_MAX_COUNT:
            self._entries = {key: entry for key, entry in self._entries.items() if entry[0] > now}
        until, _ = self._entries.get(prefix, (0.0, 0.0))
        self._entries[prefix] = (max(until, now + seconds), seconds)


def _marks(body: Mapping[str, Any], parts: Sequence[Part]) -> dict[int, str]:
    """Return the TTL of the marks by the index of their part."""
    marks = {index: ttl for index, part in enumerate(parts) for _, ttl in part.marks()}
    if automatic := body.get("cache_control"):
        marks.setdefault(len(parts) - 1, automatic.get("ttl") or "5m")
    return marks


def _prefixes(body: Mapping[str, Any], parts: Sequence[Part], facts: ModelRules) -> list[str]:
    """Return for each part the hash of everything up to and with it."""
    prefixes: list[str] = []
    prefix, in_messages = short_hash(body["model"]), False
    for part in parts:
        if part.section == "messages" and not in_messages:
            in_messages = True
            prefix = short_hash(prefix, *_settings(body, parts, facts))
        prefix = short_hash(prefix, part.section, part.role, part.data)
        prefixes.append(prefix)
    return prefixes


def _settings(body: Mapping[str, Any], parts: Sequence[Part], facts: ModelRules) -> tuple[str, ...]:
    """Return the parameters that belong to the prefix of messages."""
    thinking = body.get("thinking") or {}
    images = any(part.block.get("type") == "image" for part in parts)
    return (
        str(body.get("tool_choice") or {"type": "auto"}),
        str((thinking.get("type") or ("adaptive" if facts.thinks else "disabled"), thinking.get("budget_tokens"))),
        str((body.get("output_config") or {}).get("effort") or facts.effort),
        str(images),
    )
