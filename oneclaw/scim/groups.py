"""Groups as resources of SCIM. The directory sees and changes only the groups that it keeps itself."""

import scim2_models as scim
from django.db import transaction
from django.db.models import QuerySet

from oneclaw.audit.record import record
from oneclaw.models import AuditKind, Group, GroupMember, User
from oneclaw.people.sign_in.claims import NAME_MAX_CHARS, SCIM


def groups() -> QuerySet[Group]:
    """Return the groups that the directory keeps."""
    return Group.objects.filter(managed_by=SCIM).order_by("pk")


def resource_of(group: Group) -> scim.Group:
    """Return `group` as a resource with its members."""
    rows = group.members.select_related("user").order_by("user_id")
    members = [{"value": str(row.user_id), "display": row.user.email, "type": "User"} for row in rows]
    return scim.Group(
        id=str(group.pk),
        external_id=group.external_id,
        display_name=group.name,
        members=[scim.GroupMember.model_validate(member) for member in members] or None,
        meta=scim.Meta(resource_type="Group", created=group.created_at, location=f"/scim/v2/Groups/{group.pk}"),
    )


@transaction.atomic
def create(resource: scim.Group) -> Group:
    """Make the group of `resource`."""
    group = Group(managed_by=SCIM)
    store(group, resource)
    return group


def store(group: Group, resource: scim.Group) -> None:
    """Write what `resource` says into the row of `group` and its members, in the caller's transaction."""
    name = (resource.display_name or "").strip()[:NAME_MAX_CHARS]
    if not name:
        raise scim.InvalidValueException(detail="displayName is missing.")
    same = Group.objects.filter(name=name) | Group.objects.filter(
        managed_by=SCIM, external_id=resource.external_id or ""
    )
    if same.exclude(pk=group.pk).exists():
        raise scim.UniquenessException(detail="There is a group with this displayName or externalId.")
    group.name, group.external_id = name, resource.external_id
    group.save()
    wanted = members_of(resource)
    left, _ = group.members.exclude(user_id__in=wanted).delete()
    missing = wanted - set(group.members.values_list("user_id", flat=True))
    GroupMember.objects.bulk_create(
        [GroupMember(group=group, user_id=user_id) for user_id in sorted(missing)], ignore_conflicts=True
    )
    if left or missing:
        record(AuditKind.GROUP_CHANGED, group=group.pk, by=SCIM, joined=len(missing), left=left)


def delete(group: Group) -> None:
    """Delete `group` with its roles in spaces."""
    record(AuditKind.GROUP_CHANGED, group=group.pk, by=SCIM, deleted=True)
    group.delete()


def members_of(resource: scim.Group) -> set[int]:
    """Return the ids of the people whom `resource` names. Raise InvalidValueException for one who does not exist."""
    named = {str(member.value) for member in resource.members or [] if member.value}
    wanted = {int(value) for value in named if value.isdecimal()}
    found = set(User.objects.filter(pk__in=wanted).values_list("pk", flat=True))
    if len(found) != len(named):
        raise scim.InvalidValueException(detail="A member does not exist.")
    return found
