"""The people of a conversation: who sees it, and hints that their lists have changed."""

from collections.abc import Iterable

from chat.models import ChatSession
from oneclaw import pubsub
from oneclaw.models import SpaceRole


def ids_of(session: ChatSession) -> list[int]:
    """Return the ids of the people who see `session`. No query for a private one."""
    if not session.is_shared:
        return [session.owner_id]
    return list(SpaceRole.objects.filter(space=session.space_id).values_list("user_id", flat=True))


def list_changes(session: ChatSession) -> list[pubsub.Hint]:
    """Return the hints that the list of everybody who sees `session` has changed."""
    return list_changes_for(ids_of(session))


def list_changes_for(user_ids: Iterable[int]) -> list[pubsub.Hint]:
    """Return the hints that the lists of these people have changed."""
    return [(f"user:{user_id}", {"kind": "sessions"}) for user_id in user_ids]


def notify_lists(session: ChatSession) -> None:
    """Notify the pages of everybody who sees `session` that their list has changed."""
    if changes := list_changes(session):
        pubsub.notify_all(changes)
