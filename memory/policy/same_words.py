"""Compare lines by their words, ignoring bullets, case and spacing. Pure."""

import re
import unicodedata

MARKS = re.compile(r"^(?:[-*+>#\s]|\d+[.)]\s)+")


def occurs_in(text: str, content: str) -> bool:
    """Return whether the lines of `text` occur in `content` one after the other; blank lines are ignored."""
    wanted, lines = _lines(text), _lines(content)
    if not wanted:
        return False
    starts = (at for at, line in enumerate(lines) if line == wanted[0])
    return any(lines[at : at + len(wanted)] == wanted for at in starts)


def without_lines_of(notes: str, text: str) -> str:
    """Return `notes` without the lines that `text` has too; "" when only headings are left."""
    known = set(_lines(text))
    kept = [line for line in notes.split("\n") if not line.strip() or words_of(line) not in known]
    if all(line.lstrip().startswith("#") or not line.strip() for line in kept):
        return ""
    return "\n".join(kept).strip("\n")


def words_of(line: str) -> str:
    """Return the normalised words of `line`, by which lines are compared."""
    folded = unicodedata.normalize("NFKC", MARKS.sub("", line)).casefold()
    return " ".join(folded.split()).rstrip(".!")


def _lines(text: str) -> list[str]:
    return [words for line in text.split("\n") if (words := words_of(line))]
