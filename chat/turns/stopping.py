"""Ask for the stop of an answer, from any process."""

import uuid

from django.db import transaction
from django.db.models import Q

from chat.models import Turn
from chat.models.sharing import visibility
from oneclaw import pubsub
from oneclaw.models import User


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
