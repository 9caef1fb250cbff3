"""Remember to which session at the identity provider a sign-in belongs, so that it ends with that."""

from collections.abc import Mapping
from typing import Any

from allauth.socialaccount.models import SocialAccount
from allauth.usersessions.models import UserSession
from django.conf import settings
from django.db.models import Q, QuerySet
from django.http import HttpRequest

from oneclaw.models import User

# The key in a session of Django's, and in the data of its UserSession, of {"name_id": …, "index": …}, as the identity
# provider has named its session.
SESSION_KEY = "saml_session"


def remember(request: HttpRequest, said: Mapping[str, Any]) -> None:
    """Store to which session at the identity provider, as it has `said`, the sign-in of `request` belongs."""
    at_provider = {"name_id": said["name_id"], "index": said["session_index"]}
    request.session[SESSION_KEY] = at_provider
    # allauth makes the row later, and deletes those whose session has nobody signed in: so it is stored first.
    request.session.save()
    UserSession.objects.create_from_request(request)
    UserSession.objects.filter(session_key=request.session.session_key).update(data={SESSION_KEY: at_provider})


def people_with(name_id: str) -> QuerySet[User]:
    """Return who has signed in under `name_id`.

    An account knows the one of the last sign-in, and a provider can give another one each time. A session knows its
    own, but a changed password makes a new row for it.
    """
    sessions = UserSession.objects.filter(**{f"data__{SESSION_KEY}__name_id": name_id})
    accounts = SocialAccount.objects.filter(provider=settings.SAML.PROVIDER_ID, extra_data__name_id=name_id)
    return User.objects.filter(Q(pk__in=sessions.values("user")) | Q(pk__in=accounts.values("user")))
