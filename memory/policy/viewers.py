"""Who can see a document of memory, and with it each of its lines."""

from memory.models import MemoryDocument
from oneclaw.spaces.viewers import Viewer, viewers, viewers_of_space, with_admins


@viewers.register
def viewers_of_document(document: MemoryDocument) -> list[Viewer]:
    """Return the people of the document's space, and the administrators who can open documents in the admin."""
    return with_admins(viewers_of_space(document.space), "memory.view_memorydocument")
