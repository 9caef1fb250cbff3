"""Refuse a call of a model for a person whose budget is used up."""

from collections.abc import Sequence

from oneclaw.llm.failures import BudgetUsedUpError
from oneclaw.models import User
from oneclaw.spend import budgets
from oneclaw.spend.budgets import BudgetState


def refuse_if_used_up(user_id: int | None) -> None:
    """Raise BudgetUsedUpError when a budget of the person is used up. Sync."""
    user = User.objects.filter(pk=user_id).first() if user_id is not None and budgets.may_exist() else None
    if user is not None:
        refuse(user, budgets.states_of(user))


def refuse(user: User, states: Sequence[BudgetState]) -> None:
    """Raise BudgetUsedUpError when one of `states`, of the budgets of `user`, is used up."""
    refusal = refusal_of(user, states)
    if refusal is not None:
        raise refusal


def refusal_of(user: User, states: Sequence[BudgetState]) -> BudgetUsedUpError | None:
    """Return why a call for `user` is refused; None when no budget of `states` is used up."""
    state = budgets.used_up(states)
    if state is None:
        return None
    return BudgetUsedUpError(state.scope, state.budget.period, state.ends.astimezone(user.zone))
