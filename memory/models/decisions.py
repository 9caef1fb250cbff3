"""Define the questions about saved lines that wait for a person's decision, and the jobs that find them."""

from typing import ClassVar

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.utils import timezone

from memory.models.documents import MemoryRevision
from oneclaw.jobs import Job
from oneclaw.models import SpaceMember, User


class DecisionQuerySet(models.QuerySet["Decision"]):
    def visible_to(self, user: User) -> "DecisionQuerySet":
        """Return the decisions about documents in the spaces of `user`."""
        return self.filter(revision__space__roles__user=user)

    def writable_by(self, user: User) -> "DecisionQuerySet":
        """Return the decisions about documents in the spaces in which `user` may write."""
        return self.filter(revision__space__roles__user=user, revision__space__roles__role__in=SpaceMember.WRITERS)

    def undecided(self) -> "DecisionQuerySet":
        """Return the decisions without an answer."""
        return self.filter(decided_at=None)


class Decision(models.Model):
    """A question to the person about a line that was just saved. memory/tools/decisions.py asks and answers it.

    It contains no text of memory: the lines are in the document and the revision.
    """

    class Kind(models.TextChoices):
        # The saved lines contradict an older line of the same document.
        CONTRADICTION = "contradiction"
        # The saved lines say the same as an older line of the same document, in other words.
        SAME = "same"
        # A secret was masked in what was saved.
        SECRET = "secret"  # noqa: S105 - a word, not one

    class Choice(models.TextChoices):
        BOTH = "both", "Keep both"
        NEW = "new", "Keep the new"
        OLD = "old", "Keep the old"
        MERGE = "merge", "Merge into the new"
        MASKED = "masked", "Keep it masked"
        AS_SAID = "as_said", "Save it as it was said"
        REMOVE = "remove", "Remove the line"

    # The change that saved it.
    revision = models.ForeignKey(MemoryRevision, on_delete=models.CASCADE, related_name="decisions", db_index=False)
    kind = models.CharField(max_length=20, choices=Kind)
    # The older text of a contradiction or repetition: the number of lines, their hash, and the index of the first line,
    # from 0.
    lines = models.PositiveIntegerField(default=0)
    lines_hash = models.CharField(max_length=64, blank=True)
    line = models.PositiveIntegerField(default=0)
    created_at = models.DateTimeField(default=timezone.now)
    # What the person chose, and the revision that it made, if it changed the document.
    choice = models.CharField(max_length=20, choices=Choice, blank=True)
    decided_at = models.DateTimeField(null=True, blank=True)
    outcome = models.ForeignKey(MemoryRevision, on_delete=models.SET_NULL, null=True, blank=True, related_name="+")

    objects: ClassVar[models.Manager["Decision"]] = DecisionQuerySet.as_manager()

    class Meta:
        indexes = [models.Index(fields=["created_at"], condition=Q(decided_at=None), name="decisions_open")]
        constraints = [
            models.UniqueConstraint(fields=["revision", "kind", "lines_hash"], name="decision_asked_once"),
            models.CheckConstraint(
                condition=Q(decided_at=None, choice="") | (Q(decided_at__isnull=False) & ~Q(choice="")),
                name="decision_has_a_choice",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.kind} of revision {self.revision_id}: {self.choice or 'open'}"

    @property
    def is_open(self) -> bool:
        """Return whether the person has not decided yet."""
        return self.decided_at is None


class Comparison(Job):
    """A job: compare a saved line with older ones, after it was saved."""

    LEASE_SECONDS: ClassVar[float] = settings.LEASES.flush_seconds
    TASK: ClassVar[str] = "memory.tasks.compare_saved_line"
    SWEEP_MAX_COUNT: ClassVar[int] = 200
    # A line that was never compared stays as it was saved.
    MAX_ATTEMPTS: ClassVar[int] = 8

    # The change that saved it; its author is the owner of the job.
    revision = models.OneToOneField(MemoryRevision, on_delete=models.CASCADE, related_name="+")

    def __str__(self) -> str:
        return f"comparison of revision {self.revision_id}: {self.status}"
