"""The second factor: its secrets are stored encrypted, and settings.SECOND_FACTOR says who must have one."""

import base64
import hashlib
from collections.abc import Callable

from allauth.core import context
from allauth.mfa.adapter import DefaultMFAAdapter
from allauth.mfa.models import Authenticator
from cryptography.fernet import Fernet, InvalidToken, MultiFernet
from django.conf import settings
from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils.translation import gettext as _

from oneclaw.models import User
from oneclaw.people import devices
from oneclaw.people.roles import has_role

# Pages that a person without the required factor may open: those that set it up, and the way out.
OPEN_PREFIXES = ("/accounts/", "/static/", "/manifest.webmanifest", "/healthz", "/readyz", "/api/", "/scim/")
FACTORS = [Authenticator.Type.TOTP, Authenticator.Type.WEBAUTHN]


class SecondFactorAdapter(DefaultMFAAdapter):
    """The differences from allauth's defaults."""

    def encrypt(self, text: str) -> str:
        """Return `text`, the secret of an app or of recovery codes, as it is stored."""
        return cipher().encrypt(text.encode()).decode()

    def decrypt(self, encrypted_text: str) -> str:
        """Return the stored secret; another one, with which no code is right, when the secret key is another one."""
        try:
            return cipher().decrypt(encrypted_text.encode()).decode()
        except InvalidToken:
            return base64.b32encode(hashlib.sha256(encrypted_text.encode()).digest()[:20]).decode()

    def generate_authenticator_name(self, user: User, type: Authenticator.Type) -> str:
        """Return the name that is proposed for a new passkey: that of the browser, such as “Firefox, Linux”."""
        return devices.name_of(context.request.headers.get("User-Agent", ""))

    def can_delete_authenticator(self, authenticator: Authenticator) -> bool:
        """Return False for the last factor of a person who must have one."""
        if authenticator.type == Authenticator.Type.RECOVERY_CODES or not is_required(authenticator.user):
            return True
        others = Authenticator.objects.filter(user=authenticator.user, type__in=FACTORS).exclude(pk=authenticator.pk)
        return others.exists()


def cipher() -> MultiFernet:
    """Return the cipher of stored secrets. Its key is derived from the secret key; those of before are read, too."""
    digests = [
        hashlib.sha256(b"oneclaw second factor " + secret_key.encode()).digest()
        for secret_key in (settings.SECRET_KEY, *settings.SECRET_KEY_FALLBACKS)
    ]
    return MultiFernet([Fernet(base64.urlsafe_b64encode(digest)) for digest in digests])


def is_required(user: User) -> bool:
    """Return whether `user` must have a second factor."""
    if settings.SECOND_FACTOR == "everyone":
        return True
    return settings.SECOND_FACTOR == "admins" and has_role(user)


def lacks_factor(user: object) -> bool:
    """Return whether `user` is signed in and has yet to set up the second factor that is required of them."""
    if settings.SECOND_FACTOR == "optional" or not isinstance(user, User) or not is_required(user):
        return False
    return not Authenticator.objects.filter(user=user, type__in=FACTORS).exists()


def second_factor_middleware(
    get_response: Callable[[HttpRequest], HttpResponse],
) -> Callable[[HttpRequest], HttpResponse]:
    """Return a middleware that leads a person who lacks the required factor to the page that sets it up."""

    def answer(request: HttpRequest) -> HttpResponse:
        if request.path.startswith(OPEN_PREFIXES) or not lacks_factor(request.user):
            return get_response(request)
        messages.warning(request, _("Set up a second factor first: this installation requires it of you."))
        return redirect("mfa_index")

    return answer
