"""How signing in and signing up differ from allauth's defaults."""

from typing import Any

from allauth.account.adapter import DefaultAccountAdapter
from django.contrib import messages
from django.contrib.auth.models import AbstractBaseUser
from django.core.exceptions import ValidationError
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.translation import ngettext

from oneclaw import runtime_settings
from oneclaw.config.limits import SIGN_IN_WAIT_MINUTES
from oneclaw.models import User
from oneclaw.people.sign_in import attempts, fresh, sign_up


class AccountAdapter(DefaultAccountAdapter):
    """The differences from allauth's defaults."""

    def is_open_for_signup(self, request: HttpRequest) -> bool:
        """Return whether a person may create an account by the sign-up page."""
        return runtime_settings.value("sign_up") != "closed"

    def save_user(self, request: HttpRequest, user: Any, form: Any, commit: bool = True) -> Any:
        """Save a person who has signed up; where an admin decides, the account waits for that."""
        super().save_user(request, user, form, commit=False)
        sign_up.prepare(user, needs_approval=runtime_settings.value("sign_up") == "approval")
        if commit:
            user.save()
        return user

    def respond_user_inactive(self, request: HttpRequest, user: AbstractBaseUser) -> HttpResponse:
        """Say that the account waits for approval, or that it is deactivated."""
        if isinstance(user, User) and user.awaits_approval:
            return redirect("account_waiting")
        if isinstance(user, User) and user.awaits_owner:
            return redirect("account_awaits_owner")
        return super().respond_user_inactive(request, user)

    def get_password_change_redirect_url(self, request: HttpRequest) -> str:
        """Return the address of the settings page."""
        return reverse("settings")

    def is_reauthentication_required(self, *, app: str, **kwargs: Any) -> bool:
        """Return True: what changes how a person signs in needs a recent sign-in, also one by a provider."""
        fresh.require_recent_sign_in(self.request)
        return True

    def pre_authenticate(self, request: HttpRequest, **credentials: Any) -> None:
        """Refuse a password after too many wrong ones (`people/sign_in/attempts.py`)."""
        try:
            self.attempt = attempts.begin(credentials.get("email", ""), self.get_client_ip(request))
        except attempts.TooManyAttemptsError:
            raise self.validation_error("too_many_login_attempts") from None

    def authenticate(self, request: HttpRequest, **credentials: Any) -> Any:
        """Return the person with these credentials; None when they are wrong, which counts as an attempt."""
        user = super().authenticate(request, **credentials)
        if user is not None:
            attempts.succeed(self.attempt)
        return user

    def validation_error(self, code: str, *args: Any) -> ValidationError:
        """Return the error of `code`; after too many attempts it says how long to wait and what else to do."""
        if code != "too_many_login_attempts":
            return super().validation_error(code, *args)
        sentence = ngettext(
            "Too many wrong attempts: wait {minutes} minute, then try again. If the password is forgotten, ask your "
            "administrator for a new link.",
            "Too many wrong attempts: wait {minutes} minutes, then try again. If the password is forgotten, ask your "
            "administrator for a new link.",
            SIGN_IN_WAIT_MINUTES,
        )
        return ValidationError(sentence.format(minutes=SIGN_IN_WAIT_MINUTES), code=code)

    def add_message(
        self, request: HttpRequest, level: int, message_template: str | None = None, *args: Any, **kwargs: Any
    ) -> None:
        """Add a message only if it is a warning or confirms a new password: the page shows the rest itself."""
        if level >= messages.WARNING or message_template == "account/messages/password_changed.txt":
            super().add_message(request, level, message_template, *args, **kwargs)
