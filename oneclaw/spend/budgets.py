"""Whether a person may still spend: what of each budget is used, and when it ends.

    state = used_up(states_of(user))    # None: the person may ask a model

A budget is looked at before a message is stored, and before each call of work in the background. What runs then
goes on: a budget is exceeded at most by the turns and calls in flight when it was used up. Without any budget, a
process asks the database once in KNOWN_SECONDS; otherwise each look takes two statements.
"""

import datetime as dt
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal

from django.db import connection
from django.db.models.signals import post_delete, post_save
from django.dispatch import receiver
from django.utils import timezone

from oneclaw.models import Budget, BudgetWarning, User
from oneclaw.timed_read import TimedRead

# How long a process believes that there is a budget, or none.
KNOWN_SECONDS = 30.0
# The used share from which on a person is warned.
WARNING_SHARE = Decimal("0.8")
USED = """
    SELECT coalesce(sum(cost), 0),
        coalesce(sum(input_tokens::bigint + output_tokens + cached_tokens + written_tokens), 0)
    FROM oneclaw_spend WHERE at >= %s
"""
OF_PERSON = " AND user_id = %s"
OF_GROUP = " AND user_id IN (SELECT user_id FROM oneclaw_groupmember WHERE group_id = %s)"

# Whether there is any.
exists = TimedRead(Budget.objects.exists, KNOWN_SECONDS, first=True)


@dataclass(frozen=True)
class BudgetState:
    """One budget of a person in its running period."""

    budget: Budget
    used_cost: Decimal
    used_tokens: int
    began: dt.datetime
    ends: dt.datetime

    @property
    def share(self) -> Decimal:
        """Return the used share, of that limit which is nearer."""
        shares = [Decimal(0)]
        for used, limit in ((self.used_cost, self.budget.max_cost), (self.used_tokens, self.budget.max_tokens)):
            if limit is not None:
                shares.append(Decimal(used) / Decimal(limit) if limit else Decimal(1))
        return max(shares)

    @property
    def percent(self) -> int:
        """Return the used share in whole percent."""
        return int(100 * self.share)

    @property
    def is_used_up(self) -> bool:
        return self.share >= 1

    @property
    def scope(self) -> str:
        """Return whose budget it is: person, group or all."""
        return "person" if self.budget.user_id else "group" if self.budget.group_id else "all"

    @property
    def seconds_left(self) -> float:
        """Return the seconds until its period ends, at least one."""
        return max(1.0, (self.ends - timezone.now()).total_seconds())


def states_of(user: User) -> list[BudgetState]:
    """Return the state of each budget that applies to `user`."""
    return _states(list(Budget.objects.applying_to(user).distinct()), user) if exists.value() else []


def _states(budgets: Sequence[Budget], user: User | None) -> list[BudgetState]:
    """Return the states of `budgets`; those of people are all of `user`, or each has its own loaded."""
    if not budgets:
        return []
    now = timezone.now()
    periods = [budget.period_at(now, user) for budget in budgets]
    return [
        BudgetState(budget, cost, int(tokens), *period)
        for budget, period, (cost, tokens) in zip(budgets, periods, _used(budgets, periods), strict=True)
    ]


def states_of_all() -> list[BudgetState]:
    """Return the state of every budget."""
    budgets = list(Budget.objects.select_related("user", "group").order_by("user__email", "group__name", "period"))
    return _states(budgets, None)


def may_exist() -> bool:
    """Return whether there may be a budget; without a query."""
    return exists.is_due or exists.last


def used_up(states: Sequence[BudgetState]) -> BudgetState | None:
    """Return the budget that is used up, of several the one that ends last; None when the person may go on."""
    return max((state for state in states if state.is_used_up), key=lambda state: state.ends, default=None)


def to_warn_of(user: User, states: Sequence[BudgetState]) -> BudgetState | None:
    """Return the budget of which `user` is to be warned that most of it is used; None also when they were before.

    The warning counts as given.
    """
    for state in states:
        if WARNING_SHARE <= state.share < 1:
            warning = BudgetWarning(budget=state.budget, user=user, period_began=state.began)
            earlier = BudgetWarning.objects.filter(budget=state.budget, user=user, period_began=state.began)
            if not earlier.exists():
                BudgetWarning.objects.bulk_create([warning], ignore_conflicts=True)
                return state
    return None


@receiver([post_save, post_delete], sender=Budget)
def forget_cache(**_: object) -> None:
    """Look at the budgets again, because they have changed."""
    exists.forget()


def _used(budgets: Sequence[Budget], periods: Sequence[tuple[dt.datetime, dt.datetime]]) -> list[tuple[Decimal, int]]:
    """Return the US dollars and tokens that were used of each of `budgets` since its period began."""
    parts: list[str] = []
    values: list[bool | int | float | Decimal | str | dt.datetime | None] = []
    for budget, (began, _ends) in zip(budgets, periods, strict=True):
        whose, value = (OF_PERSON, budget.user_id) if budget.user_id else (OF_GROUP, budget.group_id)
        is_of_all = value is None
        parts.append(USED if is_of_all else USED + whose)
        values += [began] if is_of_all else [began, value]
    with connection.cursor() as cursor:
        cursor.execute(" UNION ALL ".join(f"({part})" for part in parts), values)
        return cursor.fetchall()
