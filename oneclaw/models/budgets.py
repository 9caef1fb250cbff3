"""What may be spent in a day or a month."""

import datetime as dt
from typing import Any, ClassVar

from django.core.exceptions import ValidationError
from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from oneclaw.models.groups import Group
from oneclaw.models.people import User, zone_of


class BudgetQuerySet(models.QuerySet["Budget"]):
    def applying_to(self, user: User) -> "BudgetQuerySet":
        """Return the budgets that what the person spends counts in: theirs, their groups', and that of everybody."""
        own = Q(user=user) | Q(group__members__user=user)
        return self.filter(own | Q(user=None, group=None)).select_related("group").order_by("pk")


class Budget(models.Model):
    """The most that everybody, a group or a person may spend in a day or a month.

    The days of a person's budget are theirs; those of other budgets are of the timezone in which it was made.
    """

    class Period(models.TextChoices):
        DAY = "day", _("Day")
        MONTH = "month", _("Month")

    period = models.CharField(max_length=5, choices=Period)
    # Whose spending counts: one person's, that of a group's members together, or with neither everybody's.
    user = models.ForeignKey(User, on_delete=models.CASCADE, null=True, blank=True, related_name="budgets")
    group = models.ForeignKey(Group, on_delete=models.CASCADE, null=True, blank=True, related_name="budgets")
    # US dollars, which counts only calls with a price, and tokens of all kinds; at least one of both.
    max_cost = models.DecimalField(max_digits=12, decimal_places=2, null=True, blank=True)
    max_tokens = models.PositiveBigIntegerField(null=True, blank=True)
    # Of the admin who made it: in which the days of a budget of several people begin.
    timezone = models.CharField(max_length=64, default="UTC", db_default="UTC", editable=False)
    created_at = models.DateTimeField(auto_now_add=True)

    objects: ClassVar[models.Manager["Budget"]] = BudgetQuerySet.as_manager()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["period", "user", "group"], nulls_distinct=False, name="one_budget_for_each_period"
            ),
            models.CheckConstraint(condition=Q(user=None) | Q(group=None), name="budget_of_a_person_or_a_group"),
            models.CheckConstraint(
                condition=Q(max_cost__isnull=False) | Q(max_tokens__isnull=False), name="budget_with_a_limit"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.get_period_display()}: {self.user or self.group or 'everybody'}"

    @property
    def details(self) -> dict[str, Any]:
        """Return what an event of the audit log says of it, besides its person."""
        limits = {"dollars": f"{self.max_cost or 0:.2f}", "tokens": self.max_tokens or ""}
        return {"budget": self.pk, "period": self.period, "group": self.group_id or "", **limits}

    def clean(self) -> None:
        """Raise ValidationError when it limits nothing, or has both a person and a group."""
        if self.max_cost is None and self.max_tokens is None:
            raise ValidationError(_("Set a limit in US dollars or in tokens."))
        if self.user_id and self.group_id:
            raise ValidationError(_("Choose a person or a group, not both."))

    def period_at(self, moment: dt.datetime, user: User | None = None) -> tuple[dt.datetime, dt.datetime]:
        """Return when the period of `moment` begins and ends; `user` is its person, if loaded already."""
        person = (user or self.user) if self.user_id else None
        local = moment.astimezone(person.zone if person else zone_of(self.timezone))
        began = local.replace(hour=0, minute=0, second=0, microsecond=0)
        if self.period == self.Period.DAY:
            return began, (began + dt.timedelta(days=1)).replace(hour=0)
        began = began.replace(day=1)
        return began, (began + dt.timedelta(days=32)).replace(day=1)


class BudgetWarning(models.Model):
    """A warning of a person, once in a period, that most of a budget is used."""

    budget = models.ForeignKey(Budget, on_delete=models.CASCADE, related_name="warnings", db_index=False)
    user = models.ForeignKey(User, on_delete=models.CASCADE, related_name="+")
    period_began = models.DateTimeField()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["budget", "user", "period_began"], name="warned_once")]

    def __str__(self) -> str:
        return f"{self.user} about {self.budget}"
