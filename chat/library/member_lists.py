"""Where shared conversations are in the list of each member: what organising and reading them changes.

The place of a conversation that the person has begun is in its own row, that of others in a row for each member
(chat/models/sharing/people.py).
"""

from collections.abc import Callable

from django.db.models import F, QuerySet
from django.utils import timezone

from chat.models import ChatSession, ChatSessionQuerySet, Folder, SessionMember
from oneclaw.models import User


def mark_read(user: User, seen: ChatSessionQuerySet, seq: int) -> bool:
    """Record how far the person has read the shared conversation of another one in `seen`; return whether that is
    news."""
    session = seen.exclude(owner=user).filter(shared_at__isnull=False).first()
    if session is None:
        return False
    SessionMember.objects.get_or_create(session=session, user=user)
    return bool(SessionMember.objects.filter(session=session, user=user, read_seq__lt=seq).update(read_seq=seq))


def pin(user: User, sessions: ChatSessionQuerySet, _: Folder | None) -> int:
    rows = of_others(user, sessions)
    return rows.filter(pinned_at=None).update(pinned_at=timezone.now(), archived_at=None)


def move(user: User, sessions: ChatSessionQuerySet, folder: Folder | None) -> int:
    return of_others(user, sessions).update(folder=folder)


def archive(user: User, sessions: ChatSessionQuerySet, _: Folder | None) -> int:
    """Take shared conversations out of the person's list; they end for no other member."""
    own = sessions.filter(owner=user, shared_at__isnull=False, archived_at=None, deleted_at=None)
    changed = own.update(archived_at=timezone.now())
    return changed + of_others(user, sessions).filter(archived_at=None).update(archived_at=timezone.now())


def mark_all_read(user: User, sessions: ChatSessionQuerySet, _: Folder | None) -> int:
    changed = 0
    for row in of_others(user, sessions).filter(read_seq__lt=F("session__last_seq")).select_related("session"):
        changed += SessionMember.objects.filter(pk=row.pk).update(read_seq=row.session.last_seq)
    return changed


def of_others(user: User, sessions: ChatSessionQuerySet) -> QuerySet[SessionMember]:
    """Return the person's places of those of `sessions` that others have shared, made as far as they are missing."""
    found = list(ChatSession.objects.shared_with(user).filter(pk__in=sessions.values("pk")).exclude(owner=user))
    SessionMember.objects.bulk_create(
        [SessionMember(session=session, user=user) for session in found], ignore_conflicts=True
    )
    return SessionMember.objects.filter(user=user, session__in=found)


# As chat.library.organise.ACTIONS, for the places of `user`.
ACTIONS: dict[str, Callable[[User, ChatSessionQuerySet, Folder | None], int]] = {
    "pin": pin,
    "unpin": lambda user, sessions, _: of_others(user, sessions).exclude(pinned_at=None).update(pinned_at=None),
    "move": move,
    "archive": archive,
    "unarchive": lambda user, sessions, _: of_others(user, sessions).exclude(archived_at=None).update(archived_at=None),
    "read": mark_all_read,
}
