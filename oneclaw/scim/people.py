"""People as resources of SCIM: an account is made, changed and disabled by the organisation's directory."""

from typing import Any

import scim2_models as scim
from allauth.account.models import EmailAddress
from django.core.exceptions import ValidationError
from django.db import transaction
from django.db.models import Q, QuerySet

from oneclaw.audit.record import record
from oneclaw.models import AuditEvent, AuditKind, User
from oneclaw.people import keys, roles
from oneclaw.people.addresses import after_change, check_email
from oneclaw.people.sign_in.claims import SCIM

NAME_MAX_CHARS = 150


def people() -> QuerySet[User]:
    """Return the people that the directory sees: all but those that it has deleted, whose accounts are disabled."""
    return User.objects.filter(Q(is_active=True) | Q(directory_id__isnull=False) | Q(awaits_approval=True)).order_by(
        "pk"
    )


def resource_of(user: User) -> scim.User[Any]:
    """Return `user` as a resource."""
    memberships = user.group_memberships.select_related("group").filter(group__managed_by=SCIM)
    groups = [{"value": str(each.group_id), "display": each.group.name} for each in memberships]
    return scim.User(
        id=str(user.pk),
        external_id=user.directory_id,
        user_name=user.email,
        display_name=user.first_name or None,
        name=scim.Name(formatted=user.first_name) if user.first_name else None,
        emails=[scim.Email(value=user.email, primary=True, type=scim.Email.Type.work)],
        active=user.is_active,
        groups=[scim.GroupMembership.model_validate(group) for group in groups] or None,
        meta=scim.Meta(resource_type="User", created=user.date_joined, location=f"/scim/v2/Users/{user.pk}"),
    )


@transaction.atomic
def create(resource: scim.User[Any]) -> User:
    """Make the account of `resource`, or enable the one that the directory has deleted before."""
    email = email_of(resource)
    user = User.objects.select_for_update().filter(email__iexact=email).first()
    if user is not None and people().filter(pk=user.pk).exists():
        raise scim.UniquenessException(detail="There is a person with this userName.")
    if user is not None and was_disabled_by_admin(user):
        raise scim.UniquenessException(detail="An administrator has disabled this account, and can enable it.")
    resource.active = resource.active is not False
    is_new = user is None
    if user is None:
        user = User(email=email)
        user.set_unusable_password()
    store(user, resource)
    if is_new:
        record(AuditKind.PERSON_MADE, person=user, by=SCIM)
    # The directory decides about the address.
    EmailAddress.objects.get_or_create(user=user, email=user.email, defaults={"primary": True, "verified": True})
    return user


def store(user: User, resource: scim.User[Any]) -> None:
    """Write what `resource` says into the row of `user`, in the caller's transaction."""
    email, active = email_of(resource), user.is_active if resource.active is None else resource.active
    if user.pk and email != user.email:
        if roles.has_role(user):
            raise scim.MutabilityException(detail="The address of a person with a role cannot be changed here.")
        if User.objects.filter(email__iexact=email).exclude(pk=user.pk).exists():
            raise scim.UniquenessException(detail="There is a person with this userName.")
    if user.pk and not active:
        refuse_without_owner(user)
    if user.pk and active and not user.is_active:
        if roles.is_leaving(user):
            raise scim.ForbiddenException(detail="This account is being removed.")
        if was_disabled_by_admin(user):
            raise scim.ForbiddenException(detail="An administrator has disabled this account, and can enable it.")
    if resource.external_id and User.objects.filter(directory_id=resource.external_id).exclude(pk=user.pk).exists():
        raise scim.UniquenessException(detail="There is a person with this externalId.")
    former = user.email
    user.email, user.first_name = email, name_of(resource)[:NAME_MAX_CHARS]
    # Without an id of its own the directory keeps the person by ours.
    user.directory_id = resource.external_id or user.directory_id or email
    is_new, changes = user.pk is None, active != user.is_active
    # Whoever waits for approval goes on waiting when something else changes.
    if changes:
        user.is_active, user.awaits_approval = active, False
    user.save()
    if not is_new and former != email:
        after_change(user, former, by=None)
    if changes and not is_new:
        end_keys_of_disabled(user)
        record(AuditKind.PERSON_ENABLED if active else AuditKind.PERSON_DISABLED, person=user, by=SCIM)


@transaction.atomic
def delete(user: User) -> None:
    """Disable `user` for good, and let the directory forget them. What is theirs stays until an admin removes it."""
    refuse_without_owner(user)
    user.group_memberships.filter(group__managed_by=SCIM).delete()
    was_active = user.is_active
    user.is_active, user.directory_id = False, None
    user.save(update_fields=["is_active", "directory_id"])
    if was_active:
        end_keys_of_disabled(user)
        record(AuditKind.PERSON_DISABLED, person=user, by=SCIM)


def end_keys_of_disabled(user: User) -> None:
    """Delete the API keys of `user` when they are disabled, for good: enabling the account gives no key back."""
    if not user.is_active:
        keys.end_all(user)


def was_disabled_by_admin(user: User) -> bool:
    """Return whether an admin, and not the directory, has disabled `user` last. Then only an admin enables them."""
    last = AuditEvent.objects.filter(kind=AuditKind.PERSON_DISABLED, person=user.pk).order_by("-pk").first()
    return last is not None and last.details.get("by") != SCIM


def refuse_without_owner(user: User) -> None:
    """Raise ForbiddenException when `user` is the only owner."""
    if set(User.objects.owners().select_for_update().values_list("pk", flat=True)) == {user.pk}:
        raise scim.ForbiddenException(detail="The only owner cannot be disabled.")


def email_of(resource: scim.User[Any]) -> str:
    """Return the address of `resource`: its userName, with which people sign in."""
    email = (resource.user_name or "").strip().lower()
    try:
        check_email(email)
    except ValidationError:
        raise scim.InvalidValueException(detail="userName must be an email address.") from None
    return email


def name_of(resource: scim.User[Any]) -> str:
    """Return the whole name of `resource`; "" when it has none. Pure."""
    name = resource.name
    parts = [name.given_name, name.family_name] if name else []
    joined = " ".join(part for part in parts if part)
    return (resource.display_name or joined or (name.formatted if name else "") or "").strip()
