"""Connect the ends of turns to sub-sessions."""

from typing import Any

from django.dispatch import receiver

from chat.models import ChatSession, Turn
from chat.session_tools import ends
from chat.signals import turn_finished


@receiver(turn_finished)
def when_ended(session: ChatSession, **_: Any) -> None:
    if session.kind == ChatSession.Kind.SUB_SESSION:
        ends.record_end_of(session)


@receiver(turn_finished)
def when_stopped(session: ChatSession, turn: Turn, **_: Any) -> None:
    if turn.status == Turn.Status.STOPPED:
        ends.stop_children(session, turn)
