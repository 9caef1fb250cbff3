"""Compute, apply and reverse the changes between two texts, line by line. Pure.

A hunk is `{"at": 0-based line, "removed": [lines], "added": [lines]}` over `text.split("\\n")`. The hunks of one change
are in descending order of lines, so that each can be applied without moving the next.
"""

from collections.abc import Iterable
from difflib import SequenceMatcher
from typing import TypedDict

# The cost of a comparison is up to (old lines x new lines); a larger change becomes one hunk.
COMPARED_MAX_LINE_PAIRS = 4_000_000


class Hunk(TypedDict):
    """A run of lines that a change replaces, from the index `at`."""

    at: int
    removed: list[str]
    added: list[str]


class HunkMismatchError(ValueError):
    """The text is not the one that the hunks apply to."""


def diff(old: str, new: str) -> list[Hunk]:
    """Return the hunks that turn `old` into `new`; none when they are equal."""
    before, after = old.split("\n"), new.split("\n")
    start = _common_start(before, after)
    end = _common_start(before[start:][::-1], after[start:][::-1])
    before, after = before[start : len(before) - end], after[start : len(after) - end]
    if not before and not after:
        return []
    if len(before) * len(after) > COMPARED_MAX_LINE_PAIRS:
        return [Hunk(at=start, removed=before, added=after)]
    changes = SequenceMatcher(None, before, after, autojunk=False).get_opcodes()
    return [
        Hunk(at=start + first, removed=before[first:last], added=after[new_first:new_last])
        for kind, first, last, new_first, new_last in reversed(changes)
        if kind != "equal"
    ]


def apply_hunks(text: str, hunks: Iterable[Hunk]) -> str:
    """Return `text` after the change `hunks`. Raise HunkMismatchError when they were made for another text."""
    lines = text.split("\n")
    for hunk in hunks:
        end = hunk["at"] + len(hunk["removed"])
        if lines[hunk["at"] : end] != hunk["removed"]:
            raise HunkMismatchError(f"Line {hunk['at'] + 1} is not what it was when the change was made.")
        lines[hunk["at"] : end] = hunk["added"]
    return "\n".join(lines)


def reverse(hunks: Iterable[Hunk]) -> list[Hunk]:
    """Return the hunks that undo the change `hunks`."""
    shift, backwards = 0, []
    for hunk in reversed(list(hunks)):
        backwards.append(Hunk(at=hunk["at"] + shift, removed=hunk["added"], added=hunk["removed"]))
        shift += len(hunk["added"]) - len(hunk["removed"])
    return backwards[::-1]


def _common_start(one: list[str], other: list[str]) -> int:
    count = 0
    for mine, theirs in zip(one, other, strict=False):
        if mine != theirs:
            break
        count += 1
    return count
