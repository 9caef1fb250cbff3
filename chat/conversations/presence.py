"""Where a person is: their current session, whether a new day began since they were last here, and when they left."""

import asyncio
import collections
import datetime as dt
import logging

from django.conf import settings
from django.db import DatabaseError, connection, transaction
from django.utils import timezone

from chat.models import ChatSession, Presence
from chat.signals import day_changed, user_left
from oneclaw.models import User
from oneclaw.threads import in_database

logger = logging.getLogger(__name__)

SETTLE_IN = """
    INSERT INTO chat_presence AS presence (user_id, session_id, seen_at, here) VALUES (%s, %s, %s, true)
    ON CONFLICT (user_id) DO UPDATE SET session_id = excluded.session_id, seen_at = excluded.seen_at, here = true
"""


def arrive(user: User) -> None:
    """The person is here, now. If their local date is another than when they were last here, a day has changed.

    The first visit only stores the date. The date is stored after the signal was sent, also when a receiver fails:
    a crash in between sends it again, and receivers are safe to run twice.
    """
    presence, _ = Presence.objects.get_or_create(user=user)
    today, previous = user.day(), presence.day
    if previous is not None and previous != today:
        session = ChatSession.objects.visible_to(user).filter(pk__in=[presence.session_id]).first()
        day_changed.send_robust(ChatSession, user=user, session=session, previous=previous, today=today)
    Presence.objects.filter(user=user).update(day=today, seen_at=timezone.now(), here=True)


def look_in(user: User) -> None:
    """As `arrive`, for a page without a socket, which asks every few seconds: mostly one query says that all is as it
    was."""
    recent = timezone.now() - dt.timedelta(seconds=settings.LEAVE_SECONDS / 3)
    if not Presence.objects.filter(user=user, day=user.day(), here=True, seen_at__gte=recent).exists():
        arrive(user)


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


def settle_in(user: User, session: ChatSession) -> None:
    """`session` is the person's current one, because they write in it; nothing counts as left."""
    with connection.cursor() as cursor:
        cursor.execute(SETTLE_IN, [user.pk, session.pk, timezone.now()])


def tell_left() -> int:
    """Tell once of each person who has had no open socket for LEAVE_SECONDS; how many there were."""
    longest = timezone.now() - dt.timedelta(seconds=settings.LEAVE_SECONDS)
    gone = 0
    for presence in Presence.objects.filter(here=True, seen_at__lt=longest).select_related("user", "session"):
        if Presence.objects.filter(pk=presence.pk, here=True, seen_at=presence.seen_at).update(here=False):
            user_left.send_robust(ChatSession, user=presence.user, session=presence.session)
            gone += 1
    return gone


class Attendance:
    """Who has a socket open in this process. While somebody has, their rows are renewed by one statement."""

    def __init__(self) -> None:
        self._sockets: collections.Counter[int] = collections.Counter()
        self._renewer: asyncio.Task[None] | None = None

    def enter(self, user_id: int) -> None:
        self._sockets[user_id] += 1
        loop = asyncio.get_running_loop()
        if self._renewer is None or self._renewer.done() or self._renewer.get_loop() is not loop:
            self._renewer = loop.create_task(self._renew())

    def leave(self, user_id: int) -> None:
        self._sockets[user_id] -= 1
        if self._sockets[user_id] <= 0:
            del self._sockets[user_id]

    async def _renew(self) -> None:
        while self._sockets:
            try:
                await in_database(renew, list(self._sockets))
            except DatabaseError:
                logger.exception("Presence was not renewed.")
            await asyncio.sleep(settings.LEAVE_SECONDS / 3)


def renew(user_ids: list[int]) -> None:
    Presence.objects.filter(user__in=user_ids).update(seen_at=timezone.now(), here=True)


attendance = Attendance()
