"""What a server says that a call has taken: read, and added up."""

from collections.abc import Mapping, Sequence
from typing import Any

# No window has so many tokens: a larger number is a fault of the server, and is not counted.
COUNT_MAX_TOKENS = 100_000_000
# The counts of a request and of its answer, by the names of the Messages API.
INPUT_NAMES = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")
OUTPUT_NAME = "output_tokens"
# What servers that were made for another API call them.
OTHER_NAMES = {"prompt_tokens": "input_tokens", "completion_tokens": OUTPUT_NAME}
# The longest text, and the most values in one mapping or list, that are kept of what a server says.
TEXT_MAX_CHARS, VALUES_MAX_COUNT = 100, 50


def count_of(usage: Mapping[str, Any] | None, name: str) -> int:
    """Return the count `name` of a stored usage; 0 for what is missing, or is no possible number of tokens. Pure."""
    count = (usage or {}).get(name)
    if not isinstance(count, int | float) or isinstance(count, bool):
        return 0
    return int(count) if 0 <= count <= COUNT_MAX_TOKENS else 0


def counts_of(usage: Mapping[str, Any] | None) -> dict[str, int]:
    """Return the counts of a stored usage that have a price. Pure."""
    return {name: count_of(usage, name) for name in (*INPUT_NAMES, OUTPUT_NAME)}


def read_usage(said: object) -> dict[str, Any]:
    """Return what a server says about tokens without impossible numbers, words in place of numbers, and the zero tokens
    that some servers say each request has. Pure."""
    found = _without_impossible(said) if isinstance(said, Mapping) else {}
    for name, ours in OTHER_NAMES.items():
        if name in found:
            found.setdefault(ours, found[name])
    return found


def is_counted(usage: Mapping[str, Any]) -> bool:
    """Return whether a usage says how many tokens the request had."""
    return any(count_of(usage, name) for name in INPUT_NAMES)


def whole_usage(usage: Mapping[str, Any]) -> dict[str, Any]:
    """Return all tokens of a call. The usage of one that makes summaries counts these in `iterations` alone. Pure."""
    iterations = usage.get("iterations")
    if not isinstance(iterations, Sequence) or not iterations:
        return dict(usage)
    total: dict[str, Any] = {}
    for each in iterations:
        if isinstance(each, Mapping):
            total = _added(total, each)
    return total


def _without_impossible(said: Mapping[str, Any]) -> dict[str, Any]:
    kept: dict[str, Any] = {}
    for name, value in list(said.items())[:VALUES_MAX_COUNT]:
        if isinstance(value, Mapping):
            kept[name] = _without_impossible(value)
        elif isinstance(value, list):
            kept[name] = [_without_impossible(each) for each in value[:VALUES_MAX_COUNT] if isinstance(each, Mapping)]
        elif isinstance(value, str):
            if not name.endswith("tokens"):
                kept[name] = value[:TEXT_MAX_CHARS]
        elif isinstance(value, bool):
            kept |= {} if name.endswith("tokens") else {name: value}
        elif isinstance(value, int | float) and 0 <= value <= COUNT_MAX_TOKENS:
            kept[name] = int(value)
    return kept


def _added(total: Mapping[str, Any], more: Mapping[str, Any]) -> dict[str, Any]:
    """Return the sums of the numbers in both, also of those in mappings."""
    found = dict(total)
    for name, value in more.items():
        before = found.get(name)
        if isinstance(value, Mapping):
            found[name] = _added(before if isinstance(before, Mapping) else {}, value)
        elif isinstance(value, int):
            found[name] = value + (before if isinstance(before, int) else 0)
    return found
