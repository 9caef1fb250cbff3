"""Daily and idle resets: end the conversation of a route, which goes on in a new one.

Whether one is due is decided when the next message of the route arrives, and by the sweep. Both lock the conversation
and then the route, and decide by what they read then, so a reset happens once however many processes try.
"""

import datetime as dt
import logging
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass

from django.conf import settings
from django.db import DatabaseError, connection, transaction
from django.db.models import QuerySet

from chat.models import ChatSession, Reset, ResetChoice, ResetFields, SessionRoute, Turn
from chat.routes.renewal import DueRoute, renew
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
# Routes that a sweep takes in one transaction, and the seconds after which it leaves the rest to the next one.
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
        is_many = count >= HINTED_RESETS
        ids = list(due.values_list("pk", flat=True)[: BATCH_ROUTES if is_many else HINTED_RESETS])
        if not ids:
            break
        with only_rows() if is_many else nullcontext():
            checked = checked_or_logged(ids)
        count += checked.reset_count
        left_out |= checked.left_out
    return count


@dataclass(frozen=True)
class Checked:
    """What became of routes that the sweep looked at: how many were reset, and which ones are left to the next sweep
    because another process writes their conversation, or because the row is faulty."""

    reset_count: int
    left_out: frozenset[int] = frozenset()


def checked_or_logged(route_ids: Sequence[int]) -> Checked:
    """Check these routes. An error of the database is logged and stops neither the sweep nor the other routes."""
    try:
        return check(route_ids)
    except DatabaseError:
        if len(route_ids) == 1:
            logger.exception("Route %s could not be checked; the next sweep tries again.", *route_ids)
            return Checked(0, frozenset(route_ids))
    alone = [checked_or_logged([route_id]) for route_id in route_ids]
    return Checked(sum(each.reset_count for each in alone), frozenset().union(*(each.left_out for each in alone)))


@dataclass(frozen=True)
class LockedRoute:
    """A route whose row is locked, and the database's time of that."""

    route: SessionRoute
    at: dt.datetime


@transaction.atomic
def check(route_ids: Sequence[int]) -> Checked:
    """Reset the conversations of these routes as far as that is due, and store for the others when to look again."""
    SessionRoute.objects.filter(pk__in=route_ids, session=None).update(check_at=None)
    current = ChatSession.objects.filter(current_of__in=route_ids).select_related("owner", "agent")
    # What another process has locked is left out: a wait for one of many rows could become a deadlock.
    present = current.select_for_update(no_key=True, skip_locked=True, of=("self",))
    sessions = {session.pk: session for session in present}
    routes = lock_routes(SessionRoute.objects.filter(pk__in=route_ids, session__in=sessions), skip_locked=True)
    choices = ResetChoice.objects.in_bulk({session.owner_id for session in sessions.values()})
    running = set(Turn.objects.running().filter(session__in=sessions).values_list("session", flat=True))
    due_now, to_look_at = [], []
    of_session = {each.route.session_id: each for each in routes}
    for session in sessions.values():
        locked = of_session.get(session.pk)
        if locked is None:
            continue
        route, now = locked.route, locked.at
        if route.check_at is None or route.check_at > now:
            # Another process has done it.
            continue
        due = next_reset(route, rule_of(route, choices.get(session.owner_id)), session.owner)
        if due is not None and due.at <= now and session.pk not in running:
            due_now.append(DueRoute(route, session, due.cause))
            continue
        if due is None:
            route.check_at = now + CHECK_INTERVAL_WITHOUT_RESET
        else:
            route.check_at = now + RUNNING_INTERVAL if due.at <= now else min(due.at, now + CHECK_INTERVAL)
        to_look_at.append(route)
    SessionRoute.objects.bulk_update(to_look_at, ["check_at"])
    renew(due_now)
    return Checked(len(due_now), frozenset(route_ids) - {each.route.pk for each in routes})


def due_cause(session: ChatSession, locked: LockedRoute) -> Cause | None:
    """Return why the current conversation `session` of a locked route is to be reset now; None when it is not."""
    due = next_reset(locked.route, rule_of(locked.route, choice_of(session.owner)), session.owner)
    return due.cause if due and due.at <= locked.at else None


def lock_route(session: ChatSession) -> LockedRoute | None:
    """Lock and return the route of which the locked `session` is the current conversation; None when there is none."""
    return next(iter(lock_routes(SessionRoute.objects.filter(session=session))), None)


def lock_routes(routes: "QuerySet[SessionRoute]", *, skip_locked: bool = False) -> list[LockedRoute]:
    """Lock and return `routes`."""
    found = routes.select_for_update(no_key=True, skip_locked=skip_locked).annotate(now=clock.database_now())
    return [LockedRoute(route, route.now) for route in found]


def choice_of(owner: User) -> ResetChoice | None:
    """Return what the person chose for all of their routes; None when they chose nothing."""
    return ResetChoice.objects.filter(owner=owner).first()
