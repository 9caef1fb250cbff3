"""The attempts to answer a message, how an answer ends, and its position among the versions of a message."""

import datetime as dt
import uuid
from dataclasses import dataclass
from typing import ClassVar

from django.conf import settings
from django.db import models, transaction
from django.db.models import Q, Value
from django.db.models.expressions import Combinable
from django.db.models.functions import Least, Now

from oneclaw.models import User, clock
from oneclaw.reasons import ReasonField
from oneclaw.spend import unstored


class TurnQuerySet(models.QuerySet["Turn"]):
    def running(self) -> "TurnQuerySet":
        return self.filter(status=Turn.Status.RUNNING)

    def abandoned(self) -> "TurnQuerySet":
        """Return the running turns whose lease has expired, because their process no longer renews it."""
        return self.running().filter(lease_until__lt=clock.database_now())

    def ended(self) -> "TurnQuerySet":
        return self.exclude(status=Turn.Status.RUNNING)

    @transaction.atomic
    def store_calls(self) -> None:
        """Store the calls of each that no process will store: those that go, or were ended without it."""
        for turn in self.filter(unstored_calls__isnull=False).select_for_update(no_key=True):
            turn.store_calls()
            turn.save(update_fields=["unstored_calls"])


def lease_end() -> Combinable:
    """Return the end of a lease that is taken or renewed now, as an expression."""
    return clock.database_now() + dt.timedelta(seconds=settings.LEASES.answer_seconds)


class AnswerStatus(models.TextChoices):
    """The status of an answer, and of the turn that writes it."""

    RUNNING = "running"
    COMPLETE = "complete"
    STOPPED = "stopped"
    INTERRUPTED = "interrupted"
    FAILED = "failed"


class Turn(models.Model):
    """One attempt to answer one user message."""

    Status = AnswerStatus

    class Kind(models.TextChoices):
        SEND = "send"
        RETRY = "retry"
        CONTINUE = "continue"

    session = models.ForeignKey("ChatSession", on_delete=models.CASCADE, related_name="turns")
    # The user message that it answers.
    prompt = models.ForeignKey("Message", on_delete=models.CASCADE, related_name="attempts", db_index=False)
    attempt = models.PositiveIntegerField(default=1)
    # In a shared conversation the person who asked for it, for whom its tools act; None: the owner of the session.
    asked_by = models.ForeignKey(
        User, on_delete=models.SET_NULL, null=True, blank=True, related_name="+", db_index=False
    )
    kind = models.CharField(max_length=10, choices=Kind, default=Kind.SEND)
    status = models.CharField(max_length=12, choices=Status, default=Status.RUNNING)
    # The token of the process that runs it, and the end of its lease. A new holder has a new token.
    holder = models.UUIDField(default=uuid.uuid4)
    lease_until = models.DateTimeField()
    stop_requested = models.BooleanField(default=False)
    # Its calls of models as of the last checkpoint (oneclaw.spend.unstored.UnstoredCall), which are not rows of spend
    # yet; whoever ends the turn of a process that has died stores them.
    unstored_calls = models.JSONField(null=True, blank=True)
    # The protocol code of a failure (oneclaw.llm.ModelRequestError.code), and the reason that the person is shown.
    error_code = models.CharField(max_length=40, blank=True)
    error = ReasonField()
    started_at = models.DateTimeField(db_default=Now(), editable=False)
    finished_at = models.DateTimeField(null=True, blank=True)

    objects: ClassVar[models.Manager["Turn"]] = TurnQuerySet.as_manager()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["session"], condition=Q(status="running"), name="one_running_turn"),
            models.UniqueConstraint(fields=["prompt", "attempt"], name="one_answer_per_attempt"),
        ]
        indexes = [
            models.Index(fields=["lease_until"], condition=Q(status="running"), name="turn_leases"),
            # Of turns that a process of an earlier release has ended: usually none.
            models.Index(
                fields=["id"],
                condition=Q(unstored_calls__isnull=False) & ~Q(status="running"),
                name="turns_with_unstored_calls",
            ),
            models.Index(fields=["asked_by"], condition=Q(asked_by__isnull=False), name="turns_of_members"),
        ]

    def __str__(self) -> str:
        return f"turn {self.pk} of {self.session_id}: {self.status}"

    def store_calls(self) -> None:
        """Make rows of spend of its unstored calls, those that are none yet, of the time when its process last lived.

        The turn itself is not saved. Call inside a transaction, with its row locked.
        """
        if self.unstored_calls:
            unstored.store(self.unstored_calls, at=Least(clock.database_now(), Value(self.lease_until)))
        self.unstored_calls = None

    @property
    def person(self) -> User:
        """Return the person who asked for it: whose limits, language and time zone count, and for whom tools act."""
        return self.asked_by or self.session.owner

    @property
    def person_id(self) -> int:
        """Return the id of `person`."""
        return self.asked_by_id or self.session.owner_id


@dataclass(frozen=True)
class Version:
    """The position of one version: the `number`th of `total`, and the ids of the messages `before` and `after` it."""

    number: int
    total: int
    before: int | None
    after: int | None
