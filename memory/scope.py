"""What a conversation may see: its owner's own space, and at most one shared one."""

from django.db.models import Q, QuerySet

from chat.models import ChatSession
from memory.models import MemoryDocument
from memory.paths import BadPath, checked_path
from oneclaw.models import Space, SpaceMember, User


def spaces_of(session: ChatSession) -> list[Space]:
    """The spaces whose memory the session reads, the person's own first. A temporary session reads none."""
    if session.mode == ChatSession.Mode.TEMPORARY:
        return []
    spaces = [own_space(session)]
    if session.space_id is not None:
        # Whoever is no member any more does not see it any more.
        shared = Space.objects.visible_to(session.owner).filter(pk=session.space_id)
        spaces += shared.exclude(pk=spaces[0].pk)
    return spaces


def own_space(session: ChatSession) -> Space:
    """Where the session writes."""
    return Space.objects.own_of(session.owner)


def find_document(session: ChatSession, path: str) -> MemoryDocument | None:
    """The document that the session means by `path`; the person's own goes before a shared one."""
    try:
        path = checked_path(path)
    except BadPath:
        return None
    for space in spaces_of(session):
        document = space.documents.present().filter(path=path).first()
        if document is not None:
            return document
    return None


def may_write(user: User, space_id: int) -> bool:
    """Whether the person may change what the space remembers: its readers may not."""
    return SpaceMember.objects.filter(space=space_id, user=user).exclude(role=SpaceMember.Role.READER).exists()


def may_forget(user: User, space: Space) -> bool:
    """Whether the person may have things forgotten in the space: its owners, and in a shared one also an admin who may
    delete documents."""
    return spaces_to_forget_in(user).filter(pk=space.pk).exists()


def spaces_to_forget_in(user: User) -> QuerySet[Space]:
    owned = Q(members__user=user, members__role=SpaceMember.Role.OWNER)
    if user.is_staff and user.has_perm("memory.delete_memorydocument"):
        owned |= ~Q(kind=Space.Kind.OWN)
    return Space.objects.filter(owned).distinct().order_by("pk")
