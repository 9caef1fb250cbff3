"""Define schedules and their beats: what the agent does by itself at times, and each time that it was due."""

import datetime as dt
from typing import Any, ClassVar, Self

from django.conf import settings
from django.db import models
from django.db.models import F, Q
from django.db.models.functions import Now

from chat.models.agents import Agent
from chat.models.conversations import ChatSession, Message
from chat.models.turns import Turn
from oneclaw.jobs import OPEN_STATUSES, Job, JobQuerySet
from oneclaw.models import User, clock
from oneclaw.reasons import ReasonField


class ScheduleQuerySet(models.QuerySet["Schedule"]):
    def visible_to(self, user: User) -> Self:
        return self.filter(owner=user)

    def tasks(self) -> Self:
        """Return the tasks at times, without the heartbeat."""
        return self.exclude(kind=Schedule.Kind.HEARTBEAT)

    def confirmed(self) -> Self:
        """Return the schedules that their owner has made or confirmed."""
        return self.exclude(confirmed_at=None)

    def proposed(self) -> Self:
        """Return the tasks that a model proposed and that wait for their owner's answer."""
        return self.filter(confirmed_at=None, declined_at=None)

    def running(self) -> Self:
        """Return the schedules that are switched on."""
        return self.confirmed().filter(enabled=True, owner__is_active=True)

    def due(self) -> Self:
        """Return the schedules whose next time has come, the longest due first."""
        return self.running().filter(next_at__lte=clock.database_now()).order_by("next_at")

    def in_another_zone(self) -> Self:
        """Return the schedules whose next time was computed for a timezone in which their owner is no longer."""
        return self.running().exclude(next_at=None).exclude(zone=F("owner__timezone"))


class Schedule(models.Model):
    """What the agent does by itself for a person: the heartbeat, or a task at times. Nothing runs unless it is on."""

    class Kind(models.TextChoices):
        HEARTBEAT = "heartbeat", "looks through HEARTBEAT.md again and again"
        TASK = "task", "a task at times"
        ONCE = "once", "a task at one time"

    class Repeat(models.TextChoices):
        DAILY = "daily"
        WEEKLY = "weekly"
        MONTHLY = "monthly"

    TEXT_MAX_CHARS: ClassVar[int] = 2_000

    owner = models.ForeignKey(User, on_delete=models.CASCADE, related_name="schedules", db_index=False)
    kind = models.CharField(max_length=10, choices=Kind)
    # None: the default agent.
    agent = models.ForeignKey(Agent, on_delete=models.SET_NULL, null=True, blank=True, related_name="+")
    # What a task asks for, in the person's words or in words that they have confirmed.
    text = models.TextField(blank=True)
    # Of a heartbeat: the minutes from one to the next, and the local times from when until when they come.
    every_minutes = models.PositiveSmallIntegerField(default=30)
    from_time = models.TimeField(default=dt.time(8))
    until_time = models.TimeField(default=dt.time(22))
    # Of a task: when it is due, in local time. `days` are the weekdays of a weekly one, Monday is 0; `on` is the date
    # of a task at one time.
    repeat = models.CharField(max_length=10, choices=Repeat, blank=True)
    at = models.TimeField(null=True, blank=True)
    days = models.JSONField(default=list, blank=True)
    month_day = models.PositiveSmallIntegerField(null=True, blank=True)
    on = models.DateField(null=True, blank=True)
    # When the next beat is due, None while it is off; and the timezone that this was computed for.
    next_at = models.DateTimeField(null=True, blank=True)
    zone = models.CharField(max_length=64, blank=True)
    enabled = models.BooleanField(default=False)
    # The names of the writing tools that the person grants its beats; reading ones need no grant.
    tools = models.JSONField(default=list, blank=True)
    # The conversation in which it tells something. None: the one of the person's heartbeat, or a new one.
    conversation = models.ForeignKey(ChatSession, on_delete=models.SET_NULL, null=True, blank=True, related_name="+")
    # Identifies all that the last quiet heartbeat was asked about (chat/schedules/news.py).
    quiet_hash = models.CharField(max_length=32, blank=True)
    # Failures of the model, one after another; and whether they have switched it off.
    failures = models.PositiveSmallIntegerField(default=0)
    stopped_at = models.DateTimeField(null=True, blank=True)
    # When its owner made or confirmed it, and when they said no. Neither: a model proposed it.
    confirmed_at = models.DateTimeField(null=True, blank=True)
    declined_at = models.DateTimeField(null=True, blank=True)
    # The call that proposed it, so that a repeated one proposes nothing else.
    proposal_key = models.CharField(max_length=200, null=True, blank=True)
    created_at = models.DateTimeField(db_default=Now(), editable=False)

    objects: ClassVar[models.Manager["Schedule"]] = ScheduleQuerySet.as_manager()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["owner"], condition=Q(kind="heartbeat"), name="one_heartbeat_of_a_person"),
            models.UniqueConstraint(fields=["owner", "proposal_key"], name="one_task_of_a_call"),
            # The target of the composite foreign key of beats.
            models.UniqueConstraint(fields=["owner", "id"], name="schedule_of_owner"),
        ]
        indexes = [models.Index(fields=["next_at"], condition=Q(enabled=True), name="schedules_due")]

    def __str__(self) -> str:
        # Without its text, which is private: the admin shows this text.
        return f"{self.kind} {self.pk}"

    @property
    def is_heartbeat(self) -> bool:
        return self.kind == self.Kind.HEARTBEAT

    @property
    def is_proposed(self) -> bool:
        """Return whether a model proposed it and its owner has not answered yet."""
        return self.confirmed_at is None and self.declined_at is None


class BeatQuerySet(JobQuerySet["Beat"]):
    def asked_since(self, user: User, moment: dt.datetime) -> Self:
        """Return the beats of `user` for which a model was asked since `moment`."""
        return self.filter(owner=user, asked_at__gte=moment)

    def listed(self) -> Self:
        """Return the finished beats, newest first."""
        return self.exclude(status__in=OPEN_STATUSES).order_by("-finished_at", "-pk")

    def to_send(self) -> list[int]:
        """Return the ids of the beats that a sweep sends to the workers: none where schedules are switched off."""
        return [] if settings.HEARTBEAT.mode == "disabled" else super().to_send()


class Beat(Job):
    """One time at which a schedule was due, and what came of it.

    The row is made once for each time and is retried itself, so that no time is carried out twice. `Job.due_at` is when
    a worker may claim it next, `planned_at` is the time of the schedule.
    """

    class Outcome(models.TextChoices):
        SENT = "sent", "it sent the person a message"
        QUIET = "quiet", "the model had nothing to tell"
        SKIPPED = "skipped", "no model was asked"
        FAILED = "failed", "the model could not be asked, or the server stopped"

    NOTE_MAX_CHARS: ClassVar[int] = 300
    # As that of an answer, so that both are lost together.
    LEASE_SECONDS: ClassVar[float] = settings.LEASES.answer_seconds
    TASK: ClassVar[str] = "chat.tasks.run_beat"
    SWEEP_MAX_COUNT: ClassVar[int] = 500

    schedule = models.ForeignKey(Schedule, on_delete=models.CASCADE, related_name="beats", db_index=False)
    planned_at = models.DateTimeField()
    # Whether the person asked for it (“Run now”).
    by_hand = models.BooleanField(default=False)
    # How often it waited for a turn of the person.
    waits = models.PositiveSmallIntegerField(default=0)
    # When a model was asked first, and the hidden turn in which it was asked last.
    asked_at = models.DateTimeField(null=True, blank=True)
    turn = models.ForeignKey(Turn, on_delete=models.SET_NULL, null=True, blank=True, related_name="+")
    # Whether a tool that writes has begun: what was written is not written again after a crash.
    has_written = models.BooleanField(default=False)
    outcome = models.CharField(max_length=10, choices=Outcome, blank=True)
    # Why the person was sent nothing.
    reason = ReasonField()
    # What it tells, kept until it stands in the conversation; the message there; and what it notes for later beats.
    text = models.TextField(blank=True)
    message = models.ForeignKey(Message, on_delete=models.SET_NULL, null=True, blank=True, related_name="+")
    note = models.CharField(max_length=NOTE_MAX_CHARS, blank=True)
    # All tokens of its requests, and for each request [model, the API's token counts].
    tokens = models.PositiveIntegerField(default=0)
    usage = models.JSONField(default=list, blank=True)

    objects: ClassVar[models.Manager[Any]] = BeatQuerySet.as_manager()

    class Meta(Job.Meta):
        constraints = [
            models.UniqueConstraint(fields=["schedule", "planned_at"], name="one_beat_per_time"),
            models.UniqueConstraint(
                fields=["schedule"], condition=Q(status__in=OPEN_STATUSES), name="one_open_beat_of_a_schedule"
            ),
        ]
        indexes = [
            *Job.Meta.indexes,
            models.Index(fields=["owner", "asked_at"], condition=Q(asked_at__isnull=False), name="beats_asked"),
            models.Index(fields=["finished_at"], name="beats_finished"),
        ]

    def __str__(self) -> str:
        return f"beat {self.pk} of schedule {self.schedule_id}: {self.status}"

    def renew(self, **changes: object) -> None:
        """Renew the lease, and that of the hidden turn, and write `changes`. Raise ClaimLostError."""
        super().renew(**changes)
        if self.turn_id:
            Turn.objects.running().filter(pk=self.turn_id).update(lease_until=self.lease())
