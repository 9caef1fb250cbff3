"""Plan beats: make one row for each time at which a schedule is due, and compute the next time.

A time is planned by one transaction that moves `Schedule.next_at` on, whichever worker comes first. Times that were
not planned because the server was down, or because the beat before them was not finished, collapse into one.
"""

import datetime as dt
import logging

from django.conf import settings
from django.db import Error, transaction
from django.db.models import Exists, OuterRef

from chat.models import Beat, Schedule
from chat.schedules import due
from chat.schedules.due import HeartbeatTimes, TaskTimes
from oneclaw.jobs import OPEN_STATUSES
from oneclaw.models import User, clock

logger = logging.getLogger(__name__)

# Limit of one sweep; the next one continues.
SWEEP_MAX_ROWS = 500


def sweep() -> None:
    """Plan every beat that is due."""
    if settings.HEARTBEAT.mode == "disabled":
        return
    if settings.HEARTBEAT.mode == "on":
        switch_on_by_default()
    for schedule_id in list(Schedule.objects.in_another_zone().values_list("pk", flat=True)[:SWEEP_MAX_ROWS]):
        try:
            move_to_zone(schedule_id)
        except (Error, OverflowError):
            # A faulty row must not keep the other schedules from their times.
            logger.exception("Schedule %s could not be moved to its timezone.", schedule_id)
    for schedule_id in list(Schedule.objects.due().values_list("pk", flat=True)[:SWEEP_MAX_ROWS]):
        try:
            plan(schedule_id)
        except (Error, OverflowError):
            # A faulty row must not keep the other schedules from their times.
            logger.exception("Schedule %s could not be planned; the next sweep tries again.", schedule_id)


@transaction.atomic
def plan(schedule_id: int) -> Beat | None:
    """Make the beat of the time at which the schedule is due, and set its next time; None when there is none to make.

    The times since then that have passed are not made up for.
    """
    schedule = Schedule.objects.due().select_for_update(of=("self",), no_key=True).filter(pk=schedule_id).first()
    if schedule is None or schedule.next_at is None:
        return None
    now, planned_at = clock.read_database_time(), schedule.next_at
    schedule.next_at = next_time(schedule, now)
    schedule.save(update_fields=["next_at", "zone"])
    has_open = schedule.beats.filter(status__in=OPEN_STATUSES).exists()
    if has_open or (schedule.is_heartbeat and not due.is_within(heartbeat_times(schedule), now, schedule.owner.zone)):
        return None
    found = {"schedule": schedule, "planned_at": planned_at}
    beat, is_new = Beat.objects.get_or_create(**found, defaults={"owner_id": schedule.owner_id})
    return beat if is_new else None


@transaction.atomic
def move_to_zone(schedule_id: int) -> None:
    """Compute the next time of a schedule again, because its owner has changed their timezone."""
    moved = Schedule.objects.in_another_zone().select_for_update(of=("self",), no_key=True)
    schedule = moved.filter(pk=schedule_id).first()
    if schedule is not None:
        schedule.next_at = next_time(schedule, clock.read_database_time())
        schedule.save(update_fields=["next_at", "zone"])


def switch_on_by_default() -> None:
    """Make the heartbeat of each person who has none yet, because the server's default is on."""
    own = Schedule.objects.filter(owner=OuterRef("pk"), kind=Schedule.Kind.HEARTBEAT)
    for user in User.objects.filter(~Exists(own), is_active=True)[:SWEEP_MAX_ROWS]:
        heartbeat_of(user)


def heartbeat_of(user: User) -> Schedule:
    """Return the heartbeat of `user`, which is made on first use, off or on as the server's default is."""
    found = Schedule.objects.filter(owner=user, kind=Schedule.Kind.HEARTBEAT).first()
    if found is not None:
        return found
    first, until = settings.HEARTBEAT.hours
    now = clock.read_database_time()
    made = Schedule(
        owner=user,
        kind=Schedule.Kind.HEARTBEAT,
        every_minutes=settings.HEARTBEAT.every_minutes,
        from_time=dt.time(first),
        until_time=dt.time(until % 24),
        enabled=settings.HEARTBEAT.mode == "on",
        confirmed_at=now,
    )
    if made.enabled:
        made.next_at = next_time(made, now)
    # Another process may make it at the same moment.
    Schedule.objects.bulk_create([made], ignore_conflicts=True)
    return Schedule.objects.get(owner=user, kind=Schedule.Kind.HEARTBEAT)


def next_time(schedule: Schedule, after: dt.datetime) -> dt.datetime | None:
    """Return the first time of `schedule` later than `after`, None when there is none; set its `zone`."""
    owner = schedule.owner
    schedule.zone = owner.timezone
    if schedule.is_heartbeat:
        return due.next_heartbeat(heartbeat_times(schedule), after, owner.zone)
    return due.next_task(task_times(schedule), after, owner.zone)


def heartbeat_times(schedule: Schedule) -> HeartbeatTimes:
    """Return the local times of a heartbeat."""
    return HeartbeatTimes(schedule.every_minutes, schedule.from_time, schedule.until_time)


def task_times(schedule: Schedule) -> TaskTimes:
    """Return the local times of a task."""
    return TaskTimes(schedule.repeat, schedule.at or due.MIDNIGHT, schedule.days, schedule.month_day, schedule.on)
