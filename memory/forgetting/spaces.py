"""What memory keeps of a shared space, and its removal with the space: documents with history, index and files, and the
library."""

import logging
from collections.abc import Mapping

from django.db import transaction
from django.db.models import Q

from memory.files import disk
from memory.files.folders import folder_of
from memory.library import storage
from memory.models import FileVersion, MemoryDocument, MemoryRevision, Proposal
from oneclaw.domains import SpacePart
from oneclaw.locks import hold
from oneclaw.models import Space

logger = logging.getLogger(__name__)


def counts(space: Space) -> Mapping[str, int]:
    """Return how many documents, lines with text, files of the library, and suggestions without an answer the space
    has."""
    contents = space.documents.present().values_list("content", flat=True).order_by("pk")
    sizes = [sum(bool(line.strip()) for line in text.split("\n")) for text in contents.iterator(chunk_size=200)]
    return {
        "documents": len(sizes),
        "lines": sum(sizes),
        "library_files": space.library_files.count(),
        "suggestions": space.suggestions.waiting().count(),
        "proposals": Proposal.objects.filter(space=space).count(),
    }


def remove(space: Space) -> None:
    """Delete the documents of the space, and its folders once the transaction is committed."""
    # Nothing writes them any more, and what is being written to a file is finished first.
    list(space.documents.select_for_update().order_by("pk").values_list("pk"))
    for document_id in (
        MemoryDocument.objects.to_mirror().filter(space=space).order_by("pk").values_list("pk", flat=True)
    ):
        hold(f"mirror {document_id}")
    space.documents.all().delete()
    folder = folder_of(space)

    space_id = space.pk

    def remove_folders() -> None:
        try:
            disk.remove_all(folder)
        except OSError:
            logger.exception("The folder %s of a deleted space could not be removed: delete it.", folder)
        try:
            storage.remove_folder(space_id)
        except OSError:
            logger.exception("The library of the deleted space %s could not be removed now; it is swept.", space_id)

    transaction.on_commit(remove_folders)


def writers(space: Space) -> Q:
    """Return who changed or proposed a line of the space's memory, or added to its library, as a condition of people.

    A line that was forgotten or replaced counts: the history has it."""
    return (
        Q(pk__in=MemoryRevision.objects.filter(space=space).values("author"))
        | Q(pk__in=Proposal.objects.filter(space=space).values("author"))
        | Q(pk__in=FileVersion.objects.filter(file__space=space).values("owner"))
    )


PART = SpacePart(counts, remove, writers)
