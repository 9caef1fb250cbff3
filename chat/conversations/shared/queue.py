"""The queue of a shared conversation: one answer at a time, and the others see whose message is next.

A row is deleted by the transaction that stores its message, so a message is sent once however often this is tried.
"""

import logging
import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from django.db import transaction
from django.db.models import Exists, Min, OuterRef
from django.utils.translation import gettext_lazy as _

from chat.conversations import lifecycle, model_choice, transcript
from chat.conversations.model_choice import Choice, NotOfferedError
from chat.conversations.pasted import Ranges, checked
from chat.models import ChatSession, QueuedMessage, Turn
from chat.rendering.shown import Participant, shown_person
from oneclaw import pubsub
from oneclaw.models import User
from oneclaw.text import UserFacingError

logger = logging.getLogger(__name__)

# How many messages of a conversation wait, and of one person in it.
QUEUE_MAX_MESSAGES, PERSON_MAX_MESSAGES = 50, 5
# The topic of hints that messages are left in a queue, and the conversations that one sweep names.
LEFT_TOPIC, OFFERED_MAX_COUNT = "queue_left", 100


class QueueFullError(UserFacingError):
    """As many messages wait as may be."""

    wording = _("Too many messages wait here. Send this one again when some of them are answered.")


@dataclass(frozen=True)
class Waiting:
    """One message in a queue, as everybody in the conversation sees it."""

    client_id: uuid.UUID
    author: Participant
    text: str
    files: int
    # What of it was pasted.
    pasted: Ranges = ()


@transaction.atomic
def add(
    user: User,
    session_id: uuid.UUID,
    client_id: uuid.UUID,
    text: str,
    choice: Choice,
    files: Sequence[uuid.UUID],
    *,
    pasted: Ranges = (),
) -> QueuedMessage:
    """Store a message that waits for the running answer of a shared conversation; once per `client_id`.

    Raise SessionBusyError when the conversation is private, QueueFullError, SessionNotFoundError, ReadOnlySessionError.
    """
    session = lifecycle.lock_to_write(user, session_id)
    if not session.is_shared:
        raise transcript.SessionBusyError
    known = session.queue.filter(client_id=client_id).first()
    if known is not None:
        return known
    waiting = session.queue.values_list("author", flat=True)
    if len(waiting) >= QUEUE_MAX_MESSAGES or list(waiting).count(user.pk) >= PERSON_MAX_MESSAGES:
        raise QueueFullError
    made = QueuedMessage.objects.create(
        session=session,
        author=user,
        client_id=client_id,
        text=text,
        files=[str(each) for each in files],
        model=choice.model,
        effort=choice.effort,
        memory=choice.memory,
        pasted=pasted,
    )
    notify(session.pk)
    return made


@transaction.atomic
def take_back(user: User, session_id: uuid.UUID | None, client_id: uuid.UUID) -> None:
    """Delete a waiting message of the person. Idempotent; nothing happens when it was sent meanwhile."""
    mine = QueuedMessage.objects.filter(author=user, session=session_id, client_id=client_id)
    if session_id is not None and mine.delete()[0]:
        notify(session_id)


def waiting(session_id: uuid.UUID) -> list[Waiting]:
    """Return the messages that wait in the shared session, the next one first. Sync."""
    rows = QueuedMessage.objects.filter(session=session_id, session__shared_at__isnull=False).select_related("author")
    return [
        Waiting(row.client_id, shown_person(row.author), row.text, len(row.files), checked(row.pasted or (), row.text))
        for row in rows
    ]


def accept_next(session_id: uuid.UUID, holder: uuid.UUID) -> transcript.AcceptedMessage | None:
    """Store the message that waits longest, with its running turn; None when none waits, or an answer is running.

    The same `holder` again gets its own turn again. Messages of people who may not write there any more are dropped.
    """
    while True:
        first = QueuedMessage.objects.filter(session=session_id).values_list("pk", flat=True).first()
        try:
            return _accept_first(session_id, holder)
        except (lifecycle.SessionNotFoundError, UserFacingError):
            # Another one may be the first by now, and has not been tried.
            if first is not None:
                _drop(session_id, first)


@transaction.atomic
def _accept_first(session_id: uuid.UUID, holder: uuid.UUID) -> transcript.AcceptedMessage | None:
    session = _locked(session_id)
    if session is None:
        return None
    if mine := transcript.running_turn_of(session, holder):
        return transcript.AcceptedMessage(mine[0].prompt, *mine)
    first = session.queue.select_related("author").first()
    if first is None:
        return None
    try:
        transcript.refuse_if_busy(session)
    except transcript.SessionBusyError:
        return None
    first.delete()
    files = [uuid.UUID(each) for each in first.files]
    message = (first.author, session_id, first.client_id, first.text, holder)
    pasted = checked(first.pasted or (), first.text)
    accepted = transcript.accept(*message, None, choice_of(first), files, pasted=pasted, is_next=True)
    notify(session_id)
    return accepted


@transaction.atomic
def _drop(session_id: uuid.UUID, queued_id: int) -> None:
    if QueuedMessage.objects.filter(session=session_id, pk=queued_id).delete()[0]:
        logger.warning("A queued message of conversation %s could not be sent any more.", session_id)
        notify(session_id)


def _locked(session_id: uuid.UUID) -> ChatSession | None:
    found = ChatSession.objects.filter(pk=session_id, shared_at__isnull=False, deleted_at=None)
    return found.select_for_update(no_key=True).first()


def offer_left() -> None:
    """Offer the shared sessions to the web processes in which messages wait although no answer is running: the process
    that would have begun the next one has died. Sync."""
    running = Turn.objects.running().filter(session=OuterRef("session"))
    left = QueuedMessage.objects.filter(~Exists(running), session__shared_at__isnull=False, session__deleted_at=None)
    sessions = left.values("session").annotate(first=Min("pk")).order_by("first").values_list("session", flat=True)
    if offered := [(LEFT_TOPIC, {"session": str(each)}) for each in sessions[:OFFERED_MAX_COUNT]]:
        pubsub.notify_all(offered)


def choice_of(row: QueuedMessage) -> Choice:
    """Return the model, effort and memory that the author chose; those of the conversation when they are not offered
    now."""
    choice = Choice(None, row.model, row.effort, memory=row.memory)
    checks: dict[str, Callable[[], object]] = {
        "model": lambda: model_choice.checked_model(row.author_id, choice),
        "effort": lambda: model_choice.checked_effort(choice),
        "memory": lambda: model_choice.checked_memory(choice, space_id=None, is_shared=True),
    }
    for name, check in checks.items():
        try:
            check()
        except NotOfferedError:
            choice = replace(choice, **{name: None})
    return choice


def notify(session_id: uuid.UUID) -> None:
    """Notify the pages that show the session, on commit, that its queue has changed."""
    pubsub.notify(f"session:{session_id}", {"kind": "queue"})
