"""Remember to which session at the identity provider a sign-in belongs, so that it ends with that."""

from typing import Any

from allauth.account.signals import user_logged_in
from django.conf import settings
from django.dispatch import receiver
from django.http import HttpRequest

# The key in a session of Django's of {"name_id": …, "index": …}, as the identity provider has named its session.
SESSION_KEY = "saml_session"


@receiver(user_logged_in)
def remember_session(sender: object, request: HttpRequest, **kwargs: Any) -> None:
    """Store which session at the identity provider a sign-in belongs to."""
    sociallogin = kwargs.get("sociallogin")
    if sociallogin is not None and sociallogin.account.provider == settings.SAML_PROVIDER_ID:
        said = sociallogin.account.extra_data
        request.session[SESSION_KEY] = {"name_id": said["name_id"], "index": said["session_index"]}
