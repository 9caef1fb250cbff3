"""Conversations on their way in from other programs."""

import datetime as dt
import uuid
from typing import ClassVar

from django.db import models
from django.db.models import Q
from django.utils import timezone

from oneclaw.models import User


class ImportJobQuerySet(models.QuerySet["ImportJob"]):
    def visible_to(self, user: User) -> "ImportJobQuerySet":
        return self.filter(owner=user)

    def open(self) -> "ImportJobQuerySet":
        return self.filter(state__in=ImportJob.OPEN)

    def due(self, now: dt.datetime | None = None) -> "ImportJobQuerySet":
        """To be taken up by whoever comes first: not claimed, or claimed by somebody who has not come back."""
        return self.open().filter(Q(lease_until=None) | Q(lease_until__lt=now or timezone.now())).order_by("created_at")


class ImportJob(models.Model):
    """A file of conversations that a person brings from elsewhere, and how far it has been taken in.

    The file lies under settings.IMPORTS and is called like the row, the conversations in it beside it with the ending
    .parts; both go when the row is done or failed.
    """

    class State(models.TextChoices):
        WAITING = "waiting"
        RUNNING = "running"
        DONE = "done"
        FAILED = "failed"

    OPEN: ClassVar[list[str]] = ["waiting", "running"]
    # Conversations that were left aside of which it says why.
    MOST_PROBLEMS: ClassVar[int] = 100

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    owner = models.ForeignKey(User, on_delete=models.CASCADE, related_name="import_jobs")
    # As the person's computer calls it.
    name = models.CharField(max_length=200)
    state = models.CharField(max_length=10, choices=State, default=State.WAITING)
    # Conversations in the file; None until somebody has counted them. And how many of them have been looked at.
    total = models.PositiveIntegerField(null=True, blank=True)
    done = models.PositiveIntegerField(default=0)
    # The byte of the unpacked file at which the next one begins.
    position = models.PositiveBigIntegerField(default=0)
    # What came of them: new conversations and their messages, ones that were here already, ones that were left aside.
    brought = models.PositiveIntegerField(default=0)
    messages = models.PositiveIntegerField(default=0)
    known = models.PositiveIntegerField(default=0)
    skipped = models.PositiveIntegerField(default=0)
    # Pictures and files in what was brought, which stayed behind.
    left_out = models.PositiveIntegerField(default=0)
    # Of those that were left aside: {"number", "title", "why"}; `why` is the code of a
    # wording import_conversation.… (chat/wordings.py).
    problems = models.JSONField(default=list)
    # Of a failure: the code of a wording import_file.…
    error = models.CharField(max_length=40, blank=True)
    # The claim: whoever holds this token takes in what comes next; a later claim has another one.
    token = models.UUIDField(null=True, blank=True)
    lease_until = models.DateTimeField(null=True, blank=True)
    # Claims since something was last taken in.
    attempts = models.PositiveIntegerField(default=0)
    created_at = models.DateTimeField(default=timezone.now)
    finished_at = models.DateTimeField(null=True, blank=True)

    objects: ClassVar[models.Manager["ImportJob"]] = ImportJobQuerySet.as_manager()

    class Meta:
        ordering = ["-created_at"]
        constraints = [
            models.UniqueConstraint(
                fields=["owner"], condition=Q(state__in=["waiting", "running"]), name="one_open_import"
            ),
        ]

    def __str__(self) -> str:
        # Without the file's name, which is the person's own.
        return f"import {self.pk}: {self.state}"

    @property
    def is_open(self) -> bool:
        return self.state in self.OPEN
