"""Part the notes of a conversation: lines in the person's own words are written, those from other sources wait."""

import re
from dataclasses import dataclass, field

from memory.notes.summary import EXTRACT_NOTICE
from memory.trust.matching import SourceText, TextSources, sentences, source_of

# The beginning of a line of an extract: its time.
TIME = re.compile(r"^\s*[-*]\s+\d\d:\d\d\s")


@dataclass(frozen=True)
class PartedNotes:
    """The notes to write, and the lines that wait for a yes, each with its source."""

    own: str
    waiting: list[tuple[str, SourceText]] = field(default_factory=list)


def parted(notes: str, possible: TextSources) -> PartedNotes:
    """Return the lines of `notes` in the person's own words, and the others. Pure.

    A heading from another source is left out; the others stay, unless every line of the notes waits.
    """
    kept: list[str] = []
    waiting: list[tuple[str, SourceText]] = []
    for line in notes.split("\n"):
        source = None if line == EXTRACT_NOTICE else source_of(TIME.sub("", line), possible)
        if source is None:
            kept.append(line)
        elif not line.startswith("#"):
            waiting.append((line.strip(), source))
    has_words = any(line.strip() and not line.startswith("#") and line != EXTRACT_NOTICE for line in kept)
    return PartedNotes("\n".join(kept).strip("\n") if has_words or not waiting else "", waiting)


def in_own_words(title: str, summary: str, possible: TextSources) -> tuple[str, str]:
    """Return a title and a summary without what came from another source: "" for such a title. Pure.

    Nothing of them waits: without it, the conversation has a shorter section.
    """
    kept = [sentence.strip() for sentence in sentences(summary) if source_of(sentence, possible) is None]
    own = summary if source_of(summary, possible) is None else " ".join(kept)
    return "" if source_of(title, possible) else title, own
