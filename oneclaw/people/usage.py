"""What a person's own calls of models have cost, on a page of their settings."""

import datetime as dt
from collections.abc import Sequence
from typing import Any

from django.http import Http404, HttpResponse
from django.shortcuts import render
from django.utils.formats import date_format
from django.utils.translation import gettext_lazy as _
from django.views.decorators.http import require_GET

from oneclaw.models import Spend
from oneclaw.people.requests import SignedInRequest
from oneclaw.spend import budgets, report
from oneclaw.spend.chart import HEIGHT, WIDTH, bars_of
from oneclaw.spend.report import Month, Sums

TITLES = {"purpose": _("By purpose"), "model": _("By model")}


@require_GET
def usage(request: SignedInRequest) -> HttpResponse:
    """Show what the person has spent in a month, and what is left of their budgets."""
    month = month_asked(request)
    spends = month.of_spends(Spend.objects.visible_to(request.user))
    whole = report.sums_of(spends)
    context = {
        **months_of(month, request),
        "whole": whole,
        "memory_percent": report.share(report.sums_of(report.of_memory(spends)), whole),
        **chart_of(report.by_day(spends, month), whole),
        "tables": [(title, report.by(spends, grouping)) for grouping, title in TITLES.items()],
        "budgets": budgets.states_of(request.user),
    }
    return render(request, "usage/own.html", context)


def month_asked(request: SignedInRequest) -> Month:
    """Return the month of the address (`month=2026-11`), by default the person's present one. Raise Http404."""
    try:
        return Month.of(request.GET.get("month", ""), request.user.day(), request.user.zone)
    except ValueError:
        raise Http404 from None


def months_of(month: Month, request: SignedInRequest) -> dict[str, Any]:
    """Return what the template of the months needs: `month`, and those before and after it that are linked."""
    earlier, later = month.neighbours(request.user.day())
    return {"month": month, "earlier": earlier, "later": later}


def chart_of(days: Sequence[tuple[dt.date, Sums]], whole: Sums) -> dict[str, Any]:
    """Return what the template of the chart needs: bars of US dollars if there are any, else of tokens."""
    values = [(str(day.day), sums.cost if whole.cost else sums.tokens) for day, sums in days]
    return {
        "bars": bars_of(values),
        "chart_width": WIDTH,
        "chart_height": HEIGHT,
        "in_dollars": bool(whole.cost),
        "days": [(date_format(day, "DATE_FORMAT"), sums) for day, sums in days if sums.calls],
    }
