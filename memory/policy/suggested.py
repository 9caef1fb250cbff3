"""Tell which workspace files may not be used yet, because what in them instructs the assistant waits for a yes."""

from collections.abc import Iterable

from memory.models import Suggestion
from memory.policy.paths import CURATED, WORKSPACE_FILES
from memory.policy.tombstones import line_hash, words_of

# The workspace files that a prompt says to follow. MEMORY.md is quoted as data.
INSTRUCTION_FILES = tuple(path for path in WORKSPACE_FILES if path != CURATED)


def text_hash(space_id: int, text: str) -> str:
    """Return the keyed hash by which a suggested text is recognised: of its words, or of itself without any."""
    return line_hash(space_id, words_of(text) or (text,))


def without_unused(space_id: int, files: Iterable[tuple[str, int, str]]) -> list[tuple[str, int, str]]:
    """Return those of `files` (path, version, content) of the space that a prompt may use.

    A file is left out while its content, as it was imported, waits for a yes or was declined. A person who edits it has
    said yes to what it then says.
    """
    rows = Suggestion.objects.filter(space=space_id, kind=Suggestion.Kind.INSTRUCTIONS)
    unused = set(rows.exclude(status=Suggestion.Status.ACCEPTED).values_list("path", "text_hash"))
    if not unused:
        return list(files)
    return [file for file in files if (file[0], text_hash(space_id, file[2])) not in unused]
