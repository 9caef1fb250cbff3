"""The addresses of sign-in by SAML. They exist only while it is configured."""

import logging
from collections.abc import Callable
from functools import wraps
from importlib import import_module
from typing import Any

from allauth.socialaccount.adapter import get_adapter
from allauth.socialaccount.helpers import complete_social_login
from allauth.socialaccount.providers.base.constants import AuthProcess
from allauth.socialaccount.sessions import LoginSession
from allauth.usersessions.models import UserSession
from django.conf import settings
from django.contrib.auth.decorators import login_not_required
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import redirect, render
from django.views.decorators.cache import never_cache
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from oneclaw.audit.record import record
from oneclaw.models import AuditKind, User
from oneclaw.people.sign_in import fresh
from oneclaw.people.sign_in.saml import messages
from oneclaw.people.sign_in.saml.errors import IdentityProviderError, RefusedMessageError
from oneclaw.people.sign_in.saml.sessions import SESSION_KEY, people_with
from oneclaw.people.sign_in.single_sign_on import refused

logger = logging.getLogger(__name__)

# Where an answer waits until the browser comes back with its own cookies.
ANSWER_COOKIE, ANSWER_SECONDS = "saml-answer", 120

View = Callable[[HttpRequest], HttpResponse]


def configured(view: View) -> View:
    """Return `view` as one that is there only while SAML is configured, and says when something does not work."""

    @wraps(view)
    def answered(request: HttpRequest) -> HttpResponse:
        if not settings.SAML.is_on:
            raise Http404
        try:
            return view(request)
        except RefusedMessageError as error:
            logger.warning("A message of SAML was refused (%s): %s", error.reason, str(error))
            return refused(request, error.reason)
        except IdentityProviderError as error:
            logger.error("The metadata of the identity provider of SAML cannot be used: %s", str(error))
            return render(request, "socialaccount/authentication_error.html", status=502)

    return login_not_required(never_cache(answered))


@configured
@require_http_methods(["GET", "POST"])
def sign_in(request: HttpRequest) -> HttpResponse:
    """Send the browser to the provider. A link may do so; connecting an account takes a form, and a fresh sign-in."""
    if request.method != "POST" and request.GET.get("process", AuthProcess.LOGIN) != AuthProcess.LOGIN:
        raise Http404
    if request.GET.get("process") == AuthProcess.CONNECT:
        fresh.require_recent_sign_in(request)
    response: HttpResponse = provider_of(request).redirect_from_request(request)
    return response


@csrf_exempt
@configured
@require_POST
def answer(request: HttpRequest) -> HttpResponse:
    """Check the answer that the identity provider lets the browser post, and keep it for `finish`.

    The post comes from another site, so it has no cookie of this one; the redirect after it has.
    """
    said = messages.read_answer(request)
    response = redirect("saml_finish")
    kept = LoginSession(request, "saml_answer", ANSWER_COOKIE)
    kept.store.update({"said": said})
    kept.store.set_expiry(ANSWER_SECONDS)
    kept.save(response)
    response.cookies[ANSWER_COOKIE]["httponly"] = True
    return response


@configured
@require_GET
def finish(request: HttpRequest) -> HttpResponse:
    """Sign in whom the kept answer names, if this browser has asked for it and it was not used before."""
    kept = LoginSession(request, "saml_answer", ANSWER_COOKIE)
    said = kept.store.get("said")
    kept.delete()
    if said is None:
        raise RefusedMessageError("replayed", "No answer waits for this browser.")
    provider = provider_of(request)
    login = provider.sociallogin_from_response(request, said)
    try:
        login.state = provider.unstash_redirect_state(request, said["nonce"])
    except PermissionDenied:
        raise RefusedMessageError("replayed", "This browser has not asked, or was answered before.") from None
    response: HttpResponse = complete_social_login(request, login)
    return response


@configured
@require_GET
def sign_out(request: HttpRequest) -> HttpResponse:
    """End the sign-ins that have ended at the identity provider, and lead back to it."""
    message = messages.read_sign_out(request)
    for person in people_with(message.name_id):
        end_sign_ins(request, person, message)
    return HttpResponseRedirect(message.answer_url) if message.answer_url else redirect("account_login")


@configured
@require_GET
def metadata(request: HttpRequest) -> HttpResponse:
    """Return what the administrator of the identity provider needs, as XML."""
    return HttpResponse(messages.own_metadata(request), content_type="application/samlmetadata+xml")


def provider_of(request: HttpRequest) -> Any:
    """Return allauth's provider of SAML."""
    return get_adapter().get_provider(request, settings.SAML.PROVIDER_ID)


def end_sign_ins(request: HttpRequest, person: User, message: messages.SignOut) -> None:
    """End those sign-ins of `person` that belong to the sessions of `message`; their sockets close at once."""
    engine = import_module(settings.SESSION_ENGINE)
    ended = 0
    for each in UserSession.objects.filter(user=person):
        at_provider = engine.SessionStore(each.session_key).get(SESSION_KEY) or {}
        if at_provider.get("name_id") != message.name_id:
            continue
        if message.session_indexes and at_provider.get("index") not in message.session_indexes:
            continue
        if each.session_key == request.session.session_key:
            request.session.flush()
        each.end()
        ended += 1
    if ended:
        record(AuditKind.SIGNED_OUT, person=person, devices=ended)
