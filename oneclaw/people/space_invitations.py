"""Invite a person to a shared space by their address; they are in it when they accept.

invite(space, "grace@example.org", "editor", by=ada)    # the same, whether or not there is such an account
accept(grace, invitation_id)
"""

from collections.abc import Mapping

from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from oneclaw.audit.record import record
from oneclaw.models import AuditKind, SpaceInvitation, SpaceMember, SpaceRole, User
from oneclaw.models.spaces import Space
from oneclaw.people import notices, roles
from oneclaw.people.addresses import EMAIL_MAX_CHARS
from oneclaw.reasons import Reason
from oneclaw.spaces.lifecycle import SpaceNotFoundError
from oneclaw.spaces.members import AlreadyMemberError, MembersError, checked_role, lock

# Open invitations of one space.
MAX_OPEN_COUNT = 100


class TooManyInvitationsError(MembersError):
    """The space has the maximum number of open invitations."""

    wording = _("Too many invitations are open. Withdraw some first.")


class NoAddressError(MembersError):
    """The text is no address."""

    wording = _("Enter an email address.")


@transaction.atomic
def invite(space: Space, email: str, role: str, by: User) -> SpaceInvitation:
    """Invite the person with the address `email`, or change the role that is offered to them.

    It says nothing of whether there is an account with the address. Raise MembersError, SpaceNotFoundError.
    """
    space = lock(space, by)
    email = email.strip().lower()
    if "@" not in email or len(email) > EMAIL_MAX_CHARS:
        raise NoAddressError
    member = space.members.select_related("user").filter(user__email__iexact=email).first()
    if member is not None:
        # Owners see the list of members anyway.
        raise AlreadyMemberError(name=str(member.user))
    person = User.objects.filter(email__iexact=email, is_active=True).first()
    # One that an account made later may not accept is as good as none.
    is_seen = person is not None and SpaceInvitation.objects.visible_to(person).filter(space=space).exists()
    values = {"role": checked_role(role), "invited_by": by, "created_at": timezone.now()}
    found, _is_new = SpaceInvitation.objects.update_or_create(space=space, email=email, defaults=values)
    if space.invitations.count() > MAX_OPEN_COUNT:
        raise TooManyInvitationsError
    record(AuditKind.MEMBERS_CHANGED, actor=by, space=space, invitation=found.pk, role=role)
    if person is not None and not is_seen:
        notices.tell(person, Reason("spaces.invited", {"who": str(by), "name": space.name}))
    return found


@transaction.atomic
def accept(person: User, invitation_id: int) -> Space:
    """Give `person` the role that the invitation offers. Raise SpaceNotFoundError without one that is theirs."""
    found = SpaceInvitation.objects.visible_to(person).select_related("space").filter(pk=invitation_id).first()
    if found is None:
        raise SpaceNotFoundError
    space = lock(found.space)
    # Withdrawn, or taken, while this waited for the lock.
    if not SpaceInvitation.objects.filter(pk=found.pk).delete()[0]:
        raise SpaceNotFoundError
    SpaceMember.objects.get_or_create(space=space, user=person, defaults={"role": found.role})
    return space


@transaction.atomic
def accept_all(person: User, invited_by: User | None, *, is_proven: bool) -> None:
    """Make `person`, whose account an invitation of `invited_by` has just made, a member of the spaces that had invited
    their address.

    Unless the address `is_proven`, the inviter may have used the link: then these are only spaces that they are in
    themselves, with at most their own role, or any when they may give every right (compare `roles.groups_to_give`).
    """
    shared = Space.objects.shared().filter(archived_at=None)
    most: Mapping[int, str] = {}
    if not is_proven and not (invited_by and invited_by.has_perm(roles.GRANT_ROLES)):
        shared = shared.visible_to(invited_by) if invited_by and invited_by.is_active else shared.none()
        most = dict(SpaceRole.objects.filter(user=invited_by).values_list("space", "role"))
    for found in SpaceInvitation.objects.filter(email=person.email.lower(), space__in=shared).select_related("space"):
        space = lock(found.space)
        if SpaceInvitation.objects.filter(pk=found.pk).delete()[0]:
            role = max(found.role, most.get(space.pk, found.role), key=SpaceMember.Role.values.index)
            SpaceMember.objects.get_or_create(space=space, user=person, defaults={"role": role})


@transaction.atomic
def decline(person: User, invitation_id: int) -> None:
    """Delete the invitation of `person`. Raise SpaceNotFoundError without one that is theirs."""
    if not SpaceInvitation.objects.visible_to(person).filter(pk=invitation_id).delete()[0]:
        raise SpaceNotFoundError


@transaction.atomic
def withdraw(space: Space, invitation_id: int, by: User) -> None:
    """Delete an open invitation of `space`, which `by` owns. Raise SpaceNotFoundError without it."""
    space = lock(space, by)
    if not space.invitations.filter(pk=invitation_id).delete()[0]:
        raise SpaceNotFoundError
    record(AuditKind.MEMBERS_CHANGED, actor=by, space=space, invitation=invitation_id, withdrawn=True)
