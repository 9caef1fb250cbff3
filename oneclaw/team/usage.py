"""What everybody's calls of models have cost: a page, and a file for a spreadsheet."""

import csv
from dataclasses import replace

from django.contrib.auth.decorators import permission_required
from django.http import HttpResponse
from django.shortcuts import render
from django.utils.translation import gettext_lazy as _
from django.views.decorators.http import require_GET

from oneclaw.models import Spend, SpendQuerySet
from oneclaw.people.requests import SignedInRequest
from oneclaw.people.usage import chart_of, month_asked, months_of
from oneclaw.spaces.names import SpaceNames
from oneclaw.spend import budgets, report

TITLES = {
    "person": _("By person"),
    "group": _("By group"),
    "space": _("By space"),
    "purpose": _("By purpose"),
    "model": _("By model"),
}
# Rows of each table of the page; the file has all of them.
TABLE_MAX_ROWS = 50
COLUMNS = (
    *("day", "person", "space", "space_id", "purpose", "model", "calls"),
    *("input_tokens", "output_tokens", "cached_tokens", "written_tokens", "cost", "calls_without_price"),
)
# What the file calls the private spaces of people and their agents, which have no id there.
PRIVATE_NAME = "private"
# A spreadsheet would compute a text that begins with one of these.
FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r")
sees_spend = permission_required("oneclaw.view_spend", raise_exception=True)


@require_GET
@sees_spend
def usage(request: SignedInRequest) -> HttpResponse:
    """Show what was spent in a month, by day, person, group, space, model and purpose, and what is left of budgets."""
    month = month_asked(request)
    spends = month.of_spends(Spend.objects.all())
    whole = report.sums_of(spends)
    names = SpaceNames.for_reader(request.user)
    context = {
        **months_of(month, request),
        "whole": whole,
        "memory_percent": report.share(report.sums_of(report.of_memory(spends)), whole),
        **chart_of(report.by_day(spends, month), whole),
        "tables": [(title, rows_of(spends, grouping, names)) for grouping, title in TITLES.items()],
        "budgets": budgets.states_of_all(),
        "may_change_budgets": request.user.has_perm("oneclaw.change_budget"),
    }
    return render(request, "team/usage.html", context)


def rows_of(spends: SpendQuerySet, grouping: str, names: SpaceNames) -> list[report.Row]:
    """Return the first rows of a table, with those names of spaces that its reader is shown."""
    rows = report.by(spends, grouping)[:TABLE_MAX_ROWS]
    if grouping != "space":
        return rows
    return [replace(row, name=names.of_row(int(row.key), row.name)) if row.key else row for row in rows]


@require_GET
@sees_spend
def as_csv(request: SignedInRequest) -> HttpResponse:
    """Send what was spent in a month as comma-separated values: a line for each day, person, space, purpose, model."""
    month = month_asked(request)
    response = HttpResponse(content_type="text/csv; charset=utf-8")
    response["Content-Disposition"] = f'attachment; filename="usage-{month}.csv"'
    writer = csv.writer(response)
    writer.writerow(COLUMNS)
    names = SpaceNames.for_reader(request.user)
    for row in report.lines(month.of_spends(Spend.objects.all()), month):
        space_id, space = row["shared_space"], PRIVATE_NAME if row["is_private"] else row["shared_name"]
        space = names.of_row(space_id, space) if space_id else space
        texts = [row["user__email"], space, str(space_id or ""), row["purpose"], row["model"]]
        tokens = [row[f"sum_{name}"] for name in Spend.TOKENS]
        cells = [row["day"].isoformat(), *map(harmless, texts), row["calls"], *tokens]
        writer.writerow([*cells, f"{row['sum_cost']:f}", row["unpriced"]])
    return response


def harmless(text: str | None) -> str:
    """Return `text` for a cell that no spreadsheet takes for a formula."""
    return f"'{text}" if text and text.startswith(FORMULA_STARTS) else text or ""
