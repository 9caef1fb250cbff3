"""Changes made for one text, rebased onto what it has become meanwhile, and three-way merges. Pure.

Hunks are those of memory/documents/diff.py.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from memory.documents.diff import Hunk, apply_hunks, diff


class OverlapError(ValueError):
    """Another change has touched the same lines, or has done the same already."""


@dataclass(frozen=True)
class Merged:
    """`text` holds every change of ours, and all of theirs that touch none of ours; `is_whole`: none did."""

    text: str
    is_whole: bool


def rebase(hunks: Iterable[Hunk], later: Iterable[Sequence[Hunk]]) -> list[Hunk]:
    """Return `hunks` as changes of the text after the `later` changes, each made on top of the one before it.
    OverlapError when one of them has touched the same lines."""
    moved = list(hunks)
    for change in later:
        moved = [_moved(hunk, change) for hunk in moved]
    return moved


def merge(base: str, ours: str, theirs: str) -> Merged:
    """Merge both sides' changes of `base`, line by line. Where both changed the same lines, ours stay.

    Lines that both add in the same place follow one another, ours first.
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
    """Return one hunk as it is after one change of the same text."""
    start, end, shift = hunk["at"], hunk["at"] + len(hunk["removed"]), 0
    for other in change:
        first, last = other["at"], other["at"] + len(other["removed"])
        if first < end and last > start:
            raise OverlapError(f"Line {start + 1} was changed meanwhile.")
        if start == end and first <= start <= last and _contains(other["added"], hunk["added"]):
            raise OverlapError(f"What would be put back at line {start + 1} stands there again.")
        if last <= start:
            shift += len(other["added"]) - len(other["removed"])
    return Hunk(at=start + shift, removed=hunk["removed"], added=hunk["added"])


def _contains(lines: list[str], part: list[str]) -> bool:
    return any(lines[start : start + len(part)] == part for start in range(len(lines) - len(part) + 1))
