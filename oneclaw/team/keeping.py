"""The page of retention: how long things are kept, legal holds, and the receipts of removed people."""

from typing import Any

from django import forms
from django.contrib import messages
from django.contrib.auth.decorators import permission_required
from django.core.exceptions import ValidationError
from django.db import transaction
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext_lazy as _
from django.views.decorators.http import require_GET, require_POST

from oneclaw.audit import holds
from oneclaw.audit.record import record
from oneclaw.models import AuditKind, LegalHold, Offboarding, RetentionRule, Space, User
from oneclaw.people import roles
from oneclaw.people.requests import SignedInRequest
from oneclaw.people.sign_in.fresh import fresh_sign_in_required
from oneclaw.spaces.names import SpaceNames

manages_people = permission_required(roles.MANAGE_PEOPLE, raise_exception=True)
# Receipts that the page lists.
SHOWN_RECEIPTS = 50
SPACES = Space.objects.exclude(kind__in=Space.PRIVATE).order_by("name", "pk")


class SpaceField(forms.ModelChoiceField):
    """A choice of a shared space, by the names that its reader is shown."""

    names = SpaceNames(frozenset())

    def label_from_instance(self, space: Space) -> str:
        return self.names.of(space)


class KeepingForm(forms.Form):
    """A form with a choice of a space, for the admin `reader`."""

    def __init__(self, reader: User, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        field = self.fields["space"]
        assert isinstance(field, SpaceField)
        field.names = SpaceNames.for_reader(reader)


class RuleForm(KeepingForm):
    """How long things of a kind are kept, everywhere or in one space."""

    kind = forms.ChoiceField(label=_("What"), choices=RetentionRule.Kind.choices)
    space = SpaceField(
        label=_("Space"), queryset=SPACES, required=False, empty_label=_("Everywhere without a rule of its own")
    )
    days = forms.IntegerField(label=_("Days"), min_value=1, max_value=36500)


class HoldForm(KeepingForm):
    """Of whom, or of which space, nothing may be removed."""

    email = forms.EmailField(
        label=_("Email of a person"), required=False, widget=forms.EmailInput(attrs={"autocomplete": "off"})
    )
    space = SpaceField(label=_("Or a space"), queryset=SPACES, required=False)
    reason = forms.CharField(label=_("Why"), max_length=300)

    def clean(self) -> dict[str, object]:
        data = super().clean() or {}
        email = data.get("email")
        data["person"] = User.objects.filter(email__iexact=email).first() if email else None
        if email and data["person"] is None:
            raise ValidationError(_("Nobody here has this address."))
        if bool(email) == bool(data.get("space")):
            raise ValidationError(_("Name a person or a space."))
        return data


@require_GET
@manages_people
def keeping(request: SignedInRequest) -> HttpResponse:
    """Show the rules, the holds and the receipts."""
    return shown(request, RuleForm(request.user, prefix="rule"), HoldForm(request.user, prefix="hold"))


def shown(request: SignedInRequest, rule_form: RuleForm, hold_form: HoldForm, status: int = 200) -> HttpResponse:
    """Return the page."""
    names = SpaceNames.for_reader(request.user)
    holds_now = LegalHold.objects.filter(ended_at=None).select_related("user", "space", "made_by").order_by("pk")
    context = {
        "rules": [
            {"rule": rule, "space": names.of(rule.space) if rule.space is not None else ""}
            for rule in RetentionRule.objects.select_related("space")
        ],
        "holds": [
            {"hold": hold, "of": names.of(hold.space) if hold.space is not None else hold.user and hold.user.email}
            for hold in holds_now
        ],
        "receipts": Offboarding.objects.visible_to(request.user).order_by("-pk")[:SHOWN_RECEIPTS],
        "rule_form": rule_form,
        "hold_form": hold_form,
    }
    return render(request, "team/keeping.html", context, status=status)


@require_POST
@manages_people
@fresh_sign_in_required
def set_rule(request: SignedInRequest) -> HttpResponse:
    """Store a rule in place of the one for the same kind and space."""
    form = RuleForm(request.user, request.POST, prefix="rule")
    if not form.is_valid():
        return shown(request, form, HoldForm(request.user, prefix="hold"), status=422)
    kind, space, days = (form.cleaned_data[name] for name in ("kind", "space", "days"))
    with transaction.atomic():
        RetentionRule.objects.update_or_create(kind=kind, space=space, defaults={"days": days})
        record(AuditKind.SETTING_CHANGED, actor=request.user, space=space, setting=f"retention of {kind}", days=days)
    messages.success(request, _("Saved."))
    return redirect("team_keeping")


@require_POST
@manages_people
@fresh_sign_in_required
def remove_rule(request: SignedInRequest, rule_id: int) -> HttpResponse:
    """Remove a rule: what it removed by age is kept again."""
    with transaction.atomic():
        rule = RetentionRule.objects.filter(pk=rule_id).first()
        if rule is not None:
            setting = f"retention of {rule.kind}"
            record(AuditKind.SETTING_CHANGED, actor=request.user, space=rule.space, setting=setting, days=None)
            rule.delete()
    return redirect("team_keeping")


@require_POST
@manages_people
@fresh_sign_in_required
def set_hold(request: SignedInRequest) -> HttpResponse:
    """Let nothing of a person or a space be removed."""
    form = HoldForm(request.user, request.POST, prefix="hold")
    if not form.is_valid():
        return shown(request, RuleForm(request.user, prefix="rule"), form, status=422)
    data = form.cleaned_data
    holds.hold(request.user, data["reason"], person=data["person"], space=data["space"])
    messages.success(request, _("Saved."))
    return redirect("team_keeping")


@require_POST
@manages_people
@fresh_sign_in_required
def end_hold(request: SignedInRequest, hold_id: int) -> HttpResponse:
    """End a hold: what was due to be removed goes with the next run."""
    holds.end(request.user, hold_id)
    return redirect("team_keeping")
