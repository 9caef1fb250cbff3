"""Define the questions whether a line of the curated memory is still true."""

from typing import ClassVar

from django.db import models
from django.db.models import Q
from django.db.models.functions import Now

from memory.models.documents import MemoryDocument
from oneclaw.models import User


class ReviewQuerySet(models.QuerySet["Review"]):
    def visible_to(self, user: User) -> "ReviewQuerySet":
        """Return the reviews of documents in the spaces of `user`."""
        return self.filter(document__space__roles__user=user)

    def unanswered(self) -> "ReviewQuerySet":
        """Return the reviews that wait for an answer."""
        return self.filter(answered_at=None)


class Review(models.Model):
    """A question whether a line is still true. It contains no text of memory: the line is found by its hash."""

    class Kind(models.TextChoices):
        # A plan whose day has passed.
        OUTDATED = "outdated"
        # A line that a newer one contradicts by its words: another job, another home.
        SUPERSEDED = "superseded"
        # One of a few lines a week that were confirmed longest ago.
        STILL_TRUE = "still_true"

    document = models.ForeignKey(MemoryDocument, on_delete=models.CASCADE, related_name="reviews", db_index=False)
    kind = models.CharField(max_length=10, choices=Kind)
    line_hash = models.CharField(max_length=64)
    # The day that has passed.
    day = models.DateField(null=True, blank=True)
    # The newer line that says otherwise: its document, and its hash.
    newer_document = models.ForeignKey(
        MemoryDocument, on_delete=models.CASCADE, null=True, blank=True, related_name="+", db_index=False
    )
    newer_hash = models.CharField(max_length=64, blank=True)
    # By the database's clock (oneclaw/models/clock.py).
    asked_at = models.DateTimeField(db_default=Now())
    # When the person said that it is still true, or that it is not any more, so that it was deleted.
    answered_at = models.DateTimeField(null=True, blank=True)

    objects: ClassVar[models.Manager["Review"]] = ReviewQuerySet.as_manager()

    class Meta:
        indexes = [models.Index(fields=["document"], condition=Q(answered_at=None), name="reviews_open")]
        constraints = [
            models.UniqueConstraint(fields=["document", "kind", "line_hash"], name="line_reviewed_once"),
            models.CheckConstraint(
                condition=Q(kind="still_true", day=None, newer_document=None, newer_hash="")
                | Q(kind="outdated", day__isnull=False, newer_document=None, newer_hash="")
                | Q(kind="superseded", day=None, newer_document__isnull=False) & ~Q(newer_hash=""),
                name="review_has_what_its_kind_needs",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.kind} review {self.pk}"
