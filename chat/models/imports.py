"""The jobs that import conversations from other programs."""

import uuid
from typing import ClassVar

from django.db import models
from django.db.models import Q

from oneclaw.jobs import OPEN_STATUSES, Job


class ImportJob(Job):
    """Import the conversations in a file that a person has uploaded; the row says how far this got.

    The file lies under settings.IMPORTS and is called like the row, the conversations in it beside it with the ending
    .parts; both are removed when the job is done or has failed.
    """

    LEASE_SECONDS: ClassVar[float] = 120
    # Skipped conversations of which `problems` says why.
    PROBLEMS_MAX: ClassVar[int] = 100

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    # As the person's computer calls it.
    name = models.CharField(max_length=200)
    # Conversations in the file; None until they are counted. And how many of them have been looked at.
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
    # `error` is the code of a wording import_file.…; `attempts` counts the claims since the last conversation was dealt
    # with.

    class Meta(Job.Meta):
        ordering = ["-created_at"]
        constraints = [
            models.UniqueConstraint(fields=["owner"], condition=Q(status__in=OPEN_STATUSES), name="one_open_import"),
        ]

    def __str__(self) -> str:
        # Without the file's name, which is the person's own.
        return f"import {self.pk}: {self.status}"
