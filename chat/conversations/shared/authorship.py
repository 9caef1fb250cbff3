"""What is shown of the messages of a shared conversation: who wrote them, and nothing of a memory."""

from collections.abc import Sequence
from dataclasses import dataclass

from django.db.models import Case, F, When

from chat.models import Message
from chat.rendering.shown import Participant, shown_person
from oneclaw.models import User
from oneclaw.people.named import initials_of

# The key in Message.meta of who wrote a message as the model was told: {"number": 2, "name": "Ada Lovelace"}. Stored,
# because what was sent is sent again, and because a person's account may be deleted.
FROM_KEY = "from"
# The value of "by" in Message.meta of what other members have written in a conversation that is private again, or a
# fork: there it is not what the person wrote.
MEMBER = "member"
# The `shared_seq` of the session of a message, if that is shared.
SHARED_THROUGH = Case(When(session__shared_at__isnull=False, then=F("session__shared_seq")))


@dataclass(frozen=True)
class Authorship:
    """What is shown of one message of several people (see ShownMessage)."""

    author: Participant | None = None
    is_for_several: bool = False
    hides_memory: bool = False


def authorships_of(messages: Sequence[Message], through: int | None) -> list[Authorship]:
    """Return the authorship of messages of one session, which is shared through the number `through` (None: private).
    No query for a session of one person."""
    if through is None and not any(FROM_KEY in message.meta for message in messages):
        return [Authorship()] * len(messages)
    people = people_of(messages)
    return [
        Authorship(
            author_of(message, people) if is_by_author(message) else None,
            is_for_several=True,
            hides_memory=through is not None and message.seq <= through,
        )
        for message in messages
    ]


def is_by_author(message: Message) -> bool:
    """Return whether a person wrote the message, and neither another conversation nor a schedule."""
    return message.role == Message.Role.USER and message.meta.get("by", MEMBER) == MEMBER


def people_of(messages: Sequence[Message]) -> dict[int | None, Participant]:
    """Return the authors of `messages` by id, and the owner of their session under None."""
    ids = {message.author_id for message in messages if message.author_id is not None}
    loaded = User.objects.filter(pk__in=ids).only("email", "first_name", "last_name")
    people: dict[int | None, Participant] = {user.pk: shown_person(user) for user in loaded}
    if any(message.author_id is None for message in messages):
        owner = User.objects.only("email", "first_name", "last_name").get(chat_sessions=messages[0].session_id)
        people[None] = shown_person(owner)
    return people


def author_of(message: Message, people: dict[int | None, Participant]) -> Participant:
    """Return who wrote `message`; by the name that was stored with it when the account was deleted."""
    stored = message.meta.get(FROM_KEY)
    if message.author_id is None and stored:
        return Participant(0, stored["name"], initials_of(stored["name"]))
    return people.get(message.author_id) or Participant(0, "", "?")
