"""Ask the provider of single sign-on to ask a person again, and accept only an answer that proves that it did.

OpenID Connect Core 1.0, 3.1.2.1: `prompt=login` and `max_age=0` ask for it, and the claim `auth_time` of the ID token
says when the person was asked. SAML 2.0 Core, 3.4.1 and 2.7.2: `ForceAuthn` and `AuthnInstant`. A provider may ignore
what was asked for, so that only the time proves it.
"""

import time
from collections.abc import Mapping
from typing import Any

from allauth.socialaccount.providers.base.constants import AuthAction
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils.http import urlencode
from django.utils.translation import gettext_lazy as _

from oneclaw.models import User
from oneclaw.people.sign_in.providers import SignInProvider

# How far the clock of a provider may be from ours. RFC 7519, 4.1.4: “some small leeway, usually no more than a few
# minutes, to account for clock skew”.
CLOCK_LEEWAY_SECONDS = 60
# A number above it is no time of these centuries; NaN is not below it.
LAST_TIME_SECONDS = 1e11
# The key in the session of {"person": id, "at": seconds of the epoch}: when the provider has asked the person last;
# None when it does not say.
SESSION_KEY = "asked_by_provider"
# In the state of a sign-in that proves who a person is who is signed in already.
STATE_KEY = "reauthentication"

# Why a person was not confirmed, as a code.
REASONS = {
    "replayed": _("This confirmation has expired or was used before. Nothing was changed. Make your change again."),
    "somebody-else": _(
        "You have signed in at your organisation as somebody else. Nothing was changed. Make your change again, and "
        "sign in there as yourself."
    ),
    "not-asked": _(
        "The sign-in of your organisation let you through without asking who you are, so nothing was changed. Sign out "
        "there and here, sign in again, and make your change within five minutes."
    ),
    "no-time": _(
        "The sign-in of your organisation does not say when it has asked you who you are (auth_time), so nothing was "
        "changed. Sign out here and in again, set up a passkey or an app in the settings within five minutes, and "
        "confirm with that."
    ),
    "clock": _(
        "The clock of your organisation’s sign-in is wrong, so nothing was changed. Ask your administrator to set it."
    ),
    "no-way": _(
        "You have neither a password nor a second factor here, so nothing was changed. Ask your administrator for a "
        "link to choose a password."
    ),
}


def address_to_ask(provider: SignInProvider, next_url: str) -> str:
    """Return the address at which `provider` is asked to ask the person again, and then leads to `next_url`."""
    return f"{reverse(provider.url)}?{urlencode({'action': AuthAction.REAUTHENTICATE, 'next': next_url})}"


def state_of(request: HttpRequest) -> dict[str, Any]:
    """Return what to keep of a sign-in that begins with `request`: who is to be asked again, and since when."""
    if request.GET.get("action") != AuthAction.REAUTHENTICATE or not isinstance(request.user, User):
        return {}
    return {STATE_KEY: {"person": request.user.pk, "begun_at": time.time()}}


def is_going_on(sociallogin: Any) -> bool:
    """Return whether `sociallogin` is to prove who a person is who is signed in already."""
    return STATE_KEY in sociallogin.state


def refusal(request: HttpRequest, sociallogin: Any) -> str:
    """Return "" when `sociallogin` proves that the provider has just asked the person; otherwise a code of REASONS."""
    asked_for = sociallogin.state[STATE_KEY]
    if request.user.pk != asked_for["person"]:
        return "replayed"
    # Only by an account that is connected, and not by an address that is the same.
    if not sociallogin.account.pk or sociallogin.user.pk != request.user.pk:
        return "somebody-else"
    at = asked_at(sociallogin.account.extra_data)
    if at is None:
        return "no-time"
    if at < asked_for["begun_at"] - CLOCK_LEEWAY_SECONDS:
        return "not-asked"
    return "clock" if at > time.time() + CLOCK_LEEWAY_SECONDS else ""


def asked_at(said: Mapping[str, Any]) -> float | None:
    """Return when the provider has asked the person, in seconds of the epoch; None when it does not say. Pure."""
    at = said.get("auth_time")
    if not isinstance(at, int | float) or isinstance(at, bool):
        return None
    return float(at) if 0 < at < LAST_TIME_SECONDS else None


def remember(request: HttpRequest, person: Any, said: Mapping[str, Any]) -> None:
    """Keep in the session when the provider has asked `person`, as far as `said` proves it."""
    at, now = asked_at(said), time.time()
    if at is not None:
        at = min(at, now) if at <= now + CLOCK_LEEWAY_SECONDS else 0.0
    request.session[SESSION_KEY] = {"person": person.pk, "at": at}


def remembered(request: HttpRequest) -> dict[str, Any]:
    """Return what is kept of the person who is signed in; {} without a sign-in by a provider."""
    kept = request.session.get(SESSION_KEY) or {}
    return kept if kept.get("person") == request.user.pk else {}


def refused(request: HttpRequest, reason: str) -> HttpResponse:
    """Return the page that says why the person was not confirmed."""
    return render(request, "people/not_confirmed.html", {"reason": REASONS[reason]}, status=403)
