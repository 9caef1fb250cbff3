"""Ask for a fresh sign-in before rights are changed."""

import time
from collections.abc import Callable
from functools import wraps
from typing import Any

from allauth.account import app_settings
from allauth.account.authentication import get_authentication_records
from allauth.core.exceptions import ReauthenticationRequired
from allauth.mfa.utils import is_mfa_enabled
from django.contrib import messages
from django.contrib.auth import REDIRECT_FIELD_NAME
from django.http import HttpResponse, HttpResponseRedirect
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.http import urlencode
from django.utils.translation import gettext as _

from oneclaw.people.requests import SignedInRequest
from oneclaw.people.sign_in import providers

View = Callable[..., HttpResponse]


def fresh_sign_in_required(view: View) -> View:
    """Return `view` as one that is only called within five minutes after the person has proved who they are.

    Otherwise they are asked for their password or second factor, and what they sent is then carried out. People who
    have neither sign in with the provider again.
    """

    @wraps(view)
    def checked(request: SignedInRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        if is_fresh(request):
            return view(request, *args, **kwargs)
        person = request.user
        has_own_proof = person.has_usable_password() or is_mfa_enabled(person)
        provider = None if has_own_proof else providers.of_person(person)
        if provider is not None:
            back = request.get_full_path() if request.method == "GET" else reverse("chat")
            query = urlencode({REDIRECT_FIELD_NAME: back, "prompt": "login"})
            return HttpResponseRedirect(f"{reverse(provider.url)}?{query}")
        raise ReauthenticationRequired

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


def is_fresh(request: SignedInRequest) -> bool:
    """Return whether the person has proved in this session, a short time ago, who they are."""
    records = get_authentication_records(request, request.user)
    return any(time.time() - record["at"] < app_settings.REAUTHENTICATION_TIMEOUT for record in records)
