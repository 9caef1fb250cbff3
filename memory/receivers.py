"""Connect signals to memory: events of a conversation enqueue its notes and its index, and a written document updates
its index and its file."""

from collections.abc import Sequence
from typing import Any

from django.db.models.signals import post_save
from django.dispatch import Signal, receiver

from chat.models import Agent, ChatSession
from chat.signals import (
    branch_shown,
    day_changed,
    session_deleted,
    session_handed_over,
    session_imported,
    session_shared,
    session_switched,
    sessions_ended,
    turn_finished,
    user_left,
)
from memory import projections
from memory.access.rights import rename_agent_spaces
from memory.documents import told
from memory.leaving import begin_anew
from memory.notes.flush import cover_imported
from memory.overview.entries import compile_soon
from memory.signals import documents_written
from memory.tasks import (
    ask_reviews_soon,
    flush_after_turn,
    flush_soon,
    forget_transcript,
    index_after_turn,
    index_branch,
    move_transcript,
    remember_soon,
)
from oneclaw.models import User

# The signals that request a flush of the session, and the reason that is stored with it.
FLUSH_REASONS = {session_switched: "switched", day_changed: "day_changed", user_left: "left"}

# The ends of a conversation after which the person goes on in a new one.
BEGUN_ANEW = ("new", "reset", "daily", "idle")


@receiver(list(FLUSH_REASONS))
def when_left(signal: Signal, session: ChatSession | None, **_: Any) -> None:
    flush_soon(session, FLUSH_REASONS[signal])


@receiver(day_changed)
def when_new_day(user: User, **_: Any) -> None:
    ask_reviews_soon(user)


@receiver(sessions_ended)
def when_ended(sessions: Sequence[ChatSession], reason: str, **_: Any) -> None:
    remember_soon(sessions, "ended", with_last_messages=reason in BEGUN_ANEW)


@receiver(turn_finished)
def when_answered(session: ChatSession, **_: Any) -> None:
    index_after_turn(session)


@receiver(turn_finished)
def when_turn_ended(session: ChatSession, **_: Any) -> None:
    flush_after_turn(session)


@receiver(post_save, sender=Agent)
def when_agent_changed(instance: Agent, **_: Any) -> None:
    rename_agent_spaces(instance)


@receiver(session_deleted)
def when_deleted(session: ChatSession, **_: Any) -> None:
    forget_transcript(session)


@receiver(session_imported)
def when_imported(session: ChatSession, after_seq: int, **_: Any) -> None:
    cover_imported(session, after_seq)


@receiver(session_handed_over)
def when_handed_over(session: ChatSession, **_: Any) -> None:
    begin_anew(session)


@receiver(session_shared)
def when_shared(session: ChatSession, **_: Any) -> None:
    move_transcript(session)


@receiver(branch_shown)
def when_branch_shown(session: ChatSession, **_: Any) -> None:
    index_branch(session)


@receiver(documents_written)
def when_written(document_ids: Sequence[int], **_: Any) -> None:
    projections.update(document_ids)


@receiver(documents_written)
def when_curated_memory_is_written(document_ids: Sequence[int], **_: Any) -> None:
    compile_soon(document_ids)


@receiver(documents_written)
def when_instructions_are_written(document_ids: Sequence[int], **_: Any) -> None:
    told.tell_members(document_ids)
