"""Take memory.md, the name of the curated memory in folders of other programs, over into MEMORY.md."""

from django.db import transaction

from memory.documents.write import Author, Delete, Replace, apply
from memory.models import MemoryRevision
from memory.policy.paths import CURATED, CURATED_ALTERNATIVE
from oneclaw.models import Space, User
from oneclaw.reasons import Reason


@transaction.atomic
def take_over(space: Space, user: User | None) -> None:
    """Move the content of memory.md to MEMORY.md, unless that has content of its own. Idempotent.

    While there is no MEMORY.md, memory.md is the curated memory. Without this, the first line that is saved to
    MEMORY.md would make all lines of memory.md vanish from the prompts.
    """
    if not space.documents.present().filter(path=CURATED_ALTERNATIVE).exists():
        return
    # Locked in the order of every transaction here, so that two cannot wait for each other.
    rows = space.documents.select_for_update().filter(path__in=[CURATED, CURATED_ALTERNATIVE]).order_by("pk")
    documents = {row.path: row for row in rows}
    old, curated = documents[CURATED_ALTERNATIVE], documents.get(CURATED)
    if old.is_deleted or not old.content.strip() or (curated and curated.content.strip()):
        return
    author = Author(MemoryRevision.Source.IMPORT, user, reason=Reason("change.taken_over", {"path": old.path}))
    # Deleted first: on a disk that ignores case, both are one file.
    apply(space, old.path, Delete(old.version), author)
    apply(space, CURATED, Replace(old.content, curated.version if curated else 0), author)
