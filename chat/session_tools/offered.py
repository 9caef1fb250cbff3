"""Decide which tools of other conversations a conversation is offered."""

from django.conf import settings

from chat import extensions
from chat.models import ChatSession, SubTask

Kind = ChatSession.Kind


def may_read(session: ChatSession) -> bool:
    """Return whether the model of `session` may list and read other conversations."""
    return not session.is_temporary and _is_above(session) and extensions.memory().reads_conversations(session)


def may_send(session: ChatSession) -> bool:
    """Return whether the model of `session` may send messages to other conversations."""
    return session.kind != Kind.BEAT and may_read(session)


def may_spawn(session: ChatSession) -> bool:
    """Return whether the model of `session` may begin sub-sessions."""
    return not session.is_temporary and session.kind != Kind.BEAT and _is_above(session, settings.SPAWN_DEPTH)


def depth_of(session: ChatSession) -> int:
    """Return how deep `session` is below a person's conversation, which has the depth 0."""
    if session.kind != Kind.SUB_SESSION:
        return 0
    depth = SubTask.objects.filter(session=session).values_list("depth", flat=True).first()
    # One whose task was deleted begins nothing any more.
    return settings.SPAWN_DEPTH if depth is None else depth


def _is_above(session: ChatSession, depth: int | None = None) -> bool:
    """Return whether `session` is less than `depth` deep; None: a sub-session must be able to begin others."""
    if session.kind != Kind.SUB_SESSION:
        return depth is None or depth > 0
    # Most servers allow one level, which needs no query.
    return settings.SPAWN_DEPTH > 1 and depth_of(session) < settings.SPAWN_DEPTH
