"""How people leave, how long things are kept, and what must be kept meanwhile."""

import datetime as dt
from typing import Any, ClassVar

from django.db import models
from django.db.models import F, Q
from django.db.models.expressions import Combinable
from django.db.models.functions import Now
from django.utils.translation import gettext_lazy as _

from oneclaw.jobs import OPEN_STATUSES, Job, JobQuerySet
from oneclaw.models import clock
from oneclaw.models.people import User
from oneclaw.models.spaces import Space


class OffboardingQuerySet(JobQuerySet["Offboarding"]):
    def visible_to(self, user: User) -> "OffboardingQuerySet":
        """Return the offboardings, for people who may manage people."""
        return self.all() if user.has_perm("oneclaw.manage_people") else self.none()


class Offboarding(Job):
    """The removal of one person: the job that does it, and afterwards its receipt of counts and hashes.

    People are named by their number alone, so the row outlives them and holds nothing that they have left.
    """

    LEASE_SECONDS: ClassVar[float] = 60.0
    TASK: ClassVar[str] = "chat.tasks.offboard"

    # Who asked for it; None: the person, or a command.
    owner = models.ForeignKey(  # type: ignore[assignment]
        User, on_delete=models.SET_NULL, null=True, blank=True, related_name="+"
    )
    person = models.BigIntegerField()
    # Who gets the spaces and shared conversations that `choices` does not name; None: nobody.
    receiver = models.BigIntegerField(null=True, blank=True)
    # What becomes of spaces that only the person owns: {"<space id>": "delete", or the id of the new owner}.
    choices = models.JSONField(default=dict, blank=True)
    # What was there when it began: {"conversations": 3, …}; and SHA-256 of what was removed, by kind.
    counts = models.JSONField(default=dict, blank=True)
    hashes = models.JSONField(default=dict, blank=True)

    objects: ClassVar[models.Manager[Any]] = OffboardingQuerySet.as_manager()

    class Meta(Job.Meta):
        constraints = [models.UniqueConstraint(fields=["person"], name="one_offboarding_of_a_person")]

    def __str__(self) -> str:
        return f"offboarding of person {self.person}"

    @property
    def as_json(self) -> dict[str, Any]:
        """Return the receipt as it is downloaded."""
        return {
            "receipt": self.pk,
            "person": self.person,
            "receiver": self.receiver,
            "by": self.owner_id,
            "began_at": self.created_at.isoformat(),
            "finished_at": self.finished_at.isoformat() if self.finished_at else None,
            "counts": self.counts,
            "hashes": self.hashes,
        }


class AccountImport(Job):
    """A job that takes the archive of an account in. The file is settings.IMPORTS/account-<id>.zip until it ends."""

    LEASE_SECONDS: ClassVar[float] = 120.0
    TASK: ClassVar[str] = "chat.tasks.take_account_in"

    # The file name on the person's computer.
    name = models.CharField(max_length=200)
    # What came of it: {"conversations": 3, …}. `error` is the code of a wording account_import.….
    counts = models.JSONField(default=dict, blank=True)

    class Meta(Job.Meta):
        constraints = [
            models.UniqueConstraint(
                fields=["owner"], condition=Q(status__in=OPEN_STATUSES), name="one_open_account_import"
            ),
        ]

    def __str__(self) -> str:
        # Without the file name, which is private.
        return f"import {self.pk} of an account"


class LegalHold(models.Model):
    """Nothing of a person, or of a space, is removed for good until the hold ends."""

    user = models.ForeignKey(User, on_delete=models.CASCADE, null=True, blank=True, related_name="legal_holds")
    space = models.ForeignKey(Space, on_delete=models.CASCADE, null=True, blank=True, related_name="legal_holds")
    # Why, for those who manage people; the person is not told.
    reason = models.CharField(max_length=300)
    made_by = models.ForeignKey(User, on_delete=models.SET_NULL, null=True, blank=True, related_name="+")
    made_at = models.DateTimeField(db_default=Now())
    ended_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        constraints = [
            models.CheckConstraint(condition=Q(user=None) ^ Q(space=None), name="hold_of_a_person_or_a_space"),
            models.UniqueConstraint(fields=["user"], condition=Q(ended_at=None), name="one_hold_of_a_person"),
            models.UniqueConstraint(fields=["space"], condition=Q(ended_at=None), name="one_hold_of_a_space"),
        ]

    def __str__(self) -> str:
        return f"legal hold {self.pk}"


class RetentionRule(models.Model):
    """After how many days things of a kind are removed: everywhere, or in one space, whose rule counts there alone."""

    class Kind(models.TextChoices):
        CONVERSATIONS = "conversations", _("Conversations without activity")
        FILES = "files", _("Attached files")
        DAILY_LOGS = "daily_logs", _("Daily logs of memory")
        DOCUMENTS = "documents", _("Other documents of memory, unchanged")
        LIBRARY_FILES = "library_files", _("Documents of libraries, without a new version")

    kind = models.CharField(max_length=20, choices=Kind)
    space = models.ForeignKey(Space, on_delete=models.CASCADE, null=True, blank=True, related_name="retention_rules")
    days = models.PositiveIntegerField()

    class Meta:
        ordering = [F("space").asc(nulls_first=True), "kind"]
        constraints = [
            models.UniqueConstraint(fields=["kind", "space"], nulls_distinct=False, name="one_rule_of_a_kind"),
        ]

    def __str__(self) -> str:
        return f"{self.kind}: {self.days} days"

    def latest(self) -> Combinable:
        """Return the time before which things are too old, as an expression."""
        return clock.database_now() - dt.timedelta(days=self.days)

    def where(self, space: str) -> Q:
        """Return the rows for which it counts, whose space is in the column `space`."""
        if self.space_id is not None:
            return Q(**{space: self.space_id})
        ruled = RetentionRule.objects.filter(kind=self.kind, space__isnull=False).values("space")
        return Q(**{space: None}) | ~Q(**{f"{space}__in": ruled})
