"""Tell which lines of documents were made from foreign text, such as notes of a conversation in which a file was read.

A revision says so of the lines that it added (`MemoryRevision.is_foreign`); an import brings lines of another program.
A line that the person writes themselves, or says yes to, is of another revision, and theirs.
"""

from collections.abc import Collection

from django.db.models import Q

from memory.models import MemoryRevision
from memory.policy.paths import CURATED, CURATED_ALTERNATIVE
from oneclaw.models import Space

Source = MemoryRevision.Source
# The newest revisions of documents that are read.
READ_MAX_REVISIONS = 1_000
# Shorter pieces of a line say nothing, and stand in lines of others by chance.
PIECE_MIN_CHARS = 20


def foreign_lines(space: Space, paths: Collection[str]) -> frozenset[str]:
    """Return the lines of the documents of `space` at `paths` that were made from foreign text. The curated memory has
    none: the person has said yes to it."""
    wanted = [path for path in paths if path not in (CURATED, CURATED_ALTERNATIVE)]
    rows = MemoryRevision.objects.filter(document__space=space, document__path__in=wanted)
    made = rows.filter(Q(is_foreign=True) | Q(source=Source.IMPORT)).order_by("-pk").values_list("hunks", flat=True)
    added = {line for hunks in made[:READ_MAX_REVISIONS] for hunk in hunks for line in hunk["added"] if line.strip()}
    return frozenset(added)


def holds_foreign(text: str, lines: Collection[str]) -> bool:
    """Return whether a line of `text` is one of these foreign `lines`, or a piece of one: a long line is searched in
    several pieces, and the last line of a passage may be cut. Pure."""
    whole, joined = {line.strip() for line in lines}, "\n".join(lines)
    shown = (line.strip() for line in text.split("\n"))
    return any(line in whole or (len(line) >= PIECE_MIN_CHARS and line in joined) for line in shown if line)


def is_of_one(space: Space, person_id: int) -> bool:
    """Return whether every change of the documents of `space` is by this person, so that no line is of another."""
    return not MemoryRevision.objects.filter(document__space=space).exclude(author=person_id).exists()
