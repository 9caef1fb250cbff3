"""Daily and idle resets: end the conversation of a route, which goes on in a new one.

Whether one is due is decided when the next message of the route arrives, and by the sweep. Both lock the conversation
and then the route, and decide by what they read then, so a reset happens once however many processes try.
"""

import datetime as dt
import logging
import time
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from enum import Enum, auto

from django.conf import settings
from django.db import DatabaseError, connection, transaction

from chat.conversations import lifecycle
from chat.models import ChatSession, Reset, ResetChoice, ResetFields, SessionRoute
from chat.routes.reset_times import Cause, ResetDue, ResetRule, first_due
from oneclaw.models import User, clock
from oneclaw.tasks import only_rows

logger = logging.getLogger(__name__)

# The longest time until the sweep looks at a route again: its person may move to another timezone, and a server may be
# started with another setting.
CHECK_INTERVAL = dt.timedelta(hours=1)
CHECK_INTERVAL_WITHOUT_RESET = dt.timedelta(days=1)
# Until the sweep looks again at a conversation with a running turn.
RUNNING_INTERVAL = dt.timedelta(seconds=15)
# Routes that a sweep takes at once, and the seconds after which it leaves the rest to the next one.
BATCH_ROUTES = 200
SWEEP_SECONDS = 120.0
# Resets of one sweep whose tasks are sent at once; the sweep of memory finds those of the others. A queue of thousands
# of tasks would delay every other task.
HINTED_RESETS = 50


def rule_of(route: SessionRoute, choice: ResetFields | None) -> ResetRule:
    """Return the rule of `route`: its own values, else those of `choice`, its person's, else the server's."""
    reset, hour, minutes = settings.RESET, settings.RESET_HOUR, settings.RESET_MINUTES
    for level in (choice, route):
        if level is None:
            continue
        reset = level.reset or reset
        hour = hour if level.reset_hour is None else level.reset_hour
        minutes = minutes if level.reset_minutes is None else level.reset_minutes
    daily, idle = reset in (Reset.DAILY, Reset.BOTH), reset in (Reset.IDLE, Reset.BOTH)
    return ResetRule(daily, idle, hour, minutes)


def next_reset(route: SessionRoute, rule: ResetRule, owner: User) -> ResetDue | None:
    """Return the next reset of the conversation of `route`; None when there is none, as in an empty one."""
    if route.started_at is None or route.last_person_at is None:
        return None
    return first_due(rule, owner.zone, route.started_at, route.last_person_at)


def sweep() -> int:
    """Reset the conversations of routes for which that is due; return how many. Several processes may do so at once."""
    with without_waiting_for_disk():
        return sweep_until(time.monotonic() + SWEEP_SECONDS)


@contextmanager
def without_waiting_for_disk() -> Iterator[None]:
    """Let commits of this thread not wait for the disk in this block.

    What a crash of the database then loses is the newest resets, which are due again, or the requests that
    followed one, which the sweep of memory makes up for.
    """
    with connection.cursor() as cursor:
        cursor.execute("SET synchronous_commit = off")
    try:
        yield
    finally:
        with connection.cursor() as cursor:
            cursor.execute("RESET synchronous_commit")


def sweep_until(until: float) -> int:
    """Reset what is due until none is left, or `until` by time.monotonic(); return how many."""
    count, left_out = 0, set[int]()
    while time.monotonic() < until:
        due = SessionRoute.objects.to_check().exclude(pk__in=left_out)
        ids = list(due.values_list("pk", flat=True)[:BATCH_ROUTES])
        if not ids:
            break
        for route_id in ids:
            with only_rows() if count >= HINTED_RESETS else nullcontext():
                outcome = checked_or_logged(route_id)
            count += outcome is Checked.RESET
            if outcome is Checked.LOCKED:
                left_out.add(route_id)
    return count


class Checked(Enum):
    """What became of a route that the sweep looked at."""

    RESET = auto()
    # Not due yet, or done by another process.
    KEPT = auto()
    # Another process writes its conversation, or the row is faulty: the next sweep looks again.
    LOCKED = auto()


def checked_or_logged(route_id: int) -> Checked:
    """Check one route. An error of the database is logged and does not stop the sweep."""
    try:
        return check(route_id)
    except DatabaseError:
        logger.exception("Route %s could not be checked; the next sweep tries again.", route_id)
        return Checked.LOCKED


@transaction.atomic
def check(route_id: int) -> Checked:
    """Reset the conversation of the route `route_id` if that is due, else store when to look again."""
    sessions = ChatSession.objects.filter(current_of=route_id).select_related("owner", "agent")
    session = sessions.select_for_update(no_key=True, skip_locked=True, of=("self",)).first()
    route = locked_route(session) if session else None
    if session is None:
        SessionRoute.objects.filter(pk=route_id, session=None).update(check_at=None)
    if session is None or route is None or route.pk != route_id:
        return Checked.LOCKED
    now = locked_at(route)
    if route.check_at is None or route.check_at > now:
        return Checked.KEPT
    due = next_reset(route, rule_of(route, choice_of(session.owner)), session.owner)
    if due is None:
        look_at = now + CHECK_INTERVAL_WITHOUT_RESET
    elif due.at > now:
        look_at = min(due.at, now + CHECK_INTERVAL)
    elif session.turns.running().exists():
        look_at = now + RUNNING_INTERVAL
    else:
        lifecycle.end(session, due.cause)
        return Checked.RESET
    SessionRoute.objects.filter(pk=route.pk).update(check_at=look_at)
    return Checked.KEPT


def due_cause(session: ChatSession, route: SessionRoute) -> Cause | None:
    """Return why the current conversation `session` of the locked `route` is to be reset now; None when it is not."""
    due = next_reset(route, rule_of(route, choice_of(session.owner)), session.owner)
    return due.cause if due and due.at <= locked_at(route) else None


def locked_route(session: ChatSession) -> SessionRoute | None:
    """Lock and return the route of which the locked `session` is the current conversation; None when there is none."""
    routes = SessionRoute.objects.filter(session=session).select_for_update(no_key=True)
    return routes.annotate(now=clock.database_now()).first()


def locked_at(route: SessionRoute) -> dt.datetime:
    """Return the database's time at which `locked_route` has read `route`."""
    moment: dt.datetime = vars(route)["now"]
    return moment


def choice_of(owner: User) -> ResetChoice | None:
    """Return what the person chose for all of their routes; None when they chose nothing."""
    return ResetChoice.objects.filter(owner=owner).first()
