"""The forms of signing in, of one-time links and of the person's own settings."""

from typing import Any

from allauth.account.forms import ChangePasswordForm, LoginForm, ReauthenticateForm, SignupForm
from allauth.mfa.webauthn.forms import AddWebAuthnForm
from django import forms
from django.conf import settings
from django.contrib.auth.forms import SetPasswordMixin
from django.core.exceptions import ValidationError
from django.utils.translation import gettext_lazy as _

from oneclaw.models import ApiKey, User, validate_timezone
from oneclaw.people import keys
from oneclaw.people.addresses import EMAIL_MAX_CHARS, check_email
from oneclaw.people.sign_in import sign_up


class FocusedForm(forms.Form):
    """A form whose page is there for it alone: its first field has the focus."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        next(iter(self.visible_fields())).field.widget.attrs["autofocus"] = True


class FocusedLoginForm(FocusedForm, LoginForm):
    """Email and password of a person who signs in."""


class FocusedSignupForm(FocusedForm, SignupForm):
    """Email and password of a person who creates an account."""

    def clean_email(self) -> str:
        email = super().clean_email().lower()
        # allauth would cut it off, and the rest is another address, perhaps of another domain.
        check_email(email)
        if not sign_up.may_sign_up(email):
            raise ValidationError(_("Only addresses of this organisation can sign up."))
        return email


class FocusedPasswordForm(FocusedForm, ChangePasswordForm):
    """The old and the new password of a person."""


class WelcomeForm(FocusedForm, SetPasswordMixin):
    """A new person's name and password."""

    name = forms.CharField(
        label=_("Your name"), max_length=150, required=False, widget=forms.TextInput(attrs={"autocomplete": "name"})
    )
    password1, password2 = SetPasswordMixin.create_password_fields(label1=_("Password"), label2=_("Confirm password"))

    def __init__(self, *args: Any, user: User, **kwargs: Any) -> None:
        self.user = user
        super().__init__(*args, **kwargs)

    def clean(self) -> dict[str, Any]:
        self.validate_passwords()
        self.validate_password_for_user(self.user, "password1")
        return super().clean() or {}

    def save(self) -> User:
        """Save name and password, and return the person."""
        self.user.first_name = self.cleaned_data["name"]
        self.user.set_password(self.cleaned_data["password1"])
        self.user.save()
        return self.user


class ConfirmForm(FocusedForm, ReauthenticateForm):
    """The password of a person who confirms that it is them."""


class PasskeyForm(AddWebAuthnForm):
    """The name of a new passkey, with which a person can sign in without a password."""

    name = forms.CharField(label=_("Name"), required=False, max_length=100)

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        # Each is one that can sign in alone, see static/js/passkeys.js.
        self.fields["passwordless"].widget = forms.HiddenInput()
        self.initial["passwordless"] = True


class FirstAccountForm(WelcomeForm):
    """Email, name and password of the first account."""

    email = forms.EmailField(
        label=_("Email"), max_length=EMAIL_MAX_CHARS, widget=forms.EmailInput(attrs={"autocomplete": "email"})
    )
    field_order = ("email", "name", "password1", "password2")

    def clean_email(self) -> str:
        self.user.email = self.cleaned_data["email"].strip().lower()
        return self.user.email


class InvitedForm(FirstAccountForm):
    """Name and password of an invited person, and the email when the invitation has none."""

    def __init__(self, *args: Any, user: User, **kwargs: Any) -> None:
        super().__init__(*args, user=user, **kwargs)
        if user.email:
            del self.fields["email"]
            next(iter(self.visible_fields())).field.widget.attrs["autofocus"] = True

    def clean_email(self) -> str:
        email = super().clean_email()
        if User.objects.filter(email__iexact=email).exists():
            raise ValidationError(_("There is an account with this email address already. Sign in instead."))
        return email


class SettingsForm(forms.ModelForm):
    """The settings of a person's own account."""

    language = forms.ChoiceField(
        label=_("Language"), required=False, choices=[("", _("Browser default")), *settings.LANGUAGES]
    )
    appearance = forms.ChoiceField(
        label=_("Appearance"), required=False, choices=[("", _("Device default")), *User.Appearance.choices]
    )

    class Meta:
        model = User
        fields = ("first_name", "timezone", "language", "appearance")
        labels = {"first_name": _("Name"), "timezone": _("Timezone")}
        widgets = {"timezone": forms.TextInput(attrs={"list": "timezones", "autocomplete": "off"})}
        help_texts = {"timezone": _("Decides when a day begins for your notes. For example Europe/Zurich.")}

    def clean_timezone(self) -> str:
        name = self.cleaned_data["timezone"].strip()
        try:
            validate_timezone(name)
        except ValidationError as error:
            raise ValidationError(_("This is not a timezone. Write it like Europe/Zurich.")) from error
        return name

    def save(self, commit: bool = True) -> User:
        """Save the settings and return the person; a changed timezone counts as chosen from then on."""
        if "timezone" in self.changed_data:
            self.instance.timezone_chosen = True
        return super().save(commit)


class KeyForm(forms.Form):
    """Name and period of a new API key."""

    name = forms.CharField(
        label=_("Purpose"),
        max_length=ApiKey.NAME_MAX_CHARS,
        widget=forms.TextInput(attrs={"autocomplete": "off"}),
    )
    period = forms.ChoiceField(
        label=_("Expires after"),
        initial=keys.DEFAULT_PERIOD,
        choices=[
            ("month", _("30 days")),
            ("quarter", _("90 days")),
            ("year", _("1 year")),
            ("never", _("never")),
        ],
    )
