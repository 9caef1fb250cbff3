"""Import jobs: conversations from the export files of other programs."""

import uuid
from typing import ClassVar

from django.db import models
from django.db.models import Q

from oneclaw.jobs import OPEN_STATUSES, Job


class ImportJob(Job):
    """A job that imports the conversations of an uploaded file, with its progress.

    The file is stored under settings.IMPORTS and named by the row's id, the conversations split from it in a second
    file with the suffix .parts; both are removed when the job is done or has failed.
    """

    LEASE_SECONDS: ClassVar[float] = 120
    TASK: ClassVar[str] = "chat.tasks.take_in"
    # The number of skipped conversations that `problems` lists.
    PROBLEMS_MAX: ClassVar[int] = 100

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    # The file name on the person's computer.
    name = models.CharField(max_length=200)
    # Conversations in the file (None until they are counted), and how many of them have been processed.
    total = models.PositiveIntegerField(null=True, blank=True)
    done = models.PositiveIntegerField(default=0)
    # The byte offset of the next conversation in the unpacked file.
    position = models.PositiveBigIntegerField(default=0)
    # The outcome: imported conversations and their messages, conversations imported before, and skipped ones.
    brought = models.PositiveIntegerField(default=0)
    messages = models.PositiveIntegerField(default=0)
    known = models.PositiveIntegerField(default=0)
    skipped = models.PositiveIntegerField(default=0)
    # Of the conversations imported before, those to which the file has added messages, and these messages.
    grown = models.PositiveIntegerField(default=0, db_default=0)
    added = models.PositiveIntegerField(default=0, db_default=0)
    # Images, files and other parts that were not imported or are shortened; thoughts, and what the other program hides.
    left_out = models.PositiveIntegerField(default=0)
    hidden = models.PositiveIntegerField(default=0, db_default=0)
    # The skipped conversations: {"number", "title", "why"}; `why` is the code of a wording import_conversation.…
    # (chat/wordings.py).
    problems = models.JSONField(default=list)
    # `error` is the code of a wording import_file.…; `attempts` counts the claims since a conversation was processed.

    class Meta(Job.Meta):
        ordering = ["-created_at"]
        constraints = [
            models.UniqueConstraint(fields=["owner"], condition=Q(status__in=OPEN_STATUSES), name="one_open_import"),
        ]

    def __str__(self) -> str:
        # Without the file name, which is private.
        return f"import {self.pk}: {self.status}"
