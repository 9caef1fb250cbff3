"""Who may come in through a provider of single sign-on, and what they get."""

import hmac
from typing import Any

from allauth.account.signals import user_logged_in
from allauth.core.exceptions import ImmediateHttpResponse
from allauth.socialaccount.adapter import DefaultSocialAccountAdapter
from django.db import transaction
from django.dispatch import receiver
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext_lazy as _
from requests import Session

from oneclaw.audit.record import record
from oneclaw.models import AuditKind, User
from oneclaw.outgoing.purposes import SINGLE_SIGN_ON
from oneclaw.outgoing.sessions import session
from oneclaw.people.addresses import EMAIL_MAX_CHARS
from oneclaw.people.sign_in import claims, inviting, linking, providers, reauthentication, sign_up
from oneclaw.people.sign_in.saml import sessions

# Why somebody was not let in, as a code.
REASONS = {
    "replayed": _("This sign-in has expired or was used before. Try again."),
    "no-email": _("The sign-in of your organisation did not send an email address. Ask your administrator."),
    "unverified": _(
        "There is an account with this email address already, and the sign-in of your organisation has not confirmed "
        "that the address is yours. Sign in with your password, then connect both in the settings."
    ),
    "ask-first": _(
        "There is an account with this email address already, which you open in another way. Sign in once as before, "
        "with your password or passkey: this sign-in of your organisation is then connected to the account."
    ),
    "closed": _("There is no account for you yet. Ask your administrator for an invitation."),
    # What else an answer of SAML may lack.
    "invalid": _(
        "The answer of your organisation’s sign-in was not valid. Try again; if it goes on, ask your administrator."
    ),
    "unsolicited": _("A sign-in begins here and not at your organisation: use the button on the sign-in page."),
    "denied": _("The sign-in of your organisation did not let you in. Ask your administrator."),
    "unsigned": _("The answer of your organisation’s sign-in is not signed as it must be. Ask your administrator."),
    "forged": _(
        "The answer does not come from your organisation’s sign-in, or was changed on the way. Ask your administrator."
    ),
    "expired": _(
        "The answer of your organisation’s sign-in has expired. Try again; if it goes on, a clock may be wrong."
    ),
    "elsewhere": _(
        "The answer of your organisation’s sign-in is meant for another application. Ask your administrator."
    ),
    "no-id": _("The sign-in of your organisation did not say who you are. Ask your administrator."),
}


class SingleSignOnAdapter(DefaultSocialAccountAdapter):
    """The differences from allauth's defaults."""

    def get_requests_session(self) -> Session:
        """Return the session for requests to the provider: they go through the guard of outgoing requests."""
        return session(SINGLE_SIGN_ON)

    def pre_social_login(self, request: HttpRequest, sociallogin: Any) -> None:
        """Refuse an answer of another sign-in, and a person who is not to get an account by it."""
        said = sociallogin.account.extra_data
        nonce, expected = str(said.get("nonce", "")), str(sociallogin.state.get("nonce", ""))
        if not expected or not hmac.compare_digest(nonce, expected):
            refuse(request, "replayed")
        if reauthentication.is_going_on(sociallogin):
            raise ImmediateHttpResponse(confirmed(request, sociallogin))
        if sociallogin.state.get("process") == "connect":
            return
        if sociallogin.is_existing:
            if not sociallogin.account.pk and linking.must_ask(sociallogin.user):
                # A new subject with the address of an account: whoever gives out addresses there would get the account.
                linking.remember(request, sociallogin)
                refuse(request, "ask-first")
            return
        address = next(iter(sociallogin.email_addresses), None)
        if address is None or len(address.email) > EMAIL_MAX_CHARS:
            refuse(request, "no-email")
        elif User.objects.filter(email__iexact=address.email).exists():
            # With a verified address allauth has found the account by now.
            refuse(request, "unverified")
        elif providers.of(sociallogin).sign_up == "closed" and not invited(address):
            refuse(request, "closed")

    def is_open_for_signup(self, request: HttpRequest, sociallogin: Any) -> bool:
        """Return True: `pre_social_login` has decided."""
        return True

    @transaction.atomic
    def save_user(self, request: HttpRequest, sociallogin: Any, form: Any = None) -> Any:
        """Save a person who comes for the first time, with what a pending invitation of their address gives."""
        user = sociallogin.user
        user.email = user.email.lower()
        address = next(iter(sociallogin.email_addresses), None)
        invitation = invited(address) if address else None
        sign_up.prepare(user, needs_approval=providers.of(sociallogin).sign_up == "approval" and invitation is None)
        super().save_user(request, sociallogin, form)
        if invitation is not None:
            inviting.accept(invitation, user, is_proven=True)
        return user

    def get_connect_redirect_url(self, request: HttpRequest, socialaccount: Any) -> str:
        """Return the address of the settings page."""
        return reverse("settings")


def invited(address: Any) -> Any:
    """Return the pending invitation of `address`; None when there is none, or the address is not verified."""
    return inviting.pending_for(address.email) if address.verified else None


def refuse(request: HttpRequest, reason: str) -> None:
    """Answer with the page that says why the person was not let in."""
    record(AuditKind.SIGN_IN_FAILED, by="provider", reason=reason)
    raise ImmediateHttpResponse(refused(request, reason))


def refused(request: HttpRequest, reason: str) -> HttpResponse:
    """Return the page that says why the person was not let in."""
    return render(request, "people/not_let_in.html", {"reason": REASONS[reason]}, status=403)


def confirmed(request: HttpRequest, sociallogin: Any) -> HttpResponse:
    """Lead on when `sociallogin` proves that the provider has just asked the person; otherwise say what to do.

    The browser stays signed in as it was, also when another person has answered at the provider.
    """
    if reason := reauthentication.refusal(request, sociallogin):
        record(AuditKind.SIGN_IN_FAILED, by="provider", reason=reason)
        return reauthentication.refused(request, reason)
    record(AuditKind.CONFIRMED, by="provider")
    apply_claims(request.user, request, sociallogin)
    return redirect(sociallogin.state.get("next") or "chat")


@receiver(user_logged_in)
def signed_in(sender: object, request: HttpRequest, user: User, **kwargs: Any) -> None:
    """Apply what the provider says, at every sign-in through it, and connect another provider's sign-in that waits."""
    if (sociallogin := kwargs.get("sociallogin")) is not None:
        apply_claims(user, request, sociallogin)
    linking.link(request, user)


def apply_claims(user: Any, request: HttpRequest, sociallogin: Any) -> None:
    """Apply what the provider says of `user`: their groups, when it has asked them, and its own session of them."""
    provider, said = providers.of(sociallogin), sociallogin.account.extra_data
    claims.apply_groups(user, provider.managed_by, said, provider.groups_claim)
    reauthentication.remember(request, user, said)
    if provider.managed_by == claims.SAML:
        sessions.remember(request, said)
