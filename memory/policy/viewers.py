"""Who can see a document of memory, and with it each of its lines."""

from memory.models import MemoryDocument
from memory.policy import curation
from oneclaw.people import roles
from oneclaw.spaces.viewers import Viewer, viewers, viewers_of_space, with_admins

VIEW = "memory.view_memorydocument"


@viewers.register
def viewers_of_document(document: MemoryDocument) -> list[Viewer]:
    """Return the people of the document's space, and the administrators who can open documents in the admin."""
    members = viewers_of_space(document.space)
    return members if curation.is_closed() else with_admins(members, VIEW, roles.with_permission(VIEW))
