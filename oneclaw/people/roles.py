"""What each role permits, and who may give a role to whom."""

from typing import Any

from django.contrib.auth.backends import BaseBackend
from django.db import transaction
from django.db.models import QuerySet
from django.utils.translation import gettext_lazy as _

from oneclaw.audit.record import record
from oneclaw.models import AuditKind, Group, Offboarding, User
from oneclaw.people import keys
from oneclaw.text import UserFacingError

Role = User.Role

MANAGE_PEOPLE, GRANT_ROLES = "oneclaw.manage_people", "oneclaw.grant_roles"
VIEW_AUDIT, VIEW_SPENDING = "oneclaw.view_audit", "oneclaw.view_spend"

# The permissions of a role besides those of an owner, who has all. No role may set a password of another person.
PERMISSIONS: dict[str, frozenset[str]] = {
    Role.PEOPLE: frozenset({MANAGE_PEOPLE}),
    # The app of memory adds its own, see `permit`.
    Role.CURATOR: frozenset(),
    Role.AUDITOR: frozenset(
        {VIEW_AUDIT, VIEW_SPENDING, "oneclaw.view_user", "oneclaw.view_apikey", "oneclaw.view_invariantrun"}
    ),
    Role.BILLING: frozenset({VIEW_SPENDING}),
}
# Roles whose work is in Django's admin; those of the others is in /team/.
IN_DJANGO_ADMIN = {Role.OWNER, Role.CURATOR, Role.AUDITOR}


def permit(role: str, *permissions: str) -> None:
    """Add `permissions` to `role`; an app calls this for its own models when it is loaded."""
    PERMISSIONS[role] |= frozenset(permissions)


def with_permission(permission: str) -> list[str]:
    """Return the roles with `permission` besides those of owners."""
    return [role for role, permissions in PERMISSIONS.items() if permission in permissions]


class MayNotError(UserFacingError):
    """The person's own role does not permit this change of rights."""

    wording = _("Your role does not permit this.")


class OnlyOwnerError(UserFacingError):
    """The change would leave the installation without an owner."""

    wording = _("This is the only owner. Make somebody else an owner first.")


class LeavingError(UserFacingError):
    """The removal of the person has begun: what they write now would be deleted."""

    wording = _("This account is being removed already.")


class AwaitsOwnerError(UserFacingError):
    """The account has a password that an admin may have chosen."""

    wording = _("The new password of this account waits for the yes of an owner.")


class RoleBackend(BaseBackend):
    """Gives people the permissions of their roles. It signs no person in."""

    def get_user_permissions(self, user_obj: Any, obj: object = None) -> set[str]:
        """Return the permissions of the person's role; none while the account is not active."""
        if not isinstance(user_obj, User) or not user_obj.is_active or obj is not None:
            return set()
        return set(PERMISSIONS.get(user_obj.role, ()))

    def has_module_perms(self, user_obj: Any, app_label: str) -> bool:
        """Return whether the role permits anything in the app, so that Django's admin shows it."""
        return any(name.startswith(f"{app_label}.") for name in self.get_user_permissions(user_obj))


def may_change(actor: User, person: User) -> bool:
    """Return whether `actor` may disable or enable `person`; only an owner may when they have a role."""
    return actor.has_perm(GRANT_ROLES if has_role(person) else MANAGE_PEOPLE)


def may_give_link(actor: User, person: User) -> bool:
    """Return whether `actor` may give `person` a reset link.

    Until it is used, a link is as good as a password: for people with a role none is made on a page, but only on the
    server, by `manage.py adduser --new-link`.
    """
    return actor.has_perm(MANAGE_PEOPLE) and person.is_active and not has_role(person)


@transaction.atomic
def confirm_password(actor: User, person: User) -> None:
    """Open the account of `person`, whose password came by a link that an admin was shown. Raise MayNotError.

    The caller has asked `actor`, an owner, for their second factor.
    """
    if not actor.has_perm(GRANT_ROLES) or actor.pk == person.pk:
        raise MayNotError
    person = User.objects.select_for_update(no_key=True).get(pk=person.pk)
    if person.awaits_owner and not is_leaving(person):
        person.is_active, person.awaits_owner = True, False
        person.save(update_fields=["is_active", "awaits_owner"])
        record(AuditKind.PERSON_ENABLED, actor=actor, person=person, by="confirmed password")


def has_role(person: User) -> bool:
    """Return whether `person` may do more than use OneClaw."""
    return bool(person.role or person.is_staff or person.is_superuser)


def is_leaving(person: User) -> bool:
    """Return whether the removal of `person` has begun. With the row locked, none begins meanwhile."""
    return Offboarding.objects.filter(person=person.pk).exists()


def may_give(actor: User, role: str) -> bool:
    """Return whether `actor` may give a person `role`; every people admin may invite members."""
    return actor.has_perm(GRANT_ROLES) or (role == Role.MEMBER and actor.has_perm(MANAGE_PEOPLE))


def groups_to_give(actor: User) -> QuerySet[Group]:
    """Return the groups that `actor` may give to an account whose link they have made, which may be a second one of
    their own: who may not give roles gains no group by that."""
    kept_here = Group.objects.filter(managed_by="")
    return kept_here if actor.has_perm(GRANT_ROLES) else kept_here.filter(members__user=actor)


def set_role(person: User, role: str) -> None:
    """Set the role of `person` on an unsaved row, with the two flags of Django that follow it."""
    person.role = role
    person.is_superuser = role == Role.OWNER
    person.is_staff = role in IN_DJANGO_ADMIN


@transaction.atomic
def change_role(actor: User, person: User, role: str) -> None:
    """Give `person` the role `role`. Raise MayNotError or OnlyOwnerError when that is refused."""
    if not actor.has_perm(GRANT_ROLES):
        raise MayNotError
    # All owners are locked, so that two concurrent changes do not remove the last two.
    owners = set(User.objects.owners().select_for_update().values_list("pk", flat=True))
    if owners == {person.pk} and role != Role.OWNER:
        raise OnlyOwnerError
    before = person.role
    set_role(person, role)
    person.save(update_fields=["role", "is_superuser", "is_staff"])
    record(AuditKind.RIGHTS_CHANGED, actor=actor, person=person, before=before, role=role)


@transaction.atomic
def set_active(actor: User, person: User, active: bool) -> None:
    """Disable or enable `person`, who is signed out everywhere when disabled.

    Raise MayNotError, OnlyOwnerError or LeavingError when that is refused.
    """
    if not may_change(actor, person):
        raise MayNotError
    owners = set(User.objects.owners().select_for_update().values_list("pk", flat=True))
    if not active and owners == {person.pk}:
        raise OnlyOwnerError
    if active and is_leaving(User.objects.select_for_update(no_key=True).get(pk=person.pk)):
        raise LeavingError
    if active and person.awaits_owner:
        raise AwaitsOwnerError
    person.is_active, person.awaits_approval = active, False
    person.save(update_fields=["is_active", "awaits_approval"])
    if not active:
        # For good: enabling the account gives no key back.
        keys.end_all(person, actor)
    record(AuditKind.PERSON_ENABLED if active else AuditKind.PERSON_DISABLED, actor=actor, person=person)
