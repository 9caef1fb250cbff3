"""What a person changes in their schedules: the heartbeat, tasks, and a beat at once."""

import datetime as dt
import uuid
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from django.conf import settings
from django.db import transaction
from django.utils.translation import gettext as _

from chat.models import Agent, Beat, ChatSession, Schedule
from chat.schedules import due
from chat.schedules.grants import grantable_tools
from chat.schedules.planning import next_time
from oneclaw.audit import holds
from oneclaw.jobs import OPEN_STATUSES
from oneclaw.models import User, clock
from oneclaw.text import InvalidTextError, validated_text

# Tasks of one person that are not deleted, and of these the ones that a model proposed and that wait for an answer.
MAX_TASKS, MAX_PROPOSALS = 50, 10
WEEK_DAYS = 7
# How far ahead a task that runs once may be.
ONCE_MAX_AHEAD = dt.timedelta(days=3660)


@dataclass(frozen=True)
class TaskDraft:
    """The checked fields of a task."""

    text: str
    repeat: str
    at: dt.time
    days: Sequence[int] = ()
    month_day: int | None = None
    on: dt.date | None = None

    @property
    def kind(self) -> str:
        return Schedule.Kind.TASK if self.on is None else Schedule.Kind.ONCE

    def fill(self, schedule: Schedule) -> Schedule:
        """Set the fields of `schedule`, and return it."""
        schedule.kind, schedule.text, schedule.repeat, schedule.at = self.kind, self.text, self.repeat, self.at
        schedule.days, schedule.month_day, schedule.on = list(self.days), self.month_day, self.on
        return schedule


def checked_task(text: object, repeat: object, at: object, days: Collection[str], day: object, on: object) -> TaskDraft:
    """Return the fields of a task from the texts of a form: `repeat` is daily, weekly, monthly or once, `at` HH:MM,
    `days` numbers of weekdays, `day` one of a month, `on` a date. Raise InvalidTextError when one is invalid."""
    said = validated_text(text, max_chars=Schedule.TEXT_MAX_CHARS, name=_("The task")).strip()
    try:
        time = dt.time.fromisoformat(str(at)).replace(second=0, microsecond=0, tzinfo=None)
    except ValueError:
        raise InvalidTextError("bad_time", _("Choose a time, such as 08:00.")) from None
    match repeat:
        case "daily":
            return TaskDraft(said, "daily", time)
        case "weekly":
            chosen = sorted({int(each) for each in days if is_number(each) and int(each) < WEEK_DAYS})
            if not chosen:
                raise InvalidTextError("no_day", _("Choose at least one day of the week."))
            return TaskDraft(said, "weekly", time, chosen)
        case "monthly":
            if not (is_number(day) and due.is_month_day(int(str(day)))):
                raise InvalidTextError("bad_day", _("Choose a day of the month from 1 to 31."))
            return TaskDraft(said, "monthly", time, month_day=int(str(day)))
        case "once":
            try:
                date = dt.date.fromisoformat(str(on))
            except ValueError:
                raise InvalidTextError("bad_date", _("Choose a date.")) from None
            if date > clock.read_database_time().date() + ONCE_MAX_AHEAD:
                raise InvalidTextError("bad_date", _("Choose a date."))
            return TaskDraft(said, "", time, on=date)
    raise InvalidTextError("bad_repeat", _("Choose how often the task is repeated."))


def is_number(value: object) -> bool:
    """Return whether `value` is written as a whole number of at most four digits."""
    return str(value).isdecimal() and len(str(value)) <= 4


@transaction.atomic
def save_task(user: User, draft: TaskDraft, options: "Options", schedule: Schedule | None = None) -> Schedule:
    """Save a task that the person has written, which is on from now; `schedule` is the one to change.

    Raise InvalidTextError when its time has passed, or when the person has too many tasks.
    """
    # Locked, so that two requests at once do not make one too many.
    User.objects.select_for_update(no_key=True).get(pk=user.pk)
    if schedule is None and Schedule.objects.visible_to(user).tasks().confirmed().count() >= MAX_TASKS:
        raise InvalidTextError("too_many", _("You have reached the maximum number of tasks. Delete one first."))
    if schedule is not None:
        reload_locked(schedule)
    task = draft.fill(schedule or Schedule(owner=user))
    task.confirmed_at = task.confirmed_at or clock.read_database_time()
    options.fill(task)
    _switch_on(task)
    task.save()
    return task


@dataclass(frozen=True)
class Options:
    """What a person chooses for a schedule besides its times: who carries it out, with which writing tools, and the
    conversation in which it tells (None: that of the heartbeat)."""

    agent: Agent | None = None
    tools: Sequence[str] = ()
    conversation: ChatSession | None = None

    def fill(self, schedule: Schedule) -> None:
        """Set the fields of `schedule`."""
        schedule.agent, schedule.tools = self.agent, list(self.tools)
        schedule.conversation = self.conversation or (schedule.conversation if schedule.is_heartbeat else None)


def checked_options(user: User, form: Mapping[str, str], tools: Collection[str]) -> Options:
    """Return the options of a form, without what the person may not choose."""
    agent = Agent.objects.visible_to(user).filter(slug=form.get("agent") or "").first()
    try:
        chosen = uuid.UUID(form.get("conversation", ""))
    except ValueError:
        conversation = None
    else:
        conversation = ChatSession.objects.private_to(user).written().filter(pk=chosen).first()
    return Options(agent, [name for name in grantable_tools() if name in tools], conversation)


@transaction.atomic
def change_heartbeat(schedule: Schedule, enabled: bool, every: object, first: object, until: object) -> None:
    """Set whether the heartbeat is on, its minutes and its hours. Raise InvalidTextError when one is invalid."""
    least, most = due.EVERY_MIN_MINUTES, due.EVERY_MAX_MINUTES
    if not (is_number(every) and least <= int(str(every)) <= most):
        sentence = _("Choose between %(least)s and %(most)s minutes.") % {"least": least, "most": most}
        raise InvalidTextError("bad_minutes", sentence)
    try:
        times = [dt.time.fromisoformat(str(each)).replace(second=0, microsecond=0) for each in (first, until)]
    except ValueError:
        raise InvalidTextError("bad_time", _("Choose a time, such as 08:00.")) from None
    reload_locked(schedule)
    schedule.every_minutes, schedule.from_time, schedule.until_time = int(str(every)), *times
    schedule.quiet_hash = ""
    _switch_on(schedule) if enabled else _switch_off(schedule)
    schedule.save()


@transaction.atomic
def set_enabled(schedule: Schedule, enabled: bool) -> None:
    """Switch a schedule on or off. Raise InvalidTextError when the time of a task has passed."""
    reload_locked(schedule)
    _switch_on(schedule) if enabled else _switch_off(schedule)
    schedule.save()


def reload_locked(schedule: Schedule) -> None:
    """Lock the row of `schedule` and read it anew: a worker plans its beats meanwhile. Call inside a transaction."""
    schedule.refresh_from_db(from_queryset=Schedule.objects.select_for_update(no_key=True))


def _switch_on(schedule: Schedule) -> None:
    schedule.next_at = next_time(schedule, clock.read_database_time())
    if schedule.next_at is None:
        raise InvalidTextError("past", _("This time has passed. Choose a later one."))
    schedule.enabled, schedule.failures, schedule.stopped_at = True, 0, None


def _switch_off(schedule: Schedule) -> None:
    schedule.enabled, schedule.next_at = False, None


@transaction.atomic
def run_now(schedule: Schedule) -> Beat:
    """Return a beat of `schedule` that is due now: the one that waits or runs already, or a new one."""
    locked = Schedule.objects.select_for_update(no_key=True).get(pk=schedule.pk)
    queued = Beat.objects.queued().filter(schedule=locked)
    queued.update(due_at=clock.database_now(), by_hand=True)
    open_beat = Beat.objects.filter(schedule=locked, status__in=OPEN_STATUSES).first()
    if open_beat is not None:
        return open_beat
    now = clock.read_database_time()
    return Beat.objects.create(owner_id=locked.owner_id, schedule=locked, planned_at=now, by_hand=True)


@transaction.atomic
def delete(schedule: Schedule) -> None:
    """Delete a task with all that is known of its beats. Its messages stay in their conversation.

    Raise oneclaw.audit.holds.HeldError when a legal hold keeps it.
    """
    holds.refuse_if_held(people=[schedule.owner])
    hidden = ChatSession.objects.filter(owner=schedule.owner_id, kind=ChatSession.Kind.BEAT)
    hidden = hidden.filter(turns__in=schedule.beats.exclude(turn=None).values("turn"))
    ids = list(hidden.values_list("pk", flat=True))
    schedule.delete()
    ChatSession.objects.filter(pk__in=ids).delete()


@transaction.atomic
def answer_proposal(user: User, schedule_id: int, accepted: bool) -> Schedule:
    """Do what the person answers to a task that a model proposed; the same answer again changes nothing.

    Raise Schedule.DoesNotExist when it is not theirs, and InvalidTextError when its time has passed.
    """
    schedule = Schedule.objects.visible_to(user).tasks().select_for_update(no_key=True).get(pk=schedule_id)
    if not schedule.is_proposed:
        return schedule
    now = clock.read_database_time()
    if not accepted:
        schedule.declined_at = now
    elif Schedule.objects.visible_to(user).tasks().confirmed().count() >= MAX_TASKS:
        raise InvalidTextError("too_many", _("You have reached the maximum number of tasks. Delete one first."))
    else:
        schedule.confirmed_at = now
        _switch_on(schedule)
    schedule.save()
    return schedule


def is_offered() -> bool:
    """Return whether this server has schedules."""
    return settings.HEARTBEAT.mode != "disabled"
