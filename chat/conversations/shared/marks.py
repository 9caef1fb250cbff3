"""What messages of a shared conversation show besides their text: who wrote them, and nothing of a memory."""

from collections.abc import Sequence

from django.db.models import Case, F, QuerySet, When

from chat.conversations.shared.people import Participant, initials_of, shown_person
from chat.models import Message
from oneclaw.models import User

# The key in Message.meta of who wrote a message as the model was told: {"number": 2, "name": "Ada Lovelace"}. Stored,
# because what was sent is sent again, and because a person's account may be deleted.
FROM_KEY = "from"
# The value of "by" in Message.meta of what other members have written in a conversation that is private again, or a
# fork: there it is not what the person wrote.
MEMBER = "member"


def with_shared(messages: QuerySet[Message]) -> QuerySet[Message]:
    """Annotate each message with `shared_through`: in a shared session its `shared_seq`, else None."""
    through = Case(When(session__shared_at__isnull=False, then=F("session__shared_seq")))
    return messages.annotate(shared_through=through)


def mark(messages: Sequence[Message]) -> None:
    """Set `shown_author`, `hides_memory` and `is_for_several` of messages of one session in which several people
    write, or have written.

    They were read `with_shared`, or have their session loaded. No query for a session of one person.
    """
    through = shared_through(messages[0]) if messages else None
    if through is None and not any(FROM_KEY in message.meta for message in messages):
        return
    people = people_of(messages)
    for message in messages:
        message.is_for_several = True
        message.hides_memory = through is not None and message.seq <= through
        if through is not None:
            # What its owner thinks of an answer is not for the others.
            vars(message)["rated"] = None
        if message.role == Message.Role.USER and message.meta.get("by", MEMBER) == MEMBER:
            message.shown_author = author_of(message, people)


def show_author(message: Message) -> None:
    """Set `shown_author` of a message that this process has just stored, with its author. No query."""
    if message.author is not None:
        message.shown_author = shown_person(message.author)


def shared_through(message: Message) -> int | None:
    """Return the `shared_seq` of the session of `message`; None when it is private."""
    if "shared_through" in vars(message):
        through: int | None = vars(message)["shared_through"]
        return through
    return message.session.shared_seq if message.session.is_shared else None


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
