"""The provider of allauth for sign-in by SAML, with the checks that allauth leaves to the product."""

from typing import Any

from allauth.socialaccount.providers.saml.provider import SAMLProvider
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.urls import reverse
from django.utils.http import urlencode

from oneclaw.people.sign_in import reauthentication
from oneclaw.people.sign_in.saml import messages


class IdentityProvider(SAMLProvider):
    """The one identity provider that the settings name. What it says of a person comes from `messages.said`."""

    def get_login_url(self, request: HttpRequest, **kwargs: Any) -> str:
        """Return the address that begins a sign-in."""
        return f"{reverse('saml_sign_in')}?{urlencode(kwargs)}" if kwargs else reverse("saml_sign_in")

    def redirect(
        self, request: HttpRequest, process: str, next_url: Any = None, data: Any = None, **kwargs: Any
    ) -> HttpResponse:
        """Send the browser to the identity provider with a request whose id the answer must repeat."""
        asks_again = reauthentication.state_of(request)
        ask_again = bool(asks_again) or request.GET.get("prompt") == "login"
        address, request_id = messages.begin_sign_in(request, ask_again)
        kwargs |= asks_again
        self.stash_redirect_state(request, process, next_url, data, state_id=request_id, nonce=request_id, **kwargs)
        if request.method == "GET" and not ask_again:
            return HttpResponseRedirect(address)
        # A form may lead here, and the policy lets forms lead to this site only: a page of it goes on by itself.
        return render(request, "socialaccount/leaving.html", {"name": self.name, "address": address})

    def extract_uid(self, data: dict[str, Any]) -> str:
        """Return what identifies the person."""
        return str(data["sub"])

    def extract_extra_data(self, data: dict[str, Any]) -> dict[str, Any]:
        """Return what is stored of the answer: all that was said."""
        return data

    def extract_common_fields(self, data: dict[str, Any]) -> dict[str, Any]:
        """Return what a new account gets."""
        return {name: data[name] for name in ("email", "email_verified", "name")}
