"""Find what memory keeps of a person's conversations, such as those that they have deleted."""

import uuid
from collections.abc import Collection

from django.urls import reverse

from chat.extensions import Remains
from memory.models import MemoryRevision
from memory.policy.tombstones import words_of
from oneclaw.models import Space, User
from oneclaw.reasons import Reason

# Conversations whose lines one page offers.
MAX_SESSIONS = 20


def of_conversations(user: User, ids: Collection[uuid.UUID]) -> Remains | None:
    """Return how many lines of the person's own memory come from these conversations, and where to forget them.

    None when there is no such line.
    """
    lines = lines_from(Space.objects.own_of(user), ids)
    if not lines:
        return None
    query = "&".join(f"conversation={session_id}" for session_id in sorted(ids, key=str)[:MAX_SESSIONS])
    return Remains(Reason("memory.remains", {"number": len(lines)}), f"{reverse('memory_forget')}?{query}")


def lines_from(space: Space, ids: Collection[uuid.UUID]) -> list[str]:
    """Return the distinct lines that messages of these conversations brought into `space` and that are still there.

    Headings are left out.
    """
    brought = MemoryRevision.objects.filter(
        space=space, message__session__in=list(ids)[:MAX_SESSIONS], document__deleted_at=None
    )
    found: dict[str, None] = {}
    present: dict[int, set[str]] = {}
    for revision in brought.select_related("document").order_by("pk"):
        if revision.document_id not in present:
            present[revision.document_id] = set(revision.document.content.split("\n"))
        added = (line for hunk in revision.hunks for line in hunk["added"])
        here = present[revision.document_id]
        found |= dict.fromkeys(line for line in added if line in here and not line.startswith("#") and words_of(line))
    return list(found)
