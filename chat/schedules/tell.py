"""Tell a person something by a schedule: an unread message in a conversation of theirs.

It is not activity: the conversation keeps its place and its last activity, the person does not become present, and no
signal is sent. Notes of it are made with those of the conversation.
"""

import uuid

from django.db import transaction
from django.utils import timezone, translation
from django.utils.translation import gettext as _

from chat.conversations import transcript
from chat.conversations.keys import conversation_key
from chat.models import Beat, ChatSession, MemoryChoice, Message, Schedule, default_agent
from chat.rendering.citations import content_columns
from chat.rendering.messages import html_columns
from chat.schedules.planning import heartbeat_of
from chat.schedules.wording import clock_time
from oneclaw import pubsub
from oneclaw.llm import Block
from oneclaw.models import User, clock

# While an answer is running in the conversation: seconds until the next try.
BUSY_SECONDS = 30


@transaction.atomic
def deliver(beat: Beat) -> None:
    """Store what `beat` tells, and finish it; release it while an answer is running in the conversation. Raise
    ClaimLostError."""
    session = conversation_of(beat.schedule)
    try:
        transcript.refuse_if_busy(session)
    except transcript.SessionBusyError:
        beat.release(BUSY_SECONDS)
        return
    message = say(session, beat.text)
    beat.finish(Beat.Status.DONE, outcome=Beat.Outcome.SENT, message=message, reason=None, text="")


def say(session: ChatSession, text: str) -> Message:
    """Store `text` as a message by a schedule at the end of the locked `session`, unread."""
    owner = session.owner
    now = clock.read_database_time()
    content: list[Block] = [{"type": "text", "text": text}]
    session.last_seq += 1
    session.archived_at = None
    message = Message(
        session=session,
        seq=session.last_seq,
        role=Message.Role.ASSISTANT,
        parent=session.messages.shown().last(),
        status=Message.Status.COMPLETE,
        stop_reason="end_turn",
        is_apart=session.memory == MemoryChoice.NONE or None,
        meta={"by": "schedule", "at": clock_time(owner.local(now).time())},
        finished_at=now,
        **content_columns(content),
        **html_columns(content, {}),
    )
    # Neither `active_at` nor the person's presence: they have said nothing.
    session.save(update_fields=["last_seq", "archived_at"])
    message.save(force_insert=True)
    transcript.notify_changed(session.pk)
    pubsub.notify(f"user:{owner.pk}", {"kind": "sessions"})
    return message


def conversation_of(schedule: Schedule) -> ChatSession:
    """Lock and return the conversation in which `schedule` tells: its own, or that of the person's heartbeat, which is
    made when there is none. Call inside a transaction."""
    own = _locked(schedule.owner, schedule.conversation_id)
    if own is not None:
        return own
    # Locked, so that two schedules at once make one conversation.
    heartbeat = heartbeat_of(schedule.owner)
    heartbeat = Schedule.objects.select_for_update(no_key=True).get(pk=heartbeat.pk)
    known = _locked(schedule.owner, heartbeat.conversation_id)
    if known is not None:
        return known
    made = _make(schedule.owner)
    Schedule.objects.filter(pk=heartbeat.pk).update(conversation=made)
    return made


def _locked(user: User, session_id: uuid.UUID | None) -> ChatSession | None:
    if session_id is None:
        return None
    sessions = ChatSession.objects.private_to(user).filter(pk=session_id, kind="")
    return sessions.select_for_update(no_key=True).first()


def _make(user: User) -> ChatSession:
    """Store the conversation “Heartbeat” of `user`, pinned, because nothing that it gets moves it up in the list."""
    session_id, agent = uuid.uuid4(), default_agent()
    with translation.override(user.language or None):
        title = _("Heartbeat")
    return ChatSession.objects.create(
        pk=session_id,
        key=conversation_key(agent.slug, user.pk, session_id),
        owner=user,
        agent=agent,
        title=title,
        titled_by=ChatSession.Titled.PERSON,
        pinned_at=timezone.now(),
    )
