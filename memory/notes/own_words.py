"""Part the notes of a conversation: the lines that may be written at once, and those that wait for a yes."""

from dataclasses import dataclass, field

from memory.trust.rule import Sent, SourceText, source_of


@dataclass(frozen=True)
class PartedNotes:
    """The notes to write, and the lines that wait for a yes, each with its source."""

    own: str
    waiting: list[tuple[str, SourceText]] = field(default_factory=list)


def parted(notes: str, sent: Sent) -> PartedNotes:
    """Return the lines of `notes` that may be written at once, and the others (memory/trust/rule.py). Pure.

    A heading from foreign text is left out; the others stay, unless every line of the notes waits.
    """
    kept: list[str] = []
    waiting: list[tuple[str, SourceText]] = []
    for line in notes.split("\n"):
        source = source_of(line, sent)
        if source is None:
            kept.append(line)
        elif not line.startswith("#"):
            waiting.append((line.strip(), source))
    has_words = any(line.strip() and not line.startswith("#") for line in kept)
    return PartedNotes("\n".join(kept).strip("\n") if has_words or not waiting else "", waiting)
