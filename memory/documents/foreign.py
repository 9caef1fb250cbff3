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


def foreign_lines(space: Space, paths: Collection[str]) -> frozenset[str]:
    """Return the lines of the documents of `space` at `paths` that were made from foreign text. The curated memory has
    none: the person has said yes to it."""
    wanted = [path for path in paths if path not in (CURATED, CURATED_ALTERNATIVE)]
    rows = MemoryRevision.objects.filter(document__space=space, document__path__in=wanted)
    made = rows.filter(Q(is_foreign=True) | Q(source=Source.IMPORT)).order_by("-pk").values_list("hunks", flat=True)
    added = {line for hunks in made[:READ_MAX_REVISIONS] for hunk in hunks for line in hunk["added"] if line.strip()}
    return frozenset(added)


def is_of_one(space: Space, person_id: int) -> bool:
    """Return whether every change of the documents of `space` is by this person, so that no line is of another."""
    return not MemoryRevision.objects.filter(document__space=space).exclude(author=person_id).exists()
