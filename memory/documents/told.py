"""Tell the members of a space about a change of its instructions, which are in their private prompts there."""

from collections.abc import Sequence

from memory.models import MemoryDocument
from memory.policy.paths import AGENTS
from oneclaw.models import Space, User
from oneclaw.people import notices
from oneclaw.reasons import Reason


def tell_members(document_ids: Sequence[int]) -> None:
    """Tell every member of the shared spaces whose instructions are among these documents, but not who changed them."""
    rows = MemoryDocument.objects.filter(pk__in=document_ids, path=AGENTS).exclude(space__kind__in=Space.PRIVATE)
    for document in rows.select_related("space"):
        newest = document.revisions.select_related("author", "approved_by").order_by("-number").first()
        if newest is None:
            continue
        known = {newest.author_id, newest.approved_by_id}
        about = {"person": str(newest.author or "–"), "space": document.space.name}
        members = User.objects.filter(space_roles__space=document.space, is_active=True).distinct().order_by("pk")
        for member in members:
            if member.pk not in known:
                notices.tell(member, Reason("memory.instructions_changed", about), by_mail=False)
