"""A message with what is shown of it besides its row. chat/conversations/shown.py reads it."""

from dataclasses import dataclass

from chat.models import Message, Version
from oneclaw.models import User
from oneclaw.people.named import initials_of


@dataclass(frozen=True)
class Participant:
    """What the others in a shared conversation see of a person."""

    id: int
    name: str
    initials: str


@dataclass(frozen=True)
class ShownMessage:
    """One message, and what is shown of it besides its row."""

    message: Message
    # Its position among its versions; None for a single one.
    version: Version | None = None
    # Whether its owner found it good; None: not rated, or of several people, of whom no one sees what another found.
    is_good: bool | None = None
    # The title of the conversation that wrote it (Message.origin_id).
    origin_title: str = ""
    # Who wrote it, where several people write or have written.
    author: Participant | None = None
    # Whether others read it than who has asked.
    is_for_several: bool = False
    # Whether what came from its owner's memory into it is hidden, because it was shared later.
    hides_memory: bool = False


def shown_person(user: User) -> Participant:
    """Return what others see of `user`."""
    return Participant(user.pk, str(user), initials_of(str(user)))
