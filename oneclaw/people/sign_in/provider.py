"""The provider of single sign-on: OpenID Connect with the checks that allauth leaves to the product.

An answer counts only when it is of this sign-in (state, nonce, PKCE), of this provider (issuer, audience, one `sub` in
both sources of claims), and is used once.
"""

import hashlib
from typing import Any

from allauth.socialaccount.models import SocialApp
from allauth.socialaccount.providers.base.constants import AuthProcess
from allauth.socialaccount.providers.oauth2.client import OAuth2Error
from allauth.socialaccount.providers.oauth2.views import OAuth2CallbackView, OAuth2LoginView
from allauth.socialaccount.providers.openid_connect.provider import OpenIDConnectProvider
from allauth.socialaccount.providers.openid_connect.views import OpenIDConnectOAuth2Adapter
from allauth.utils import build_absolute_uri
from django.conf import settings
from django.contrib.auth.decorators import login_not_required
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.urls import reverse
from django.utils.crypto import get_random_string
from django.utils.http import urlencode
from requests import RequestException

from oneclaw.people.sign_in import fresh, reauthentication

NONCE_CHARS = 32
# How the provider may be asked again although it knows who is there.
PROMPTS = {"login", "select_account"}
# The claims that only the ID token may make.
OF_THE_SIGN_IN = ("sub", "iss", "aud", "nonce", "auth_time")
# What the provider must publish.
REQUIRED = {"authorization_endpoint", "token_endpoint", "jwks_uri"}


class Adapter(OpenIDConnectOAuth2Adapter):
    """Speaks with the provider."""

    @property
    def openid_config(self) -> dict[str, Any]:
        """Return what the provider publishes about itself. Raise OAuth2Error when it names another issuer."""
        config: dict[str, Any] = super().openid_config
        expected = self.get_provider().app.settings["server_url"].partition("/.well-known/")[0]
        if str(config.get("issuer", "")).rstrip("/") != expected.rstrip("/"):
            raise OAuth2Error("The provider names another issuer than the one that is configured.")
        if missing := REQUIRED - config.keys():
            raise OAuth2Error(f"The provider does not publish {', '.join(sorted(missing))}.")
        return config

    def complete_login(self, request: HttpRequest, app: Any, token: Any, **kwargs: Any) -> Any:
        """Return the sign-in of the claims of the ID token and, where there is one, of the userinfo endpoint."""
        id_token = kwargs["response"].get("id_token")
        if not id_token:
            raise OAuth2Error("The provider sent no ID token.")
        claims = self._decode_id_token(app, id_token)
        if not claims.get("sub"):
            raise OAuth2Error("The ID token names nobody.")
        if self.openid_config.get("userinfo_endpoint"):
            more = self._fetch_user_info(token.token)
            if more.get("sub") != claims["sub"]:
                raise OAuth2Error("The userinfo is of somebody else than the ID token.")
            # What belongs to this sign-in stays that of the ID token.
            claims |= {name: value for name, value in more.items() if name not in OF_THE_SIGN_IN}
        return self.get_provider().sociallogin_from_response(request, claims)

    def get_callback_url(self, request: HttpRequest, app: Any) -> str:
        """Return the address to which the provider sends the browser back."""
        return build_absolute_uri(request, reverse("sso_callback"), self.redirect_uri_protocol)


class Provider(OpenIDConnectProvider):
    """The one provider that the settings name."""

    oauth2_adapter_class = Adapter

    def get_login_url(self, request: HttpRequest, **kwargs: Any) -> str:
        """Return the address that begins a sign-in."""
        return f"{reverse('sso_login')}?{urlencode(kwargs)}" if kwargs else reverse("sso_login")

    def get_callback_url(self) -> str:
        """Return the path to which the provider sends the browser back."""
        return reverse("sso_callback")

    def redirect(
        self, request: HttpRequest, process: str, next_url: Any = None, data: Any = None, **kwargs: Any
    ) -> Any:
        """Send the browser to the provider with a nonce that its ID token must repeat."""
        nonce = get_random_string(NONCE_CHARS)
        auth_params = {**self.get_auth_params(), "nonce": nonce}
        if (prompt := request.GET.get("prompt")) in PROMPTS:
            auth_params["prompt"] = prompt
        asks_again = reauthentication.state_of(request)
        if asks_again:
            auth_params |= {"prompt": "login", "max_age": "0"}
        # Neither parameters nor scopes come from the address, which anybody may have made.
        kwargs |= {"auth_params": auth_params, "scope": self.get_scope(), **asks_again}
        response = super().redirect(request, process, next_url, data, nonce=nonce, **kwargs)
        if not asks_again or not isinstance(response, HttpResponseRedirect):
            return response
        # A form may lead here, and the policy lets forms lead to this site only: a page of it goes on by itself.
        return render(request, "socialaccount/leaving.html", {"name": self.name, "address": response.url})

    def extract_uid(self, data: dict[str, Any]) -> str:
        """Return what identifies the person: issuer and `sub`, so that another issuer's people are other people."""
        return hashlib.sha256(f"{data['iss']} {data['sub']}".encode()).hexdigest()

    def extract_email_addresses(self, data: dict[str, Any]) -> list[Any]:
        """Return the address, verified only when the provider says so as a boolean or the word true."""
        return super().extract_email_addresses({**data, "email_verified": is_true(data.get("email_verified"))})


def is_true(claim: object) -> bool:
    """Return whether `claim` is true; some providers send it as a string. Pure."""
    return claim is True or str(claim).lower() == "true"


@login_not_required
def login(request: HttpRequest) -> HttpResponse:
    """Send the browser to the provider. A link may do so; connecting an account takes a form, and a fresh sign-in."""
    if request.method != "POST" and request.GET.get("process", AuthProcess.LOGIN) != AuthProcess.LOGIN:
        raise Http404
    if request.GET.get("process") == AuthProcess.CONNECT:
        fresh.require_recent_sign_in(request)
    return answered(request, OAuth2LoginView)


@login_not_required
def callback(request: HttpRequest) -> HttpResponse:
    """Take the answer of the provider."""
    return answered(request, OAuth2CallbackView)


def answered(request: HttpRequest, view: Any) -> HttpResponse:
    """Return the answer of one of allauth's views; a page that says what to do when the provider cannot be reached."""
    try:
        return view.adapter_view(Adapter(request, settings.OIDC.PROVIDER_ID))(request)
    except SocialApp.DoesNotExist:
        raise Http404 from None
    except (RequestException, OAuth2Error):
        return render(request, "socialaccount/authentication_error.html", status=502)
