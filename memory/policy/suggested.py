"""Tell which workspace files may not be used yet, because what in them instructs the assistant waits for a yes."""

from collections.abc import Iterator

from django.contrib.postgres.expressions import ArraySubquery
from django.db.models import OuterRef

from memory.models import MemoryDocumentQuerySet, Suggestion
from memory.policy.paths import CURATED, WORKSPACE_FILES
from memory.policy.tombstones import line_hash, words_of

# The workspace files that a prompt says to follow. MEMORY.md is quoted as data.
INSTRUCTION_FILES = tuple(path for path in WORKSPACE_FILES if path != CURATED)


def text_hash(space_id: int, text: str) -> str:
    """Return the keyed hash by which a suggested text is recognised: of its words, or of itself without any."""
    return line_hash(space_id, words_of(text) or (text,))


def usable_files(documents: MemoryDocumentQuerySet) -> Iterator[tuple[str, int, str]]:
    """Yield path, version and content of those of `documents` that a prompt may use.

    A file is left out while its content, as it was imported, waits for a yes or was declined. A person who edits it has
    said yes to what it then says.
    """
    not_accepted = Suggestion.objects.filter(kind=Suggestion.Kind.INSTRUCTIONS).exclude(
        status=Suggestion.Status.ACCEPTED
    )
    suggested = not_accepted.filter(space=OuterRef("space"), path=OuterRef("path")).values("text_hash")
    rows = documents.annotate(suggested=ArraySubquery(suggested))
    for path, version, content, space_id, hashes in rows.values_list(
        "path", "version", "content", "space", "suggested"
    ):
        if not hashes or text_hash(space_id, content) not in hashes:
            yield path, version, content
