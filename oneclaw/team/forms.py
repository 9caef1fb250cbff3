"""The forms of inviting people."""

from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from django.utils.translation import gettext_lazy as _
from django.utils.translation import ngettext

from oneclaw.models import Group, User
from oneclaw.people import roles
from oneclaw.people.addresses import EMAIL_MAX_CHARS
from oneclaw.people.sign_in import inviting

# Bytes of a file of people.
CSV_MAX_BYTES = 1024 * 1024


def days_field() -> forms.TypedChoiceField:
    """Return the field for how long a link is valid."""
    choices = [(days, ngettext("{days} day", "{days} days", days).format(days=days)) for days in inviting.DAYS_CHOICES]
    return forms.TypedChoiceField(label=_("Link is valid for"), choices=choices, coerce=int, initial=7)


class InviteForm(forms.Form):
    """One person to invite."""

    email = forms.EmailField(
        label=_("Email"),
        required=False,
        max_length=EMAIL_MAX_CHARS,
        widget=forms.EmailInput(attrs={"autocomplete": "off"}),
        help_text=_("Leave it empty for a link with which the person enters the address."),
    )
    role = forms.ChoiceField(label=_("Role"), required=False)
    groups = forms.ModelMultipleChoiceField(
        label=_("Groups"), required=False, queryset=Group.objects.none(), widget=forms.CheckboxSelectMultiple
    )
    mailed = forms.BooleanField(label=_("Send the link by email"), required=False, initial=True)

    def __init__(self, actor: User, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["days"] = days_field()
        self.fields["role"].choices = [  # type: ignore[attr-defined]
            (value, label) for value, label in User.Role.choices if roles.may_give(actor, value)
        ]
        self.fields["groups"].queryset = roles.groups_to_give(actor)  # type: ignore[attr-defined]
        if not self.fields["groups"].queryset.exists():  # type: ignore[attr-defined]
            del self.fields["groups"]
        if len(self.fields["role"].choices) < 2:  # type: ignore[attr-defined]
            del self.fields["role"]
        if not inviting.can_mail():
            del self.fields["mailed"]

    def wish(self) -> inviting.Wish:
        """Return whom the form invites with what."""
        data = self.cleaned_data
        return inviting.Wish(data["email"], data.get("role", ""), list(data.get("groups", [])))


class ManyForm(forms.Form):
    """Many people to invite, as lines or as a CSV file."""

    lines = forms.CharField(
        label=_("One person in each line: email, role, groups"),
        required=False,
        widget=forms.Textarea(attrs={"rows": 5, "placeholder": "ada@example.org,,Research;Reading"}),
    )
    file = forms.FileField(label=_("Or a CSV file"), required=False)
    mailed = forms.BooleanField(label=_("Send the links by email"), required=False, initial=True)

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["days"] = days_field()
        if not inviting.can_mail():
            del self.fields["mailed"]

    def clean(self) -> dict[str, Any]:
        data = super().clean() or {}
        upload = data.get("file")
        if upload is not None and upload.size > CSV_MAX_BYTES:
            raise ValidationError(_("The file is too large."))
        try:
            data["text"] = upload.read().decode("utf-8-sig") if upload else data.get("lines", "")
        except UnicodeDecodeError as error:
            raise ValidationError(_("The file is not a UTF-8 text.")) from error
        if not data["text"].strip():
            raise ValidationError(_("Write the people, or choose a file."))
        return data
