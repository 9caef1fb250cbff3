"""Hand over the shared spaces of a person who leaves."""

from collections.abc import Mapping

from django.db import transaction
from django.db.models import Q

from oneclaw.audit.record import record
from oneclaw.models import AuditKind, Space, SpaceMember, User
from oneclaw.spaces import deletion
from oneclaw.spaces.members import OWNER, lock

DELETE = "delete"


def owned_alone(person: User) -> list[Space]:
    """Return the shared spaces of which `person` is the only owner, besides groups, by name."""
    others = SpaceMember.objects.filter(role=OWNER).exclude(user=person).values("space")
    mine = Space.objects.shared().filter(Q(owner=person) | Q(members__user=person, members__role=OWNER))
    return list(mine.exclude(pk__in=others).distinct().order_by("name", "pk"))


def hand_over(person: User, receiver: User | None, choices: Mapping[str, str]) -> None:
    """Take `person` out of every shared space; one that would have no owner gets a new one, or goes by choice."""
    held = Space.objects.shared().filter(Q(owner=person) | Q(members__user=person)).distinct()
    for space in held.order_by("pk"):
        _hand_over(space, person, receiver, choices.get(str(space.pk), ""))


@transaction.atomic
def _hand_over(space: Space, person: User, receiver: User | None, choice: str) -> None:
    space = lock(space)
    owners = space.members.filter(role=OWNER).exclude(user=person).order_by("since", "pk")
    other = owners.filter(user__is_active=True).first() or owners.first()
    if other is None and choice == DELETE:
        deletion.delete(space)
        record(AuditKind.SPACE_REMOVED, person=person, space=space)
        return
    if other is None:
        chosen = User.objects.filter(pk=choice, is_active=True).first() if choice.isdecimal() else None
        to = chosen or receiver
        if to is None:
            # The chosen one has left meanwhile: the longest member, or an owner of the installation.
            member = space.members.exclude(user=person).filter(user__is_active=True).order_by("since", "pk").first()
            to = member.user if member else User.objects.owners().exclude(pk=person.pk).order_by("pk")[0]
        other, _is_new = SpaceMember.objects.update_or_create(space=space, user=to, defaults={"role": OWNER})
        record(AuditKind.MEMBERS_CHANGED, person=person, space=space, new_owner=to.pk)
    if space.owner_id == person.pk:
        Space.objects.filter(pk=space.pk).update(owner=other.user_id)
    for mine in space.members.filter(user=person):
        mine.delete()
