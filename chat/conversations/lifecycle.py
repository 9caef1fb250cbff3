"""The life of a conversation: made, opened, switched, renamed, ended, deleted. Sends the lifecycle signals."""

import uuid

from django.db import transaction
from django.utils import timezone

from chat.conversations import insertion, model_choice, presence, temporary
from chat.conversations.model_choice import NO_CHOICE, Choice
from chat.models import ChatSession, Turn
from chat.signals import session_deleted, session_ended, session_switched
from oneclaw import pubsub
from oneclaw.models import User


class SessionNotFound(LookupError):
    """There is no such conversation. (Somebody else's looks the same.)"""


def session_key(user: User, agent_slug: str, session_id: uuid.UUID) -> str:
    return f"agent:{agent_slug}:user:{user.pk}:{session_id}"


def find(user: User, session_id: uuid.UUID) -> ChatSession | None:
    """The person's session; None when nobody has one with this id yet. Raises SessionNotFound for anybody else's,
    and for a deleted one."""
    mine = ChatSession.objects.visible_to(user).filter(pk=session_id)
    session = mine.first()
    if session is None and ChatSession.objects.filter(pk=session_id).exists():
        # Perhaps it was made between these two looks.
        session = mine.first()
        if session is None:
            raise SessionNotFound
    return session


def lock(user: User, session_id: uuid.UUID, mode: str | None = None, choice: Choice = NO_CHOICE) -> ChatSession:
    """The person's session under its row lock, made in this mode (agent) and as chosen when nobody has one with this
    id. Call inside a transaction. Raises SessionNotFound; NotOffered when a new one cannot be had as chosen.

    Whoever writes messages or turns of a session holds this lock, so places are without gap and turns one at a time.
    """
    mine = ChatSession.objects.visible_to(user).filter(pk=session_id).select_for_update(no_key=True)
    session = mine.first()
    if session is None:
        agent = model_choice.agent_for(user, choice)
        fresh = ChatSession(
            pk=session_id,
            key=session_key(user, agent.slug, session_id),
            owner=user,
            agent=agent,
            mode=mode or ChatSession.Mode.AGENT,
            model=model_choice.checked_model(choice),
        )
        session = fresh if insertion.insert_unless_there(fresh) else mine.first()
        if session is None:
            raise SessionNotFound
    return session


def open_session(user: User, session_id: uuid.UUID) -> ChatSession | None:
    """The person looks at this session now. Leaving another existing one for an existing one is a switch.

    None when it does not exist yet: a new chat leaves nothing, and becomes the current one with its first message.
    """
    session = find(user, session_id)
    if session is not None:
        left = presence.enter(user, session)
        if left is not None:
            session_switched.send_robust(ChatSession, user=user, session=left, to=session)
    return session


def rename(session: ChatSession, title: str) -> None:
    session.title, session.titled_by = " ".join(title.split())[:200], ChatSession.Titled.PERSON
    session.save(update_fields=["title", "titled_by"])
    pubsub.notify(f"user:{session.owner_id}", {"kind": "sessions"})


def end(session: ChatSession, reason: str) -> None:
    """Close the conversation; it stays readable, unless it is a temporary one. `reason`: end, new, reset, or archive,
    which also takes it out of the list."""
    if session.is_temporary:
        delete(session)
        return
    now = timezone.now()
    ended = {"ended_at": now, "archived_at": now} if reason == "archive" else {"ended_at": now}
    ChatSession.objects.filter(pk=session.pk).update(**ended)
    pubsub.notify(f"user:{session.owner_id}", {"kind": "sessions"})
    transaction.on_commit(
        lambda: session_ended.send_robust(ChatSession, user=session.owner, session=session, reason=reason)
    )


@transaction.atomic
def delete(session: ChatSession) -> None:
    """Take the conversation out of every list. What runs in it stops; what was not flushed is not remembered."""
    ChatSession.objects.filter(pk=session.pk).update(deleted_at=timezone.now())
    session.turns.filter(status=Turn.Status.RUNNING).update(stop_requested=True)
    pubsub.notify(f"session:{session.pk}", {"kind": "deleted", "owner": session.owner_id})
    pubsub.notify(f"user:{session.owner_id}", {"kind": "sessions"})
    if session.is_temporary:
        temporary.erase(session.pk)
    transaction.on_commit(lambda: session_deleted.send_robust(ChatSession, user=session.owner, session=session))
