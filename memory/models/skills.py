"""Define the approvals of skills: which skill a person lets the model use, and as it was at which hash."""

from typing import ClassVar

from django.db import models
from django.db.models import Q
from django.db.models.functions import Now

from oneclaw.models import Space, User


class SkillApprovalQuerySet(models.QuerySet["SkillApproval"]):
    def counting_for(self, user: User) -> "SkillApprovalQuerySet":
        """Return the answers of `user`, and those that owners of their shared spaces gave for every member."""
        mine = Space.objects.visible_to(user).values("pk")
        for_everyone = self.model.objects.by_owners().filter(space__in=mine).values("pk")
        return self.filter(Q(user=user) | Q(pk__in=for_everyone))

    def by_owners(self) -> "SkillApprovalQuerySet":
        """Return the approvals for every member that owners of the spaces gave; they end when these are no owners."""
        return self.filter(space__roles__user=models.F("user"), space__roles__role="owner", for_all=True, is_used=True)


class SkillApproval(models.Model):
    """What a person decided about one skill: that the model may use it as it was at `digest`, or that it may not.

    The skill with another digest waits for another yes.
    """

    user = models.ForeignKey(User, on_delete=models.CASCADE, related_name="+", db_index=False)
    # None: the skill is in the server's folder.
    space = models.ForeignKey(Space, on_delete=models.CASCADE, null=True, blank=True, related_name="+")
    # The name of the skill's folder.
    folder = models.CharField(max_length=255)
    # Of all its files (memory/skills/catalogue.py).
    digest = models.CharField(max_length=64)
    # Its files then, for the difference: {path: version of the document}, or {path: text} of the server's folder.
    files = models.JSONField(default=dict)
    # No: it was switched off, whatever its digest is.
    is_used = models.BooleanField(default=True)
    # Whether an owner of the space has approved it for every member.
    for_all = models.BooleanField(default=False)
    # By the database's clock (oneclaw/models/clock.py).
    at = models.DateTimeField(db_default=Now())

    objects: ClassVar[models.Manager["SkillApproval"]] = SkillApprovalQuerySet.as_manager()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["user", "space", "folder"], nulls_distinct=False, name="one_answer_about_a_skill"
            ),
            models.CheckConstraint(
                condition=Q(for_all=False) | Q(space__isnull=False, is_used=True), name="for_all_members_of_a_space"
            ),
        ]

    def __str__(self) -> str:
        # Without the name of the skill, which is private: the admin shows this text.
        return f"answer {self.pk} about a skill: {'used' if self.is_used else 'off'}"
