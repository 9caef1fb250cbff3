"""Lines taken out of a whole history, as if they had never been written. Pure.

Hunks are those of memory/documents/diff.py. A history without some lines is a history again: its changes add up.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence

from memory.documents.diff import Hunk, diff


def erased(history: Iterable[Sequence[Hunk]], is_gone: Callable[[str], bool]) -> Iterator[tuple[list[Hunk], str]]:
    """Yield each change without the lines that are gone, and the content after it. A history begins with an empty text.

    What remains in a change stood in it before: lines only go.
    """
    # Of each line of the content as it was: whether it is gone. And the lines that are not.
    gone: list[bool] = [False]
    kept: list[str] = [""]
    for hunks in history:
        before, changed = list(kept), []
        for hunk in hunks:
            at, end = hunk["at"], hunk["at"] + len(hunk["removed"])
            start = at - sum(gone[:at])
            removed = [line for line, is_away in zip(hunk["removed"], gone[at:end], strict=True) if not is_away]
            marks = [is_gone(line) for line in hunk["added"]]
            added = [line for line, is_away in zip(hunk["added"], marks, strict=True) if not is_away]
            kept[start : start + len(removed)] = added
            gone[at:end] = marks
            if removed or added:
                changed.append(Hunk(at=start, removed=removed, added=added))
        if not before or not kept:
            # A text without lines is written like one with an empty line.
            changed = diff("\n".join(before), "\n".join(kept))
        yield changed, "\n".join(kept)
