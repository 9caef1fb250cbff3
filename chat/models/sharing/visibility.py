"""The rule of who may see, continue and manage a conversation, as conditions of a query.

A private conversation is its owner's alone, in a space or not. A shared one belongs to its space: members see it, its
owners and editors continue it, and the person who began it, while a member, and the owners manage it. Who is no member
any more sees nothing of it. In an archived space nothing changes.
"""

from collections.abc import Sequence

from django.contrib.postgres.expressions import ArraySubquery
from django.db.models import BooleanField, F, Func, Q

from oneclaw.models import SpaceMember, SpaceRole, User


class IsAnyOf(Func):
    """Whether the first expression is in the array of the second. Unlike IN, it is found by an index within an OR."""

    template = "(%(expressions)s))"
    arg_joiner = " = ANY("
    output_field = BooleanField()


def private(user: User, prefix: str = "") -> Q:
    """Return the condition that a conversation is the person's and not shared. `prefix` leads to the conversation."""
    return Q(**{f"{prefix}owner": user, f"{prefix}shared_at": None})


def shared(user: User, prefix: str = "", roles: Sequence[str] = ()) -> Q:
    """Return the condition that a conversation is shared with a space in which the person has one of `roles`; without
    any, any role."""
    held = SpaceRole.objects.filter(user=user)
    if roles:
        held = held.filter(role__in=roles)
    in_space = Q(IsAnyOf(F(f"{prefix}space"), ArraySubquery(held.values("space"))))
    return Q(**{f"{prefix}shared_at__isnull": False}) & in_space


def visible(user: User, prefix: str = "") -> Q:
    """Return the condition that the person may see a conversation."""
    return private(user, prefix) | shared(user, prefix)


def continued(user: User, prefix: str = "") -> Q:
    """Return the condition that the person may write in a conversation."""
    writes = shared(user, prefix, SpaceMember.WRITERS)
    return private(user, prefix) | (writes & Q(**{f"{prefix}space__archived_at": None}))


def managed(user: User, prefix: str = "") -> Q:
    """Return the condition that the person may rename, move, unshare and delete a conversation."""
    own = Q(**{f"{prefix}owner": user}) & shared(user, prefix)
    owned = shared(user, prefix, (SpaceMember.Role.OWNER,))
    return private(user, prefix) | ((own | owned) & Q(**{f"{prefix}space__archived_at": None}))
