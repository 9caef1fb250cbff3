"""Rebase changes onto later versions of a text, and merge three versions. Pure.

Hunks are those of memory/documents/diff.py.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from memory.documents.diff import Hunk, apply_hunks, diff


class OverlapError(ValueError):
    """Another change touches the same lines, or already made the same change."""


@dataclass(frozen=True)
class Merged:
    """The result of a merge: `text` holds all our changes, and theirs that do not touch the same lines.

    `is_whole` is false when a change of theirs was left out.
    """

    text: str
    is_whole: bool


def rebase(hunks: Iterable[Hunk], later: Iterable[Sequence[Hunk]]) -> list[Hunk]:
    """Return `hunks`, rebased onto the text after the consecutive changes `later`.

    Raise OverlapError when one of them touches the same lines.
    """
    moved = list(hunks)
    for change in later:
        moved = [_moved(hunk, change) for hunk in moved]
    return moved


def merge(base: str, ours: str, theirs: str) -> Merged:
    """Return the line-by-line merge of two versions of `base`. Where both changed the same lines, ours are kept.

    Where both add lines at the same position, ours come first.
    """
    ours_since, kept, is_whole = diff(base, ours), [], True
    for hunk in diff(base, theirs):
        if hunk in ours_since:
            continue
        try:
            kept.append(_moved(hunk, ours_since))
        except OverlapError:
            is_whole = False
    return Merged(apply_hunks(ours, kept), is_whole)


def _moved(hunk: Hunk, change: Sequence[Hunk]) -> Hunk:
    """Return `hunk`, rebased onto the text after `change`, which was made for the same text."""
    start, end, shift = hunk["at"], hunk["at"] + len(hunk["removed"]), 0
    for other in change:
        first, last = other["at"], other["at"] + len(other["removed"])
        if first < end and last > start:
            raise OverlapError(f"Line {start + 1} was changed meanwhile.")
        if start == end and first <= start <= last and _contains(other["added"], hunk["added"]):
            raise OverlapError(f"The text to restore at line {start + 1} is there already.")
        if last <= start:
            shift += len(other["added"]) - len(other["removed"])
    return Hunk(at=start + shift, removed=hunk["removed"], added=hunk["added"])


def _contains(lines: list[str], part: list[str]) -> bool:
    return any(lines[start : start + len(part)] == part for start in range(len(lines) - len(part) + 1))
