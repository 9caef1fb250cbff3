"""Ask for a fresh sign-in before rights, or the ways to sign in, are changed."""

import time
from collections.abc import Callable
from functools import wraps
from typing import Any

from allauth.account import app_settings
from allauth.account.adapter import get_adapter
from allauth.account.authentication import get_authentication_records
from allauth.core.exceptions import ImmediateHttpResponse
from allauth.mfa.utils import is_mfa_enabled
from django.contrib import messages
from django.contrib.auth import REDIRECT_FIELD_NAME
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.http import urlencode
from django.utils.translation import gettext as _

from oneclaw.models import User
from oneclaw.people.requests import SignedInRequest
from oneclaw.people.sign_in import providers, reauthentication, suspended

View = Callable[..., HttpResponse]
# How allauth calls a sign-in by a provider. It says nothing of when the provider has asked the person.
BY_PROVIDER = "socialaccount"
# How allauth calls a code or a passkey.
BY_SECOND_FACTOR = "mfa"


def fresh_sign_in_required(view: View) -> View:
    """Return `view` as one that is only called within five minutes after the person has proved who they are.

    Otherwise they are asked for their password or second factor, and what they sent is then carried out. People who
    have neither are asked by their provider of single sign-on.
    """

    @wraps(view)
    def checked(request: SignedInRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        return view(request, *args, **kwargs) if is_fresh(request) else to_proof(request)

    return checked


def fresh_form_required(view: View) -> View:
    """Return `view`, a form with a secret, as one that is only opened and sent within these five minutes.

    What is sent later is not carried out after the sign-in, because it would wait for that in the row of the session,
    where a secret must not be.
    """
    checked = fresh_sign_in_required(view)

    @wraps(view)
    def opened(request: SignedInRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        if request.method == "POST" and not is_fresh(request):
            messages.error(request, _("Your sign-in is too long ago. Sign in again, and enter your change once more."))
            return redirect(request.path)
        return checked(request, *args, **kwargs)

    return opened


def is_fresh(request: HttpRequest) -> bool:
    """Return whether the person has proved in this session, a short time ago, who they are."""
    records = get_authentication_records(request, request.user)
    times = [record["at"] for record in records if record["method"] != BY_PROVIDER]
    return any(map(is_recent, [*times, reauthentication.remembered(request).get("at") or 0.0]))


def is_fresh_by_second_factor(request: HttpRequest) -> bool:
    """Return whether the person has used their second factor in this session a short time ago."""
    records = get_authentication_records(request, request.user)
    return any(record["method"] == BY_SECOND_FACTOR and is_recent(record["at"]) for record in records)


def to_second_factor(request: HttpRequest) -> HttpResponse:
    """Lead to where the person uses their second factor; `request` then goes on."""
    next_url = suspended.suspend(request)
    return HttpResponseRedirect(f"{reverse('mfa_reauthenticate')}?{urlencode({REDIRECT_FIELD_NAME: next_url})}")


def is_recent(at: float) -> bool:
    """Return whether the time `at`, in seconds of the epoch, is within the last five minutes."""
    return time.time() - at < app_settings.REAUTHENTICATION_TIMEOUT


def to_proof(request: HttpRequest) -> HttpResponse:
    """Lead to where the person proves who they are; `request` then goes on."""
    person = request.user
    assert isinstance(person, User)
    provider = None if has_own_proof(person) else providers.of_person(person)
    methods = get_adapter().get_reauthentication_methods(person)
    if provider is None and not methods:
        return reauthentication.refused(request, "no-way")
    next_url = suspended.suspend(request)
    if provider is not None:
        return HttpResponseRedirect(reauthentication.address_to_ask(provider, next_url))
    return HttpResponseRedirect(f"{methods[0]['url']}?{urlencode({REDIRECT_FIELD_NAME: next_url})}")


def has_own_proof(person: User) -> bool:
    """Return whether `person` can prove here, without a provider, who they are."""
    return person.has_usable_password() or is_mfa_enabled(person)


def require_recent_sign_in(request: HttpRequest) -> None:
    """Lead a person without any proof of their own to their provider, unless they have signed in a short time ago.

    allauth lets them set up a second factor at any time, with which they would then be fresh. A provider that does not
    say when it has asked them cannot do more than sign them in.
    """
    person = request.user
    if not isinstance(person, User) or has_own_proof(person) or is_fresh(request):
        return
    kept = reauthentication.remembered(request)
    records = get_authentication_records(request, person)
    says_no_time = bool(kept) and kept["at"] is None
    if not (says_no_time and any(is_recent(record["at"]) for record in records)):
        raise ImmediateHttpResponse(to_proof(request))
