"""Define the jobs that write documents about conversations: notes of a day, and documents of one conversation."""

from typing import Any, ClassVar, Self

from django.conf import settings
from django.db import models
from django.db.models import Exists, F, OuterRef, Q

from chat.models import ChatSession, Turn
from memory.models.documents import MemoryRevision
from oneclaw.jobs import OPEN_STATUSES, Job, JobQuerySet
from oneclaw.models import Space


class FlushQuerySet(JobQuerySet["Flush"]):
    """Flushes, by what is to be done with them."""

    def due(self) -> Self:
        """Return the flushes to claim now, earliest due first.

        One whose conversation is being answered waits for the end of the answer, so that it notes question and answer
        together.
        """
        answered = Exists(Turn.objects.running().filter(session=OuterRef("session")))
        return super().due().exclude(Q(status=Job.Status.QUEUED) & answered)


class Flush(Job):
    """A job: write durable notes from one range of a session's messages, within one local day of its owner."""

    LEASE_SECONDS: ClassVar[float] = settings.LEASES.flush_seconds
    TASK: ClassVar[str] = "memory.tasks.flush_session"
    SWEEP_MAX_COUNT: ClassVar[int] = 200

    # A composite foreign key (owner, session) and a trigger in the migrations: the notes of a person's conversation are
    # written into a private space of theirs, or into the space with which it is shared.
    session = models.ForeignKey(ChatSession, on_delete=models.CASCADE, related_name="flushes", db_index=False)
    # None once the space is deleted: the messages stay covered.
    space = models.ForeignKey(Space, on_delete=models.SET_NULL, null=True, related_name="+")
    # Covers messages with after_seq < seq <= through_seq. Known once claimed.
    after_seq = models.PositiveBigIntegerField(null=True, blank=True)
    through_seq = models.PositiveBigIntegerField(null=True, blank=True)
    # The day, in the owner's time zone, of the daily log to write.
    day = models.DateField(null=True, blank=True)
    # The trigger: switched, day_changed, ended, left, idle, compaction, imported, shell.
    reason = models.CharField(max_length=20)
    # False: the model was not available, and an extract of the messages replaces its notes.
    summarised = models.BooleanField(default=True)
    revision = models.ForeignKey(MemoryRevision, on_delete=models.SET_NULL, null=True, blank=True, related_name="+")

    objects: ClassVar[models.Manager[Any]] = FlushQuerySet.as_manager()

    class Meta(Job.Meta):
        verbose_name_plural = "flushes"
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


class DocumentJobQuerySet(JobQuerySet["DocumentJob"]):
    """Jobs that write a document about one conversation."""

    def to_send(self) -> list[int]:
        """Return the ids of the jobs that a sweep sends to the workers: none while a flush is due, because notes have
        priority over other documents."""
        return [] if Flush.objects.due().exists() else super().to_send()


class DocumentJob(Job):
    """A job: write a document about one conversation, apart from the notes of its day."""

    class Kind(models.TextChoices):
        # The last messages of a conversation that /new or /reset ended, in a file of their own.
        LAST_MESSAGES = "last_messages"
        # Its section in Recent Conversations.md.
        RECENT = "recent"

    LEASE_SECONDS: ClassVar[float] = settings.LEASES.flush_seconds
    TASK: ClassVar[str] = "memory.tasks.run_document_job"
    SWEEP_MAX_COUNT: ClassVar[int] = 200

    # Composite foreign keys like those of a flush, in the migration.
    session = models.ForeignKey(ChatSession, on_delete=models.CASCADE, related_name="document_jobs")
    space = models.ForeignKey(Space, on_delete=models.CASCADE, related_name="+")
    kind = models.CharField(max_length=20, choices=Kind)
    # It covers the messages up to this one. Grows while the job is open.
    through_seq = models.PositiveBigIntegerField()

    objects: ClassVar[models.Manager[Any]] = DocumentJobQuerySet.as_manager()

    class Meta(Job.Meta):
        constraints = [
            models.UniqueConstraint(
                fields=["session", "kind"], condition=Q(status__in=OPEN_STATUSES), name="one_open_document_job"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.kind} of {self.session_id} up to {self.through_seq}: {self.status}"
