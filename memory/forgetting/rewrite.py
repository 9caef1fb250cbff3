"""Remove lines from a whole history of changes, as if they had never been written. Pure.

Hunks are those of memory/documents/diff.py. The result is a valid history again: its changes add up to its contents.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence

from memory.documents.diff import Hunk, diff


def erase_lines(
    history: Iterable[Sequence[Hunk]], is_forgotten: Callable[[str], bool]
) -> Iterator[tuple[list[Hunk], str]]:
    """Yield (hunks, content) for each change of `history`, without the lines for which `is_forgotten` is true.

    A history begins with an empty text. Lines are only removed, never added or moved between changes.
    """
    # For each line of the original content: whether it is forgotten. `kept` holds the other lines.
    forgotten: list[bool] = [False]
    kept: list[str] = [""]
    for hunks in history:
        before, changed = list(kept), []
        for hunk in hunks:
            at, end = hunk["at"], hunk["at"] + len(hunk["removed"])
            start = at - sum(forgotten[:at])
            removed = [line for line, mark in zip(hunk["removed"], forgotten[at:end], strict=True) if not mark]
            marks = [is_forgotten(line) for line in hunk["added"]]
            added = [line for line, mark in zip(hunk["added"], marks, strict=True) if not mark]
            kept[start : start + len(removed)] = added
            forgotten[at:end] = marks
            if removed or added:
                changed.append(Hunk(at=start, removed=removed, added=added))
        if not before or not kept:
            # A text without lines is stored like one with an empty line, so its hunks are computed anew.
            changed = diff("\n".join(before), "\n".join(kept))
        yield changed, "\n".join(kept)
