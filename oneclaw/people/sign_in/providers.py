"""Which providers of single sign-on there are: by OpenID Connect, by SAML, or one of each."""

from dataclasses import dataclass
from typing import Any

from allauth.socialaccount.models import SocialAccount
from django.conf import settings

from oneclaw.models import User
from oneclaw.people.sign_in import claims


@dataclass(frozen=True)
class SignInProvider:
    """A provider as the settings describe it."""

    # What it is called in rows of allauth, and on pages.
    id: str
    name: str
    # The name of the URL that begins a sign-in.
    url: str
    # What happens to a person without an account: open, approval or closed.
    sign_up: str
    # What keeps the groups that it names, and where it names them.
    managed_by: str
    groups_claim: str


def configured() -> list[SignInProvider]:
    """Return the providers with which people can sign in."""
    found = []
    if settings.OIDC.issuer:
        found.append(
            SignInProvider(
                id=settings.OIDC.PROVIDER_ID,
                name=settings.OIDC.name,
                url="sso_login",
                sign_up=settings.OIDC.sign_up,
                managed_by=claims.OIDC,
                groups_claim=settings.OIDC.groups_claim,
            )
        )
    if settings.SAML.is_on:
        found.append(
            SignInProvider(
                id=settings.SAML.PROVIDER_ID,
                name=settings.SAML.name,
                url="saml_sign_in",
                sign_up=settings.SAML.sign_up,
                managed_by=claims.SAML,
                groups_claim="groups",
            )
        )
    return found


def of(sociallogin: Any) -> SignInProvider:
    """Return the provider of `sociallogin`, which is a sign-in that goes on."""
    return next(each for each in configured() if each.id == sociallogin.account.provider)


def of_person(person: User) -> SignInProvider | None:
    """Return a provider with which `person` can sign in; None when there is none."""
    return next((provider for provider, is_connected in connections(person) if is_connected), None)


def connections(person: User) -> list[tuple[SignInProvider, bool]]:
    """Return each provider, and whether `person` can sign in with it."""
    found = configured()
    mine = set(SocialAccount.objects.filter(user=person).values_list("provider", flat=True)) if found else set()
    return [(provider, provider.id in mine) for provider in found]
