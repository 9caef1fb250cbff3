"""Give, change and take roles in a shared space.

Every function locks the row of the space first, so that two changes of one space happen one after the other. A space
always keeps an owner of its own, besides groups; the database refuses to lose the last one, too (migration
0010_last_owner).
"""

from typing import TypeVar

from django.db import transaction
from django.utils.translation import gettext_lazy as _

from oneclaw.models import Group, Space, SpaceGroup, SpaceMember, User
from oneclaw.spaces.lifecycle import SpaceNotFoundError
from oneclaw.text import UserFacingError

OWNER = SpaceMember.Role.OWNER
Row = TypeVar("Row", SpaceMember, SpaceGroup)


class MembersError(UserFacingError):
    """Why the members of a space could not be changed so."""


class LastOwnerError(MembersError):
    """The space would be left without an owner."""

    wording = _("A space needs an owner. Make another member an owner first, or delete the space.")


class NoSuchPersonError(MembersError):
    """No active account has the address."""

    wording = _("Nobody here has the address %(email)s. Invite them first.")


class AlreadyMemberError(MembersError):
    """The person or group has a role in the space already."""

    wording = _("%(name)s is a member already. Change the role in the list.")


class NoSuchRoleError(MembersError):
    """The role does not exist."""

    wording = _("A role is owner, editor or reader.")


@transaction.atomic
def add_by_email(space: Space, email: str, role: str, by: User | None = None) -> SpaceMember:
    """Give the person with the address `email` a role in `space`. Raise MembersError, SpaceNotFoundError.

    With `by`, that person must own the space; None is for administrators.
    """
    space = lock(space, by)
    email = email.strip()
    user = User.objects.filter(email__iexact=email, is_active=True).first() if email else None
    if user is None:
        raise NoSuchPersonError(email=email)
    member, is_new = SpaceMember.objects.get_or_create(space=space, user=user, defaults={"role": checked_role(role)})
    if not is_new:
        raise AlreadyMemberError(name=str(user))
    return member


@transaction.atomic
def add_group(space: Space, group: Group, role: str, by: User | None = None) -> SpaceGroup:
    """Give all members of `group` a role in `space`. Raise MembersError, SpaceNotFoundError."""
    space = lock(space, by)
    held, is_new = SpaceGroup.objects.get_or_create(space=space, group=group, defaults={"role": checked_role(role)})
    if not is_new:
        raise AlreadyMemberError(name=group.name)
    return held


@transaction.atomic
def change_role(member: Row, role: str, by: User | None = None) -> None:
    """Change the role of a member or a group. Raise LastOwnerError, SpaceNotFoundError."""
    space = lock(member.space, by)
    member = _current(member)
    is_owner_now, member.role = member.role == OWNER, checked_role(role)
    if isinstance(member, SpaceMember) and is_owner_now and role != OWNER:
        _without_owner(space, member.user_id)
    member.save(update_fields=["role"])


@transaction.atomic
def remove(member: Row, by: User | None = None) -> None:
    """Take the role of a member or a group away. Raise LastOwnerError, SpaceNotFoundError."""
    space = lock(member.space, by)
    member = _current(member)
    if isinstance(member, SpaceMember) and member.role == OWNER:
        _without_owner(space, member.user_id)
    member.delete()


@transaction.atomic
def leave(space: Space, user: User) -> None:
    """Take the own role of `user` away; one through a group stays. Raise LastOwnerError, SpaceNotFoundError."""
    space = lock(space)
    member = SpaceMember.objects.filter(space=space, user=user).first()
    if member is None:
        raise SpaceNotFoundError
    if member.role == OWNER:
        _without_owner(space, user.pk)
    member.delete()


@transaction.atomic
def hand_over(space: Space, user: User, to: SpaceMember) -> None:
    """Make the member `to` the owner in place of `user`, who stays as an editor. Raise SpaceNotFoundError."""
    space = lock(space, user)
    to = _current(to)
    if to.space_id != space.pk or to.user_id == user.pk:
        raise SpaceNotFoundError
    to.role = OWNER
    to.save(update_fields=["role"])
    Space.objects.filter(pk=space.pk).update(owner=to.user)
    mine = SpaceMember.objects.filter(space=space, user=user).first()
    if mine is not None:
        mine.role = SpaceMember.Role.EDITOR
        mine.save(update_fields=["role"])


@transaction.atomic
def choose_owner(space: Space) -> None:
    """Set the owner of the row of `space` to the owner since the longest time, unless it is one. For other writers of
    members than this module."""
    space = lock(space)
    owners = list(space.members.filter(role=OWNER).order_by("since", "pk").values_list("user_id", flat=True))
    if owners and space.owner_id not in owners:
        Space.objects.filter(pk=space.pk).update(owner=owners[0])


def lock(space: Space, by: User | None = None) -> Space:
    """Lock and return the shared space; with `by`, only if that person owns it. Raise SpaceNotFoundError.

    Must be called in a transaction.
    """
    locked = Space.objects.shared().select_for_update(no_key=True).filter(pk=space.pk).first()
    if locked is None or (by is not None and not Space.objects.owned_by(by).filter(pk=space.pk).exists()):
        raise SpaceNotFoundError
    return locked


def checked_role(role: str) -> str:
    """Return `role`. Raise NoSuchRoleError unless it is one."""
    if role not in SpaceMember.Role.values:
        raise NoSuchRoleError
    return role


def _current(member: Row) -> Row:
    """Return the row as it is now. Raise SpaceNotFoundError when it has been deleted."""
    found = type(member).objects.filter(pk=member.pk).first()
    if found is None:
        raise SpaceNotFoundError
    return found


def _without_owner(space: Space, user_id: int) -> None:
    """Set another owner in the row of the space, if it is this person. Raise LastOwnerError without another."""
    others = space.members.filter(role=OWNER).exclude(user=user_id).order_by("since", "pk")
    other = others.first()
    if other is None:
        raise LastOwnerError
    if space.owner_id == user_id:
        Space.objects.filter(pk=space.pk).update(owner=other.user_id)
