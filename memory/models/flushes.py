"""What of conversations was noted, and what is to be done after it."""

import datetime as dt
from typing import ClassVar

from django.db import models
from django.db.models import F, Q
from django.utils import timezone

from chat.models import ChatSession
from memory.models.documents import MemoryRevision
from oneclaw.models import Space, User


class FlushQuerySet(models.QuerySet["Flush"]):
    def visible_to(self, user: User) -> "FlushQuerySet":
        return self.filter(owner=user)

    def finished(self) -> "FlushQuerySet":
        return self.filter(status__in=[Flush.Status.DONE, Flush.Status.NOTHING])

    def open(self) -> "FlushQuerySet":
        return self.filter(status__in=[Flush.Status.QUEUED, Flush.Status.RUNNING])

    def due(self, now: dt.datetime | None = None) -> "FlushQuerySet":
        """To be taken up by whoever comes first: queued and due, or claimed by somebody who has not come back."""
        now = now or timezone.now()
        waiting = Q(status=Flush.Status.QUEUED, due_at__lte=now)
        return self.filter(waiting | Q(status=Flush.Status.RUNNING, lease_until__lt=now)).order_by("due_at")


class Flush(models.Model):
    """Durable notes from one range of a session's messages, within one local day of its owner."""

    class Status(models.TextChoices):
        QUEUED = "queued"
        RUNNING = "running"
        DONE = "done"
        # The model found nothing worth keeping; the range counts as covered.
        NOTHING = "nothing"

    # Composite foreign keys (owner, session) and (owner, space) in the migration: the notes of one person's
    # conversation cannot go into the space of another.
    owner = models.ForeignKey(User, on_delete=models.CASCADE, related_name="+")
    session = models.ForeignKey(ChatSession, on_delete=models.CASCADE, related_name="flushes", db_index=False)
    space = models.ForeignKey(Space, on_delete=models.CASCADE, related_name="+")
    # Covers messages with after_seq < seq <= through_seq. Known once claimed.
    after_seq = models.PositiveBigIntegerField(null=True, blank=True)
    through_seq = models.PositiveBigIntegerField(null=True, blank=True)
    # The day of the owner whose log it writes.
    day = models.DateField(null=True, blank=True)
    status = models.CharField(max_length=10, choices=Status, default=Status.QUEUED)
    # Which trigger asked: switched, day_changed, ended, left, idle, imported, shell.
    reason = models.CharField(max_length=20)
    # The claim: whoever holds this token may finish; a later claim has another one.
    token = models.UUIDField(null=True, blank=True)
    lease_until = models.DateTimeField(null=True, blank=True)
    attempts = models.PositiveIntegerField(default=0)
    # Not before this moment: after a failure, later and later.
    due_at = models.DateTimeField(default=timezone.now)
    error = models.TextField(blank=True)
    # False: the model could not be had, and an extract of what was said stands in for its notes.
    summarised = models.BooleanField(default=True)
    revision = models.ForeignKey(MemoryRevision, on_delete=models.SET_NULL, null=True, blank=True, related_name="+")
    created_at = models.DateTimeField(auto_now_add=True)
    finished_at = models.DateTimeField(null=True, blank=True)

    objects: ClassVar[models.Manager["Flush"]] = FlushQuerySet.as_manager()

    class Meta:
        verbose_name_plural = "flushes"
        indexes = [
            models.Index(fields=["due_at"], condition=Q(status__in=["queued", "running"]), name="flushes_open"),
        ]
        constraints = [
            models.UniqueConstraint(fields=["session"], condition=Q(status="queued"), name="one_queued_flush"),
            models.UniqueConstraint(fields=["session"], condition=Q(status="running"), name="one_running_flush"),
            models.UniqueConstraint(fields=["session", "after_seq"], name="flush_ranges_start_once"),
            models.CheckConstraint(
                condition=Q(after_seq__isnull=True) | Q(through_seq__gt=F("after_seq")),
                name="flush_range_forward",
            ),
        ]

    def __str__(self) -> str:
        return f"flush of {self.session_id} ({self.after_seq}, {self.through_seq}]: {self.status}"


class ErrandQuerySet(models.QuerySet["Errand"]):
    def visible_to(self, user: User) -> "ErrandQuerySet":
        return self.filter(owner=user)

    def open(self) -> "ErrandQuerySet":
        return self.filter(finished_at=None)

    def due(self, now: dt.datetime | None = None) -> "ErrandQuerySet":
        """To be taken up by whoever comes first: due and not claimed, or claimed by somebody who has not come back."""
        now = now or timezone.now()
        unclaimed = Q(lease_until=None, due_at__lte=now)
        return self.open().filter(unclaimed | Q(lease_until__lt=now)).order_by("due_at")


class Errand(models.Model):
    """Something else to be written about a conversation, besides the notes of its day."""

    class Kind(models.TextChoices):
        # The last messages of a conversation that /new or /reset ended, in a file of their own.
        LAST_MESSAGES = "last_messages"
        # Its section in Recent Conversations.md.
        RECENT = "recent"

    # Composite foreign keys as of a flush, in the migration.
    owner = models.ForeignKey(User, on_delete=models.CASCADE, related_name="+")
    session = models.ForeignKey(ChatSession, on_delete=models.CASCADE, related_name="errands")
    space = models.ForeignKey(Space, on_delete=models.CASCADE, related_name="+")
    kind = models.CharField(max_length=20, choices=Kind)
    # It is about the messages up to this one. Grows while it waits.
    through_seq = models.PositiveBigIntegerField()
    # The claim, as of a flush.
    token = models.UUIDField(null=True, blank=True)
    lease_until = models.DateTimeField(null=True, blank=True)
    attempts = models.PositiveIntegerField(default=0)
    due_at = models.DateTimeField(default=timezone.now)
    error = models.TextField(blank=True)
    created_at = models.DateTimeField(default=timezone.now)
    finished_at = models.DateTimeField(null=True, blank=True)

    objects: ClassVar[models.Manager["Errand"]] = ErrandQuerySet.as_manager()

    class Meta:
        indexes = [models.Index(fields=["due_at"], condition=Q(finished_at=None), name="errands_open")]
        constraints = [
            models.UniqueConstraint(fields=["session", "kind"], condition=Q(finished_at=None), name="one_open_errand"),
        ]

    def __str__(self) -> str:
        return f"{self.kind} of {self.session_id} up to {self.through_seq}"
