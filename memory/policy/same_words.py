"""Whether a text says the same words as another, whatever its bullets, case and spacing. Pure."""

import re
import unicodedata

MARKS = re.compile(r"^(?:[-*+>#\s]|\d+[.)]\s)+")


def stands_in(text: str, content: str) -> bool:
    """Return whether `content` has the lines of `text`, one after the other; blank lines do not count."""
    wanted, there = _lines(text), _lines(content)
    if not wanted:
        return False
    starts = (at for at, line in enumerate(there) if line == wanted[0])
    return any(there[at : at + len(wanted)] == wanted for at in starts)


def without(notes: str, given: str) -> str:
    """Return `notes` without the lines that `given` has too; nothing when only headings are left."""
    known = set(_lines(given))
    kept = [line for line in notes.split("\n") if not line.strip() or words_of(line) not in known]
    if all(line.lstrip().startswith("#") or not line.strip() for line in kept):
        return ""
    return "\n".join(kept).strip("\n")


def words_of(line: str) -> str:
    """Return the words of a line in the form in which lines are compared."""
    folded = unicodedata.normalize("NFKC", MARKS.sub("", line)).casefold()
    return " ".join(folded.split()).rstrip(".!")


def _lines(text: str) -> list[str]:
    return [words for line in text.split("\n") if (words := words_of(line))]
