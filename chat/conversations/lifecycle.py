"""The lifecycle of a conversation: create, open, switch, rename, end, delete. Sends the lifecycle signals."""

import uuid
from dataclasses import replace
from typing import Any

from django.db import transaction
from django.db.models import Exists, OuterRef
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from chat.conversations import model_choice, presence, temporary
from chat.conversations.keys import conversation_key
from chat.conversations.model_choice import Choice
from chat.conversations.shared import people
from chat.models import ChatSession, ChatSessionQuerySet, Presence, SessionRoute, Turn
from chat.signals import session_deleted, session_switched, sessions_ended
from oneclaw import pubsub
from oneclaw.audit.record import record
from oneclaw.models import AuditKind, User, clock
from oneclaw.text import UserFacingError


class SessionNotFoundError(LookupError):
    """The conversation does not exist, or the person may not see it."""


class ReadOnlySessionError(UserFacingError):
    """Only a program writes in the conversation, such as a sub-session."""

    wording = _("You can read this conversation, and not write in it. Fork it to go on from here.")


class NotAWriterError(ReadOnlySessionError):
    """The person may read the shared conversation, and not write in it."""

    wording = _("You can read this conversation. Owners and editors of its space can write in it.")


def find(user: User, session_id: uuid.UUID) -> ChatSession | None:
    """Return the session that the person may see; None when no session has this id yet.

    Raise SessionNotFoundError when they may not see it or it is deleted.
    """
    mine = ChatSession.objects.visible_to(user).filter(pk=session_id)
    session = mine.first()
    if session is None and ChatSession.objects.filter(pk=session_id).exists():
        # It may have been created between the two queries.
        session = mine.first()
        if session is None:
            raise SessionNotFoundError
    return session


def lock(user: User, session_id: uuid.UUID) -> ChatSession:
    """Lock and return the person's session. Call inside a transaction. Raise SessionNotFoundError.

    Every writer of a session's messages or turns holds this lock, so messages are numbered without a gap and turns run
    one at a time.
    """
    session = _locked(user, session_id)
    if session is None:
        raise SessionNotFoundError
    return session


def lock_to_write(user: User, session_id: uuid.UUID) -> ChatSession:
    """Lock and return the person's session, in which they write. Call inside a transaction.

    Raise SessionNotFoundError, ReadOnlySessionError.
    """
    session = lock(user, session_id)
    refuse_unless_writer(user, session)
    return session


def refuse_unless_writer(user: User, session: ChatSession) -> None:
    """Raise ReadOnlySessionError unless the person, who may see `session`, may write in it. No query for a private
    one."""
    if session.is_read_only:
        raise ReadOnlySessionError
    if session.is_shared and not ChatSession.objects.continued_by(user).filter(pk=session.pk).exists():
        raise NotAWriterError


def lock_or_make(user: User, session_id: uuid.UUID, mode: str | None, choice: Choice) -> ChatSession:
    """Lock and return the person's session; when they have none with this id, return a new one that is not stored, with
    `mode` (default agent) and `choice`. Call inside a transaction.

    Raise NotOfferedError when a new session cannot have what `choice` names, ReadOnlySessionError.
    """
    session = _locked(user, session_id)
    if session is not None:
        refuse_unless_writer(user, session)
        return session
    agent = model_choice.agent_for(user, choice)
    if mode == ChatSession.Mode.TEMPORARY:
        # It has no memory, so it has no space.
        choice = replace(choice, space=None, memory=None)
    space_id = model_choice.checked_space(user, choice)
    return ChatSession(
        pk=session_id,
        key=conversation_key(agent.slug, user.pk, session_id),
        owner=user,
        agent=agent,
        mode=mode or ChatSession.Mode.AGENT,
        model=model_choice.checked_model(choice),
        effort=model_choice.checked_effort(choice),
        space_id=space_id,
        memory=model_choice.checked_memory(choice, space_id=space_id),
    )


def _locked(user: User, session_id: uuid.UUID) -> ChatSession | None:
    return ChatSession.objects.visible_to(user).filter(pk=session_id).select_for_update(no_key=True).first()


def open_session(user: User, session_id: uuid.UUID) -> ChatSession | None:
    """Make the session `session_id` the person's current one; sends session_switched when they leave another one.

    Return None when it does not exist yet: a new chat becomes the current session with its first message. Raise
    SessionNotFoundError.
    """
    current = Presence.objects.filter(user=user, session=OuterRef("pk"))
    session = ChatSession.objects.visible_to(user).filter(Exists(current), pk=session_id).first()
    if session is not None:
        return session
    session = find(user, session_id)
    if session is not None:
        left = presence.enter(user, session)
        if left is not None:
            session_switched.send_robust(ChatSession, user=user, session=left, to=session)
    return session


def rename(session: ChatSession, title: str) -> None:
    """Set the title by a person who manages the session, cut to 200 characters."""
    session.title, session.titled_by = " ".join(title.split())[:200], ChatSession.Titled.PERSON
    session.save(update_fields=["title", "titled_by"])
    people.notify_lists(session)


@transaction.atomic
def end(session: ChatSession, reason: str, *, follower: ChatSession | None = None) -> ChatSession | None:
    """End the conversation, which stays readable; a temporary one is deleted.

    `reason` is one of `chat.signals.sessions_ended`; archive also takes it out of the list. If it is the current one of
    a route, return the conversation with which the route goes on: `follower`, or a new one.
    """
    if session.is_temporary:
        delete(session, by=session.owner)
        return None
    followed = follow(session, follower)
    now = timezone.now()
    ended = {"ended_at": now, "archived_at": now} if reason == "archive" else {"ended_at": now}
    ChatSession.objects.filter(pk=session.pk).update(**ended)
    people.notify_lists(session)
    sessions_ended.send_robust(ChatSession, sessions=[session], reason=reason)
    return followed


def follow(session: ChatSession, follower: ChatSession | None = None) -> ChatSession | None:
    """Point the route of which `session` is the current conversation at `follower`, or at a new one, and return that.

    Return None when it is the current conversation of no route. Call inside a transaction.
    """
    if session.route_id is None:
        return None
    # The session before the route, the lock order of all writers.
    ChatSession.objects.select_for_update(no_key=True).get(pk=session.pk)
    route = SessionRoute.objects.select_for_update(no_key=True).filter(session=session).first()
    if route is None:
        return None
    if follower is None:
        follower = successor(session)
        follower.save(force_insert=True)
    else:
        follower.route = route
        follower.save(update_fields=["route"])
    # A follower with a message was begun by its owner just now.
    written_at = clock.database_now() if follower.last_seq else None
    SessionRoute.objects.filter(pk=route.pk).update(
        session=follower, started_at=written_at, last_person_at=written_at, check_at=written_at
    )
    return follower


def successor(session: ChatSession, session_id: uuid.UUID | None = None) -> ChatSession:
    """Return a new empty conversation like `session`, which is not stored."""
    new_id = session_id or uuid.uuid4()
    return ChatSession(
        pk=new_id,
        key=conversation_key(session.agent.slug, session.owner_id, new_id),
        owner_id=session.owner_id,
        agent=session.agent,
        mode=session.mode,
        model=session.model,
        effort=session.effort,
        space_id=session.space_id,
        memory=session.memory,
        folder_id=session.folder_id,
        route_id=session.route_id,
    )


@transaction.atomic
def delete(session: ChatSession, *, by: User | None = None, by_age: bool = False) -> None:
    """Mark the conversation as deleted, with its sub-sessions, and ask its turn to stop. Messages not flushed yet are
    not remembered. `by` is who deletes it, its owner or one of its space; without, who has sent the request. `by_age`:
    a rule of retention does it."""
    follow(session)
    ChatSession.objects.filter(pk=session.pk).update(deleted_at=clock.database_now())
    cause: dict[str, Any] = {"by": "age"} if by_age else {}
    record(AuditKind.DELETED, actor=by, person=session.owner, of="conversation", session=str(session.pk), **cause)
    session.turns.filter(status=Turn.Status.RUNNING).update(stop_requested=True)
    pubsub.notify(f"session:{session.pk}", {"kind": "deleted", "owner": session.owner_id})
    people.notify_lists(session)
    if session.is_temporary:
        temporary.erase(session.pk)
    for below in ChatSession.objects.filter(sub_task__parent=session, deleted_at=None).select_related("owner"):
        delete(below, by=by, by_age=by_age)
    transaction.on_commit(lambda: session_deleted.send_robust(ChatSession, user=session.owner, session=session))


def restore(sessions: ChatSessionQuerySet) -> int:
    """Bring deleted conversations back, with their sub-sessions; return how many. Temporary ones have no content."""
    found = sessions.exclude(mode=ChatSession.Mode.TEMPORARY).exclude(deleted_at=None)
    ids = list(found.values_list("pk", flat=True))
    count = ChatSession.objects.filter(pk__in=ids).update(deleted_at=None)
    if below := ChatSession.objects.filter(sub_task__parent__in=ids):
        restore(below)
    return count
