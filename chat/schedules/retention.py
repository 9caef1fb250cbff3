"""Retention: the hidden conversations of beats are removed after a week, and the beats after a month."""

import datetime as dt

from chat.conversations import retention
from chat.models import Beat, ChatSession
from oneclaw.audit import holds
from oneclaw.models import clock

SESSION_DAYS, BEAT_DAYS = 7, 30
# Limit of one run; the next one continues.
SWEEP_MAX_ROWS = 1_000


def sweep() -> None:
    """Remove what is older."""
    now = clock.database_now()
    old = ChatSession.objects.filter(kind=ChatSession.Kind.BEAT, created_at__lt=now - dt.timedelta(days=SESSION_DAYS))
    old = old.not_held()
    for session_id in list(old.values_list("pk", flat=True)[:SWEEP_MAX_ROWS]):
        retention.purge_or_log(old, session_id)
    beats = Beat.objects.filter(finished_at__lt=now - dt.timedelta(days=BEAT_DAYS))
    beats = beats.exclude(owner__in=holds.held_people())
    Beat.objects.filter(pk__in=list(beats.values_list("pk", flat=True)[:SWEEP_MAX_ROWS])).delete()
