"""What a space has that a prompt or a search asks for: notes, skills, files. Read together with the space, or once."""

from collections.abc import Collection
from dataclasses import dataclass

from django.db.models import Exists, OuterRef

from memory.models import LibraryFile, MemoryDocument
from memory.policy.paths import SKILLS, WORKSPACE_FILES
from memory.policy.reading import drop, keep, kept
from oneclaw.models import Space

_DOCUMENTS = MemoryDocument.objects.present().filter(space=OuterRef("pk"))
_SKILLS = _DOCUMENTS.filter(path__startswith=f"{SKILLS}/")
# Annotations of spaces, for SpaceContents.
HAS_NOTES = Exists(_DOCUMENTS.exclude(path__in=WORKSPACE_FILES).exclude(path__startswith=f"{SKILLS}/"))
HAS_SKILLS = Exists(_SKILLS)
HAS_FILES = Exists(LibraryFile.objects.filter(space=OuterRef("pk")))


@dataclass(frozen=True)
class SpaceContents:
    """Whether a space has documents besides the workspace files and skills, whether it has skills, and whether its
    library has files."""

    has_notes: bool
    has_skills: bool
    has_files: bool


def contents_of(spaces: Collection[Space]) -> dict[int, SpaceContents]:
    """Return the contents of each of `spaces` by its id. One statement, unless they are kept (`reading`)."""
    found: dict[int, SpaceContents | None] = {space.pk: kept(_key(space.pk)) for space in spaces}
    unknown = [pk for pk, contents in found.items() if contents is None]
    if unknown:
        rows = Space.objects.filter(pk__in=unknown).values_list("pk", HAS_NOTES, HAS_SKILLS, HAS_FILES)
        for pk, *contents in rows:
            found[pk] = SpaceContents(*contents)
            keep_contents(pk, found[pk])
    return {pk: contents for pk, contents in found.items() if contents is not None}


def keep_contents(space_id: int, contents: SpaceContents | None) -> None:
    """Keep what was read together with a space until the end of `reading`."""
    keep(_key(space_id), contents)


def forget_contents(space: Space) -> None:
    """Read the contents of `space` anew, which have changed."""
    drop(_key(space.pk))


def _key(space_id: int) -> tuple[str, int]:
    return "contents", space_id
