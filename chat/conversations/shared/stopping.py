"""Ask for the stop of answers, from any process: as a person wants it, or because who asked for them may not write in
the shared conversation any more, whose sockets chat/live/members.py turns away."""

import uuid
from collections.abc import Collection
from typing import Any

from django.db import transaction
from django.db.models import F, Q
from django.db.models.functions import Coalesce
from django.db.models.signals import post_save
from django.dispatch import receiver

from chat.models import QueuedMessage, Turn
from chat.models.sharing import visibility
from oneclaw import pubsub
from oneclaw.models import SpaceMember, SpaceRole, User
from oneclaw.spaces.signals import roles_changed


@transaction.atomic
def request_stop(user: User, session_id: uuid.UUID | None, message_id: int | None) -> None:
    """Ask for the stop of a turn, that of `message_id` or any running one of the session: its row gets the flag
    `stop_requested`, and the process that runs it gets a hint."""
    turns = Turn.objects.running().filter(visibility.continued(user, "session__"))
    of_message = Q(messages=message_id) | Q(prompt=message_id)
    asked = of_message if message_id is not None else Q(session=session_id)
    for turn in turns.filter(asked).distinct():
        Turn.objects.filter(pk=turn.pk).update(stop_requested=True)
        pubsub.notify(f"session:{turn.session_id}", {"kind": "stop", "turn": turn.pk})


@receiver(roles_changed)
def end_work_of_former_writers(space_id: int, user_ids: Collection[int], **_: Any) -> None:
    """Stop the running answers of those of the people who may not write in the space any more, and drop what they have
    queued. What an answer has said stays, and the others go on."""
    writers = SpaceRole.objects.filter(space=space_id, user__in=user_ids, role__in=SpaceMember.WRITERS)
    former = set(user_ids) - set(writers.values_list("user_id", flat=True))
    if former:
        end_work_of(former, space_id)


@receiver(post_save, sender=User)
def end_work_of_disabled(instance: User, created: bool, update_fields: frozenset[str] | None, **_: Any) -> None:
    """Stop the running answers of a person who was disabled, and drop what they have queued; others' go on."""
    if not created and not instance.is_active and (update_fields is None or "is_active" in update_fields):
        _end_work([instance.pk], Q())


def end_work_of(user_ids: Collection[int], space_id: int) -> None:
    """Ask the running answers of these people in shared conversations of the space to stop, and delete what they have
    queued there."""
    _end_work(user_ids, Q(session__space=space_id, session__shared_at__isnull=False))


@transaction.atomic
def _end_work(user_ids: Collection[int], where: Q) -> None:
    asked = Turn.objects.running().filter(where).alias(asker=Coalesce(F("asked_by"), F("session__owner")))
    notifications: list[pubsub.Hint] = []
    for turn in asked.filter(asker__in=user_ids):
        Turn.objects.filter(pk=turn.pk).update(stop_requested=True)
        notifications.append((f"session:{turn.session_id}", {"kind": "stop", "turn": turn.pk}))
    queued = QueuedMessage.objects.filter(where, author__in=user_ids)
    notifications += [(f"session:{each}", {"kind": "queue"}) for each in set(queued.values_list("session", flat=True))]
    queued.delete()
    if notifications:
        pubsub.notify_all(notifications)
