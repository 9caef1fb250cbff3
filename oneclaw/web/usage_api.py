"""GET /usage: what the person's own calls of models have cost in a month."""

import datetime as dt

from django.utils import translation
from ninja import Router, Schema
from pydantic import Field

from oneclaw.models import Spend
from oneclaw.spend import budgets, report
from oneclaw.spend.budgets import BudgetState
from oneclaw.spend.report import Month, Sums
from oneclaw.web.api import ApiError, KeyedRequest, responses

router = Router(tags=["person"])


class SumsOut(Schema):
    """What some calls of models took."""

    calls: int
    input_tokens: int
    output_tokens: int
    cached_tokens: int = Field(description="Of prompts, what was read from the provider's cache.")
    written_tokens: int = Field(description="Of prompts, what was written into the provider's cache.")
    cost: float = Field(description="In US dollars, of the calls that have a price.")
    unpriced: int = Field(description="Calls without a price.")

    @staticmethod
    def of(sums: Sums) -> "SumsOut":
        return SumsOut(
            calls=sums.calls,
            input_tokens=sums.input_tokens,
            output_tokens=sums.output_tokens,
            cached_tokens=sums.cached_tokens,
            written_tokens=sums.written_tokens,
            cost=float(sums.cost),
            unpriced=sums.unpriced,
        )


class DayOut(SumsOut):
    day: dt.date


class NamedSumsOut(SumsOut):
    name: str


class BudgetOut(Schema):
    """What is used of a budget that applies to the person."""

    scope: str = Field(description="Whose spending counts: person, group or all.")
    period: str = Field(examples=["day", "month"])
    used_cost: float
    max_cost: float | None
    used_tokens: int
    max_tokens: int | None
    ends: dt.datetime

    @staticmethod
    def of(state: BudgetState) -> "BudgetOut":
        budget = state.budget
        return BudgetOut(
            scope=state.scope,
            period=budget.period,
            used_cost=float(state.used_cost),
            max_cost=None if budget.max_cost is None else float(budget.max_cost),
            used_tokens=state.used_tokens,
            max_tokens=budget.max_tokens,
            ends=state.ends,
        )


class UsageOut(Schema):
    """What the person's calls of models took in a month."""

    month: str = Field(examples=["2026-11"])
    total: SumsOut
    memory: SumsOut = Field(description="Of these, what was done for memory.")
    days: list[DayOut] = Field(description="The days on which a model was asked.")
    models: list[NamedSumsOut]
    purposes: list[NamedSumsOut]
    budgets: list[BudgetOut]


@router.get("/usage", response=responses(UsageOut, 422))
def usage(request: KeyedRequest, month: str = "") -> UsageOut:
    """Return what your calls of models have cost in `month`, such as 2026-11; by default in the present one."""
    user = request.auth
    try:
        asked = Month.of(month, user.day(), user.zone)
    except ValueError:
        raise ApiError(422, "invalid", "month: Write it like 2026-11.") from None
    spends = asked.of_spends(Spend.objects.visible_to(user))
    with translation.override("en"):
        models, purposes = report.by(spends, "model"), report.by(spends, "purpose")
    return UsageOut(
        month=str(asked),
        total=SumsOut.of(report.sums_of(spends)),
        memory=SumsOut.of(report.sums_of(report.of_memory(spends))),
        days=[DayOut(day=day, **SumsOut.of(sums).dict()) for day, sums in report.by_day(spends, asked) if sums.calls],
        models=[NamedSumsOut(name=row.key, **SumsOut.of(row.sums).dict()) for row in models],
        purposes=[NamedSumsOut(name=row.key, **SumsOut.of(row.sums).dict()) for row in purposes],
        budgets=[BudgetOut.of(state) for state in budgets.states_of(user)],
    )
