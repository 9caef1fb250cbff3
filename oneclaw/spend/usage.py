"""Add up what a server says that a call has taken."""

from collections.abc import Mapping, Sequence
from typing import Any


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
