"""Connect a sign-in of the organisation to an account that has its address, after that account has said yes.

The provider decides who has which address, and often lets people choose it. So a new subject with the address of an
account does not open the account by itself: the browser keeps the answer of the provider for a short time, and it is
connected when the person signs in there as before.
"""

import time
from typing import Any

from allauth.mfa.utils import is_mfa_enabled
from allauth.socialaccount.models import SocialAccount, SocialLogin
from django.db import transaction
from django.http import HttpRequest

from oneclaw.models import User
from oneclaw.people import notices
from oneclaw.people.roles import has_role
from oneclaw.reasons import Reason

# The key in the session of the answer that waits.
SESSION_KEY = "sign_in_to_link"
WAIT_MAX_SECONDS = 600


def must_ask(person: User) -> bool:
    """Return whether `person` is asked before another sign-in opens their account.

    Who has no way to sign in yet, as after an invitation or from a directory, is not asked, unless they have a role.
    """
    has_way = person.has_usable_password() or is_mfa_enabled(person)
    return has_role(person) or has_way or SocialAccount.objects.filter(user=person).exists()


def remember(request: HttpRequest, sociallogin: SocialLogin) -> None:
    """Keep the answer of the provider until its account signs in as before."""
    account = sociallogin.account
    request.session[SESSION_KEY] = {
        "provider": account.provider,
        "uid": account.uid,
        "said": account.extra_data,
        "person": sociallogin.user.pk,
        "at": time.time(),
    }


@transaction.atomic
def link(request: HttpRequest, person: User) -> None:
    """Connect the answer that waits in this browser, if it has the address of `person`, who has just signed in."""
    kept: dict[str, Any] | None = request.session.pop(SESSION_KEY, None)
    if kept is None or kept["person"] != person.pk or time.time() - kept["at"] > WAIT_MAX_SECONDS:
        return
    _account, is_new = SocialAccount.objects.get_or_create(
        provider=kept["provider"], uid=kept["uid"], defaults={"user": person, "extra_data": kept["said"]}
    )
    if is_new:
        notices.tell(person, Reason("people.sign_in_connected"))
