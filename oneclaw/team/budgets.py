"""The pages of budgets: make, change and delete what people, groups and everybody may spend."""

from decimal import Decimal
from typing import Any

from django import forms
from django.contrib import messages
from django.contrib.auth.decorators import permission_required
from django.core.exceptions import ValidationError
from django.db import transaction
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_http_methods

from oneclaw.audit.record import record
from oneclaw.llm.upstreams.servers import has_priced_model, models_without_price
from oneclaw.models import AuditKind, Budget, Group, User
from oneclaw.people.requests import SignedInRequest
from oneclaw.spend.budgets import states_of_all

NO_PRICES = gettext_lazy(
    "No model here has a price, so this budget would never be used up. Set ONECLAW_PRICES, or limit tokens."
)
changes_budgets = permission_required("oneclaw.change_budget", raise_exception=True)


class LimitsForm(forms.ModelForm):
    """The limits of a budget."""

    class Meta:
        model = Budget
        fields = ["max_cost", "max_tokens"]
        labels = {"max_cost": gettext_lazy("US dollars"), "max_tokens": gettext_lazy("Tokens")}

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        for name in ("max_cost", "max_tokens"):
            self.fields[name].widget.attrs["min"] = 0

    def clean_max_cost(self) -> Decimal | None:
        """Return the limit. Refuse one that would never be reached, because no call of a model costs anything here."""
        limit: Decimal | None = self.cleaned_data["max_cost"]
        if limit is not None and not has_priced_model():
            raise ValidationError(NO_PRICES)
        return limit


class BudgetForm(LimitsForm):
    """A new budget: of a person, of a group, or of everybody."""

    email = forms.EmailField(
        label=gettext_lazy("Person"),
        required=False,
        help_text=gettext_lazy("An email address. Without a person and a group, the budget is that of everybody."),
    )
    period = forms.ChoiceField(label=gettext_lazy("Period"), choices=Budget.Period.choices)
    group = forms.ModelChoiceField(
        label=gettext_lazy("Group"), required=False, queryset=Group.objects.all(), empty_label="–"
    )
    field_order = ("period", "email", "group", "max_cost", "max_tokens")

    class Meta(LimitsForm.Meta):
        fields = ["period", "group", "max_cost", "max_tokens"]

    def clean(self) -> dict[str, Any]:
        data = super().clean() or {}
        if email := data.get("email"):
            self.instance.user = User.objects.filter(email__iexact=email).first()
            if self.instance.user is None:
                self.add_error("email", _("Nobody has this address."))
        same = Budget.objects.filter(period=data.get("period"), user=self.instance.user, group=data.get("group"))
        if same.exists():
            raise ValidationError(_("There is such a budget already. Change that one."))
        return data


@require_http_methods(["GET", "POST"])
@changes_budgets
def budgets(request: SignedInRequest) -> HttpResponse:
    """Show all budgets with what is used of them; POST makes a budget."""
    made = Budget(timezone=request.user.timezone)
    form = BudgetForm(request.POST or None, instance=made, initial={"period": Budget.Period.MONTH})
    if request.method == "POST" and form.is_valid():
        saved(request, form)
        return redirect("team_budgets")
    status = 422 if form.errors else 200
    context = {"form": form, "budgets": states_of_all(), "unpriced": models_without_price()}
    return render(request, "team/budgets.html", context, status=status)


@require_http_methods(["GET", "POST"])
@changes_budgets
def budget(request: SignedInRequest, budget_id: int) -> HttpResponse:
    """Show the limits of a budget in a form; POST saves them, or deletes the budget (`do` = delete)."""
    found = get_object_or_404(Budget.objects.select_related("user", "group"), pk=budget_id)
    if request.method == "POST" and request.POST.get("do") == "delete":
        found.delete()
        messages.success(request, _("The budget was deleted."))
        return redirect("team_budgets")
    form = LimitsForm(request.POST or None, instance=found)
    if request.method == "POST" and form.is_valid():
        saved(request, form)
        return redirect("team_budgets")
    return render(request, "team/budget.html", {"form": form, "budget": found}, status=422 if form.errors else 200)


def saved(request: SignedInRequest, form: LimitsForm) -> None:
    """Save the budget of a valid form."""
    with transaction.atomic():
        budget = form.save()
        record(AuditKind.SETTING_CHANGED, actor=request.user, person=budget.user, **budget.details)
    messages.success(request, _("The budget was saved. It applies to the next message."))
