"""The ends of sub-sessions: recorded when their turns end, requested by a person, and found by the sweep."""

from django.db.models import Exists, OuterRef

from chat.conversations.shared import stopping
from chat.models import ChatSession, SubTask, Turn
from chat.session_tools import relay, results
from oneclaw.models import User, clock

# How many rows one sweep ends at most.
SWEEP_MAX_COUNT = 200


def record_end_of(session: ChatSession) -> None:
    """Record how the sub-session ended, if its turn has ended."""
    for task in SubTask.objects.running().filter(session=session).select_related("session", "answer"):
        results.record_end(task)


def stop(user: User, task: SubTask) -> None:
    """Ask the sub-session to stop; what it has written stays."""
    stopping.request_stop(user, task.session_id, None)


def stop_children(session: ChatSession, turn: Turn) -> None:
    """Ask the sub-sessions to stop that `turn` began: its person has stopped it."""
    for task in SubTask.objects.running().filter(turn=turn):
        stop(session.owner, task)


def sweep() -> int:
    """End what no process will: record the ends of sub-sessions whose process has died, ask those to stop that are past
    their deadline, and offer left relayed messages to the web processes or give them up. Return how many ends were
    recorded."""
    running = SubTask.objects.running().select_related("session", "answer", "owner")
    has_turn = Exists(Turn.objects.running().filter(session=OuterRef("session")))
    ended = sum(results.record_end(task) for task in running.exclude(has_turn)[:SWEEP_MAX_COUNT])
    for task in running.filter(deadline__lt=clock.database_now())[:SWEEP_MAX_COUNT]:
        stop(task.owner, task)
    relay.give_up_overdue()
    relay.offer_left()
    return ended
