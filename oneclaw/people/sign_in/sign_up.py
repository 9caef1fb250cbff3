"""Decide who may create an account, and let in those who wait for an admin."""

from django.conf import settings
from django.db import transaction
from django.db.models import QuerySet
from django.utils.translation import gettext_lazy as _

from oneclaw import runtime_settings
from oneclaw.audit.record import record
from oneclaw.models import AuditEvent, AuditKind, User
from oneclaw.people.roles import MANAGE_PEOPLE, LeavingError, MayNotError, is_leaving
from oneclaw.text import UserFacingError


class NotWaitingError(UserFacingError):
    """The account does not wait for approval; another admin has decided already."""

    wording = _("Somebody else has decided already.")


# In the event of an approval, which tells it from the end of a suspension.
APPROVED = {"approved": True}


def may_sign_up(email: str) -> bool:
    """Return whether the domain of `email` may sign up. Subdomains count only when they are named themselves."""
    if runtime_settings.value("sign_up") != "domains":
        return True
    return email.rpartition("@")[2].lower() in settings.SIGN_UP_DOMAINS


def prepare(user: User, *, needs_approval: bool) -> None:
    """Prepare the unsaved row of a person who has signed up themselves: a member, active unless approval is needed."""
    user.role = User.Role.MEMBER
    user.is_active, user.awaits_approval = not needs_approval, needs_approval


def waiting() -> QuerySet[User]:
    """Return the people who wait for approval, the one who has waited longest first."""
    return User.objects.filter(awaits_approval=True).order_by("date_joined", "pk")


def has_approved(actor: User, person: User) -> bool:
    """Return whether `actor` has let `person` in, who had signed up."""
    about = {"kind": AuditKind.PERSON_ENABLED, "details__contains": APPROVED}
    return AuditEvent.objects.filter(actor=actor.pk, person=person.pk, **about).exists()


@transaction.atomic
def decide(actor: User, person_id: int, *, approved: bool) -> User:
    """Let the waiting person in, or delete the account, which has nothing yet. Return the person.

    Raise MayNotError, NotWaitingError or LeavingError when that is refused.
    """
    if not actor.has_perm(MANAGE_PEOPLE):
        raise MayNotError
    person = waiting().select_for_update().filter(pk=person_id).first()
    if person is None:
        raise NotWaitingError
    if approved and is_leaving(person):
        raise LeavingError
    if approved:
        person.is_active, person.awaits_approval = True, False
        person.save(update_fields=["is_active", "awaits_approval"])
        record(AuditKind.PERSON_ENABLED, actor=actor, person=person, **APPROVED)
    else:
        record(AuditKind.PERSON_REMOVED, actor=actor, person=person)
        person.delete()
    return person
