"""Remove the account of a person, after all that apps keep of them: keys, links, sign-ins and the row itself."""

import re
from collections.abc import Mapping

from django.contrib.admin.models import LogEntry
from django.contrib.auth import SESSION_KEY
from django.contrib.contenttypes.models import ContentType
from django.contrib.sessions.models import Session
from django.db.models import Q

from oneclaw.domains import Invariant, Way
from oneclaw.invariants import violations_by_query
from oneclaw.leaving import imports
from oneclaw.leaving.references import names_left
from oneclaw.models import AccountImport, Invitation, SignInAttempt, Space, SpaceInvitation, User
from oneclaw.people.sign_in.attempts import hashed

REFERENCES = {
    "oneclaw.User_groups.user": Way.DELETED,
    "oneclaw.User_user_permissions.user": Way.DELETED,
    "oneclaw.GroupMember.user": Way.DELETED,
    "oneclaw.Budget.user": Way.DELETED,
    "oneclaw.BudgetWarning.user": Way.DELETED,
    "oneclaw.Invitation.invited_by": Way.ANONYMISED,
    "oneclaw.Invitation.accepted_by": Way.ANONYMISED,
    "oneclaw.SpaceInvitation.invited_by": Way.ANONYMISED,
    "oneclaw.ApiKey.user": Way.DELETED,
    "oneclaw.Space.owner": Way.HANDED_OVER,
    "oneclaw.SpaceMember.user": Way.DELETED,
    "oneclaw.SpaceRole.user": Way.VIEW,
    "oneclaw.ModelServer.changed_by": Way.ANONYMISED,
    "oneclaw.RuntimeSetting.changed_by": Way.ANONYMISED,
    "oneclaw.Spend.user": Way.ANONYMISED,
    "oneclaw.AccountImport.owner": Way.DELETED,
    "oneclaw.Offboarding.owner": Way.ANONYMISED,
    "oneclaw.LegalHold.user": Way.DELETED,
    "oneclaw.LegalHold.made_by": Way.ANONYMISED,
    "admin.LogEntry.user": Way.DELETED,
    "account.EmailAddress.user": Way.DELETED,
    "usersessions.UserSession.user": Way.DELETED,
    "mfa.Authenticator.user": Way.DELETED,
    "socialaccount.SocialAccount.user": Way.DELETED,
    "allauth_idp_oidc.Token.user": Way.DELETED,
    "allauth_idp_oidc.Client.owner": Way.DELETED,
}

INVARIANTS = [
    Invariant("nothing names a person who was removed", lambda: violations_by_query(names_left())()),
]


def counts(person: User) -> Mapping[str, int]:
    """Return how many keys and sign-ins `person` has."""
    return {
        "keys": person.api_keys.count(),
        "sign_ins": person.usersession_set.count(),  # type: ignore[attr-defined]
    }


def remove(person: User) -> None:
    """Delete the row of `person` with all that hangs on it. Call inside a transaction."""
    for job_id in AccountImport.objects.filter(owner=person).values_list("pk", flat=True):
        imports.path_of(job_id).unlink(missing_ok=True)
    Space.objects.filter(owner=person, kind__in=Space.PRIVATE).delete()
    SpaceInvitation.objects.filter(email=person.email.lower()).delete()
    Invitation.objects.filter(Q(accepted_by=person) | Q(email__iexact=person.email)).delete()
    SignInAttempt.objects.filter(account=hashed(person.email)).delete()
    about = Q(content_type=ContentType.objects.get_for_model(User), object_id=str(person.pk))
    LogEntry.objects.filter(about | Q(object_repr__iregex=whole_address(person.email))).delete()
    # Those without a row of their own, such as of a sign-in that was never used.
    for session in Session.objects.iterator(chunk_size=500):
        if session.get_decoded().get(SESSION_KEY) == str(person.pk):
            session.delete()
    person.delete()


def whole_address(email: str) -> str:
    """Return a regular expression of PostgreSQL that finds `email` in a text, and not as a part of another address,
    such as ann@x.org in joann@x.org or ann@x.org.uk. Pure."""
    return rf"(?<![\w.+%-]){re.escape(email)}(?![\w-]|\.\w)"
