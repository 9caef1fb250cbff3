"""The people of a conversation: who sees it, what they are called, and hints that their lists have changed."""

from collections.abc import Iterable
from dataclasses import dataclass

from chat.models import ChatSession
from oneclaw import pubsub
from oneclaw.models import SpaceRole, User


@dataclass(frozen=True)
class Participant:
    """What the others in a shared conversation see of a person."""

    id: int
    name: str
    initials: str


def shown_person(user: User) -> Participant:
    """Return what others see of `user`."""
    return Participant(user.pk, str(user), initials_of(str(user)))


def initials_of(name: str) -> str:
    """Return the initials of the first and the last word of `name`, or its first letter. Pure."""
    words = [word for word in name.split("@")[0].replace(".", " ").split() if word[:1].isalnum()]
    return "".join(word[0] for word in ([words[0], words[-1]] if len(words) > 1 else words)).upper() or "?"


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
