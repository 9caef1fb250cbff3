"""The forms of the page of channels."""

from typing import Any

from django import forms
from django.conf import settings
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from chat.models import RESET_MAX_MINUTES, IdentityLink, Reset, ResetChoice, ResetFields, SessionRoute
from chat.routes.resets import rule_of


class ResetForm(forms.ModelForm):
    """When the routes of a person, or one of them, get a new conversation; an empty field keeps what applies above."""

    reset_hour = forms.IntegerField(label=gettext_lazy("Hour of the day"), required=False, min_value=0, max_value=23)
    reset_minutes = forms.IntegerField(
        label=gettext_lazy("Minutes of pause"), required=False, min_value=1, max_value=RESET_MAX_MINUTES
    )

    class Meta:
        model = ResetChoice
        fields = ("reset", "reset_hour", "reset_minutes")

    def __init__(self, *args: Any, above: ResetFields | None = None, **kwargs: Any) -> None:
        """Show what applies when a field is empty: the choice `above`, the person's, or the server's for None."""
        super().__init__(*args, **kwargs)
        rule = rule_of(SessionRoute(), above)
        inherited = Reset((above and above.reset) or settings.RESET)
        words = _("As for all channels (%(choice)s)") if above else _("Server default (%(choice)s)")
        choices = [("", words % {"choice": inherited.label}), *Reset.choices]
        self.fields["reset"] = forms.ChoiceField(label=_("Start a new conversation"), required=False, choices=choices)
        self.fields["reset_hour"].widget.attrs["placeholder"] = rule.hour
        self.fields["reset_minutes"].widget.attrs["placeholder"] = rule.minutes
        self.fields["reset_hour"].help_text = _("At this hour in your timezone a new day begins: 0 to 23.")
        self.fields["reset_minutes"].help_text = _("Since you last wrote something.")


class RouteResetForm(ResetForm):
    """When one route gets a new conversation."""

    class Meta:
        model = SessionRoute
        fields = ResetForm.Meta.fields


class LinkForm(forms.Form):
    """The name of a person whose peer gets a code."""

    name = forms.CharField(
        label=gettext_lazy("Name"),
        max_length=IdentityLink.NAME_MAX_CHARS,
        widget=forms.TextInput(attrs={"autocomplete": "off"}),
        help_text=gettext_lazy("All peers that you link to one name share a conversation. For example your own name."),
    )
    is_owner = forms.BooleanField(
        label=gettext_lazy("This is me"),
        required=False,
        help_text=gettext_lazy("Your own peers read and write your memory. Everybody else’s are kept apart from it."),
    )
