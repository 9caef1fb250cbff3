"""Apply what the provider of single sign-on says of a person: their groups, at every sign-in and in both directions."""

import logging
from collections.abc import Iterable, Mapping
from typing import Any

from django.db import transaction

from oneclaw.audit.record import record
from oneclaw.models import AuditKind, Group, GroupMember, User
from oneclaw.text import replace_unstorable

logger = logging.getLogger(__name__)

OIDC, SAML, SCIM = "oidc", "saml", "scim"
NAME_MAX_CHARS = 150
# Of one person. A claim with more counts as one that says that there are too many.
GROUPS_MAX_COUNT = 500
# A claim that says that there are too many groups to send them.
OVERFLOW_CLAIM = "hasgroups"


def group_names(claims: Mapping[str, Any], claim: str) -> list[str] | None:
    """Return the names of the groups that `claim` of `claims` has; None when there are more than GROUPS_MAX_COUNT, or
    the provider only says that there are too many to send.

    A claim that is missing means no groups: providers leave out an empty list. Pure.
    """
    if claim not in claims and ("_claim_names" in claims or OVERFLOW_CLAIM in claims):
        return None
    found = claims.get(claim) or []
    names = [found] if isinstance(found, str) else found
    if not isinstance(names, list):
        return []
    found_names = (replace_unstorable(name).strip() for name in names[: GROUPS_MAX_COUNT + 1] if isinstance(name, str))
    return list(dict.fromkeys(filter(None, found_names))) if len(names) <= GROUPS_MAX_COUNT else None


@transaction.atomic
def apply_groups(user: User, managed_by: str, claims: Mapping[str, Any], claim: str) -> None:
    """Make `user` a member of exactly those groups that `claim` of `claims` names, of the groups of `managed_by`.

    Groups that admins keep themselves, SCIM, or another provider are left as they are.
    """
    names = group_names(claims, claim)
    if names is None:
        logger.warning("The provider has too many groups of person %s; they stay as they are.", user.pk)
        return
    # One at a time for a person: two sign-ins at once would each add what the other removes.
    User.objects.select_for_update().get(email=user.email)
    groups = [managed_group(managed_by, name, name) for name in names]
    set_groups(user, managed_by, groups)


def managed_group(managed_by: str, external_id: str, name: str) -> Group:
    """Return the group that the provider calls `external_id`, made on first use."""
    group = Group.objects.filter(managed_by=managed_by, external_id=external_id[:255]).first()
    if group is None:
        group, _ = Group.objects.get_or_create(
            managed_by=managed_by, external_id=external_id[:255], defaults={"name": free_name(name)}
        )
    return group


def free_name(name: str) -> str:
    """Return `name`, with a number when a group has it already."""
    base, number = name[: NAME_MAX_CHARS - 8] or "group", 1
    free = base
    while Group.objects.filter(name=free).exists():
        number += 1
        free = f"{base} ({number})"
    return free


def set_groups(user: User, managed_by: str, groups: Iterable[Group]) -> None:
    """Make `user` a member of `groups` and of no other group of `managed_by`."""
    wanted = {group.pk for group in groups}
    mine = GroupMember.objects.filter(user=user, group__managed_by=managed_by)
    left, _ = mine.exclude(group__in=wanted).delete()
    missing = wanted - set(mine.values_list("group_id", flat=True))
    GroupMember.objects.bulk_create(
        [GroupMember(group_id=group_id, user=user) for group_id in sorted(missing)], ignore_conflicts=True
    )
    if left or missing:
        record(AuditKind.GROUP_CHANGED, person=user, by=managed_by, joined=len(missing), left=left)
