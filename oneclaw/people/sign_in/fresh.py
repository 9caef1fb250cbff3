"""Ask for a fresh sign-in before rights are changed."""

import time
from collections.abc import Callable
from functools import wraps
from typing import Any

from allauth.account import app_settings
from allauth.account.authentication import get_authentication_records
from allauth.core.exceptions import ReauthenticationRequired
from allauth.mfa.utils import is_mfa_enabled
from django.contrib.auth import REDIRECT_FIELD_NAME
from django.http import HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django.utils.http import urlencode

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


def is_fresh(request: SignedInRequest) -> bool:
    """Return whether the person has proved in this session, a short time ago, who they are."""
    records = get_authentication_records(request, request.user)
    return any(time.time() - record["at"] < app_settings.REAUTHENTICATION_TIMEOUT for record in records)
