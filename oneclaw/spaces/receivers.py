"""Send `roles_changed` whenever a row is written or deleted that gives a role in a space, and end the invitation of a
new member, by whatever code."""

from collections.abc import Collection, Iterable
from functools import partial
from typing import Any

from django.db import transaction
from django.db.models.signals import post_save, pre_delete
from django.dispatch import receiver

from oneclaw import pubsub
from oneclaw.models import GroupMember, Space, SpaceGroup, SpaceInvitation, SpaceMember
from oneclaw.spaces.signals import roles_changed

# A hint carries the ids of at most this many people; without them it is about all.
HINT_MAX_USERS = 200


@receiver([post_save, pre_delete], sender=SpaceMember)
def when_member_changes(instance: SpaceMember, **_: Any) -> None:
    announce([instance.space_id], [instance.user_id])


@receiver(post_save, sender=SpaceMember)
def when_member_is_added(instance: SpaceMember, created: bool, **_: Any) -> None:
    """Delete the open invitation of a new member, or it would let them in again after they are removed."""
    if created:
        SpaceInvitation.objects.filter(space=instance.space_id, email=instance.user.email.lower()).delete()


@receiver([post_save, pre_delete], sender=SpaceGroup)
def when_group_of_space_changes(instance: SpaceGroup, **_: Any) -> None:
    announce([instance.space_id], instance.group.members.values_list("user_id", flat=True))


# Before the deletion: the rows of the group's spaces may be deleted by the same call.
@receiver([post_save, pre_delete], sender=GroupMember)
def when_member_of_group_changes(instance: GroupMember, **_: Any) -> None:
    announce(SpaceGroup.objects.filter(group=instance.group_id).values_list("space_id", flat=True), [instance.user_id])


def announce(space_ids: Iterable[int], user_ids: Collection[int]) -> None:
    """Send `roles_changed` and a hint for each space when the surrounding transaction commits."""
    people = frozenset(user_ids)
    for space_id in space_ids if people else ():
        hint: dict[str, Any] = {"kind": "roles"}
        if len(people) <= HINT_MAX_USERS:
            hint["users"] = sorted(people)
        pubsub.notify(f"space:{space_id}", hint)
        transaction.on_commit(partial(roles_changed.send_robust, Space, space_id=space_id, user_ids=people))
