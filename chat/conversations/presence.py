"""Presence: a person's current session, whether a new day began since they were last present, and when they left."""

import asyncio
import collections
import datetime as dt
import logging

from django.conf import settings
from django.db import DatabaseError, connection, transaction

from chat.models import ChatSession, Presence
from chat.signals import day_changed, user_left
from oneclaw.models import User, clock
from oneclaw.threads import in_database

logger = logging.getLogger(__name__)

SET_CURRENT = """
    INSERT INTO chat_presence AS presence (user_id, session_id, seen_at, here)
    VALUES (%s, %s, statement_timestamp(), true)
    ON CONFLICT (user_id) DO UPDATE SET session_id = excluded.session_id, seen_at = excluded.seen_at, here = true
"""


def arrive(user: User) -> None:
    """Record that the person is present; send day_changed when midnight has passed for them since.

    The first visit only stores the date. The date is stored after the signal, also when a receiver fails: a crash in
    between sends the signal again, and receivers are idempotent.
    """
    today = user.day()
    if Presence.objects.filter(user=user, day=today).update(seen_at=clock.database_now(), here=True):
        return
    presence, _ = Presence.objects.get_or_create(user=user)
    previous = presence.day
    if previous is not None and previous != today:
        session = ChatSession.objects.visible_to(user).filter(pk__in=[presence.session_id]).first()
        day_changed.send_robust(ChatSession, user=user, session=session, previous=previous, today=today)
    Presence.objects.filter(user=user).update(day=today, seen_at=clock.database_now(), here=True)


def arrive_unless_recent(user: User) -> None:
    """Record that the person is present unless that was recorded recently: one query for a page that polls."""
    recent = clock.database_now() - dt.timedelta(seconds=settings.LEAVE_SECONDS / 3)
    if not Presence.objects.filter(user=user, day=user.day(), here=True, seen_at__gte=recent).exists():
        arrive(user)


@transaction.atomic
def enter(user: User, session: ChatSession) -> ChatSession | None:
    """Make `session` the person's current one; return the session that they left, None when there was none."""
    Presence.objects.get_or_create(user=user)
    presence = Presence.objects.select_for_update().get(user=user)
    left_id, presence.session, presence.seen_at = presence.session_id, session, clock.database_now()
    presence.save(update_fields=["session", "seen_at"])
    if left_id is None or left_id == session.pk:
        return None
    return ChatSession.objects.visible_to(user).filter(pk=left_id).first()


def set_current(user: User, session: ChatSession) -> None:
    """Make `session`, in which the person has written, their current one, without a switch from another one."""
    with connection.cursor() as cursor:
        cursor.execute(SET_CURRENT, [user.pk, session.pk])


def sweep() -> int:
    """Send user_left once for each person without an open socket for LEAVE_SECONDS; return how many there were."""
    latest = clock.database_now() - dt.timedelta(seconds=settings.LEAVE_SECONDS)
    count = 0
    for presence in Presence.objects.filter(here=True, seen_at__lt=latest).select_related("user", "session"):
        if Presence.objects.filter(pk=presence.pk, here=True, seen_at=presence.seen_at).update(here=False):
            user_left.send_robust(ChatSession, user=presence.user, session=presence.session)
            count += 1
    return count


class OpenSockets:
    """The people with an open socket in this process, whose rows it renews together by one statement."""

    def __init__(self) -> None:
        self._sockets: collections.Counter[int] = collections.Counter()
        self._renewer: asyncio.Task[None] | None = None

    def enter(self, user_id: int) -> None:
        """Count another open socket of the person."""
        self._sockets[user_id] += 1
        loop = asyncio.get_running_loop()
        if self._renewer is None or self._renewer.done() or self._renewer.get_loop() is not loop:
            self._renewer = loop.create_task(self._renew())

    def count_of(self, user_id: int) -> int:
        """Return how many open sockets the person has in this process."""
        return self._sockets.get(user_id, 0)

    def leave(self, user_id: int) -> None:
        """Count one open socket of the person less."""
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
    """Record that these people are present now."""
    Presence.objects.filter(user__in=user_ids).update(seen_at=clock.database_now(), here=True)


open_sockets = OpenSockets()
