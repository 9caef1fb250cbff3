"""Make, rename and delete groups of people, and change their members. For admins and for single sign-on."""

from collections.abc import Collection

from django.db import IntegrityError, transaction
from django.utils.translation import gettext_lazy as _

from oneclaw.audit.record import record
from oneclaw.models import AuditKind, Group, GroupMember, User
from oneclaw.spaces.members import NoSuchPersonError
from oneclaw.text import UserFacingError, validated_text

NAME_MAX_CHARS = 150


class GroupError(UserFacingError):
    """Why a group could not be changed so."""


class ManagedGroupError(GroupError):
    """Single sign-on keeps the group."""

    wording = _("The group comes from single sign-on, and is changed there.")


class GroupExistsError(GroupError):
    """Another group has the name."""

    wording = _("There is a group of this name already.")


def create(name: object) -> Group:
    """Make a group that admins keep. Raise InvalidTextError, GroupExistsError."""
    try:
        with transaction.atomic():
            group = Group.objects.create(name=checked_name(name))
            record(AuditKind.GROUP_CHANGED, group=group.pk, made=True)
            return group
    except IntegrityError as error:
        raise GroupExistsError from error


def rename(group: Group, name: object) -> None:
    """Rename a group that admins keep. Raise InvalidTextError, GroupError."""
    check_kept_here(group)
    try:
        with transaction.atomic():
            Group.objects.filter(pk=group.pk).update(name=checked_name(name))
            record(AuditKind.GROUP_CHANGED, group=group.pk, renamed=True)
    except IntegrityError as error:
        raise GroupExistsError from error


@transaction.atomic
def delete(group: Group) -> None:
    """Delete a group that admins keep, with its roles and budgets. Raise ManagedGroupError."""
    check_kept_here(group)
    record(AuditKind.GROUP_CHANGED, group=group.pk, deleted=True)
    group.delete()


def person_with(email: str) -> User:
    """Return the person with the address `email`. Raise NoSuchPersonError."""
    user = User.objects.filter(email__iexact=email.strip(), is_active=True).first()
    if user is None:
        raise NoSuchPersonError(email=email.strip())
    return user


@transaction.atomic
def add(group: Group, user: User) -> None:
    """Put `user` into the group; once. Raise GroupError."""
    check_kept_here(group)
    _member, is_new = GroupMember.objects.get_or_create(group=group, user=user)
    if is_new:
        record(AuditKind.GROUP_CHANGED, person=user, group=group.pk, joined=1)


@transaction.atomic
def remove(member: GroupMember) -> None:
    """Take a person out of the group. Raise ManagedGroupError."""
    check_kept_here(member.group)
    record(AuditKind.GROUP_CHANGED, person=member.user_id, group=member.group_id, left=1)
    member.delete()


@transaction.atomic
def set_groups(user: User, managed_by: str, groups: Collection[Group]) -> None:
    """Let `user` be in exactly these of the groups that `managed_by` keeps, for a provider's claims."""
    held = GroupMember.objects.filter(user=user, group__managed_by=managed_by)
    for member in held.exclude(group__in=groups).select_related("group"):
        member.delete()
    for group in groups:
        GroupMember.objects.get_or_create(group=group, user=user)


def checked_name(name: object) -> str:
    """Return the name of a group. Raise InvalidTextError."""
    return " ".join(validated_text(name, max_chars=NAME_MAX_CHARS, name=_("The name")).split())


def check_kept_here(group: Group) -> None:
    """Raise ManagedGroupError when single sign-on keeps the group."""
    if group.managed_by:
        raise ManagedGroupError
