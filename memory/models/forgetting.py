"""What was asked to be forgotten."""

from typing import ClassVar

from django.db import models
from django.db.models import Q
from django.utils import timezone

from oneclaw.models import Space, User


class ForgettingQuerySet(models.QuerySet["Forgetting"]):
    def visible_to(self, user: User) -> "ForgettingQuerySet":
        """What the person forgot, and what anybody forgot in a space of theirs."""
        return self.filter(Q(author=user) | Q(space__members__user=user)).distinct()

    def unfinished(self) -> "ForgettingQuerySet":
        return self.filter(finished_at=None)


class Forgetting(models.Model):
    """One act of forgetting in a space: its receipt. It holds how much went and hashes, never the text."""

    space = models.ForeignKey(Space, on_delete=models.CASCADE, related_name="forgettings")
    author = models.ForeignKey(User, on_delete=models.SET_NULL, null=True, blank=True, related_name="+")
    created_at = models.DateTimeField(default=timezone.now)
    # How much went, by what it was: {"lines": 2, "chunks": 2, …}
    counts = models.JSONField(default=dict)
    # The keyed hashes of the lines (memory/policy/tombstones.py).
    hashes = models.JSONField(default=list)
    # The transaction that made it: in this one, and in no other, lines may be taken out of revisions of the space.
    transaction = models.BigIntegerField(db_default=models.expressions.RawSQL("pg_current_xact_id()::text::bigint", ()))
    # When files, and answers that were being written at that moment, were cleaned as well; the sweep sees to it.
    finished_at = models.DateTimeField(null=True, blank=True)

    objects: ClassVar[models.Manager["Forgetting"]] = ForgettingQuerySet.as_manager()

    class Meta:
        indexes = [models.Index(fields=["created_at"], condition=Q(finished_at=None), name="forgettings_open")]

    def __str__(self) -> str:
        return f"forgetting {self.pk} in space {self.space_id}"


class ForgottenLine(models.Model):
    """The keyed hash of the words of a line that must not be learnt again (memory/policy/tombstones.py)."""

    space = models.ForeignKey(Space, on_delete=models.CASCADE, related_name="+", db_index=False)
    hash = models.CharField(max_length=64)
    # How many words it has, and whether only a line of just these words is meant, not also one that contains them.
    words = models.PositiveIntegerField()
    whole = models.BooleanField()
    created_at = models.DateTimeField(default=timezone.now)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["space", "hash"], name="forgotten_line_once")]

    def __str__(self) -> str:
        return f"{self.words} forgotten words in space {self.space_id}"
