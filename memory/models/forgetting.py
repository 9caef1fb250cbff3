"""Define what was forgotten: the receipts, and the tombstones of lines."""

from typing import ClassVar

from django.db import models
from django.db.models import Q
from django.utils import timezone

from oneclaw.models import Space, User


class ForgettingQuerySet(models.QuerySet["Forgetting"]):
    def visible_to(self, user: User) -> "ForgettingQuerySet":
        """Return the forgettings by `user`, and all in the spaces of `user`."""
        return self.filter(Q(author=user) | Q(space__roles__user=user)).distinct()

    def unfinished(self) -> "ForgettingQuerySet":
        """Return the forgettings that the sweep has to finish."""
        return self.filter(finished_at=None)


class Forgetting(models.Model):
    """The receipt of one forgetting in a space: how much was removed, and hashes, never the text."""

    space = models.ForeignKey(Space, on_delete=models.CASCADE, related_name="forgettings")
    author = models.ForeignKey(User, on_delete=models.SET_NULL, null=True, blank=True, related_name="+")
    created_at = models.DateTimeField(default=timezone.now)
    # How much was removed, by kind: {"lines": 2, "chunks": 2, …}
    counts = models.JSONField(default=dict)
    # The keyed hashes of the lines (memory/policy/tombstones.py).
    hashes = models.JSONField(default=list)
    # The transaction that made it: only in this one, lines may be removed from revisions of the space.
    transaction = models.BigIntegerField(db_default=models.expressions.RawSQL("pg_current_xact_id()::text::bigint", ()))
    # When files, and answers that were running at that moment, were cleaned as well; the sweep retries it.
    finished_at = models.DateTimeField(null=True, blank=True)

    objects: ClassVar[models.Manager["Forgetting"]] = ForgettingQuerySet.as_manager()

    class Meta:
        indexes = [models.Index(fields=["created_at"], condition=Q(finished_at=None), name="forgettings_open")]

    def __str__(self) -> str:
        return f"forgetting {self.pk} in space {self.space_id}"


class ForgottenLine(models.Model):
    """A tombstone: the keyed hash of the words of a line that must not be saved again (memory/policy/tombstones.py)."""

    space = models.ForeignKey(Space, on_delete=models.CASCADE, related_name="+", db_index=False)
    hash = models.CharField(max_length=64)
    # The number of words, and whether it matches only a whole line, not also a line that contains these words.
    words = models.PositiveIntegerField()
    whole = models.BooleanField()
    created_at = models.DateTimeField(default=timezone.now)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["space", "hash"], name="forgotten_line_once")]

    def __str__(self) -> str:
        return f"{self.words} forgotten words in space {self.space_id}"
