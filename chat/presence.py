"""Where a person is: their current session, and whether a new day began since they were last here."""

from django.db import transaction
from django.utils import timezone

from chat.models import ChatSession, Presence
from chat.signals import day_changed
from oneclaw.models import User


def arrive(user: User) -> None:
    """The person is here, now. If their local date is another than when they were last here, a day has changed.

    The first visit only stores the date. The date is stored after the signal was sent, also when a receiver fails:
    a crash in between sends it again, and receivers are safe to run twice.
    """
    presence, _ = Presence.objects.get_or_create(user=user)
    today, previous = user.day(), presence.day
    if previous is not None and previous != today:
        session = ChatSession.objects.visible_to(user).filter(pk=presence.session_id).first()
        day_changed.send_robust(ChatSession, user=user, session=session, previous=previous, today=today)
    Presence.objects.filter(user=user).update(day=today, seen_at=timezone.now())


@transaction.atomic
def enter(user: User, session: ChatSession) -> ChatSession | None:
    """`session` is the person's current one from now on. Returns the one that was left, if it was another."""
    Presence.objects.get_or_create(user=user)
    presence = Presence.objects.select_for_update().get(user=user)
    left_id, presence.session, presence.seen_at = presence.session_id, session, timezone.now()
    presence.save(update_fields=["session", "seen_at"])
    if left_id is None or left_id == session.pk:
        return None
    return ChatSession.objects.visible_to(user).filter(pk=left_id).first()
