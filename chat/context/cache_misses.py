"""Why an answer was read by the provider anew instead of from its cache."""

import datetime as dt

from django.conf import settings

from chat.context.cache_marks import LONG, SHORT_SECONDS
from chat.context.tokens import input_tokens
from chat.context.view import META_KEY
from chat.models import Message
from oneclaw.reasons import Reason
from oneclaw.spend.usage import count_of

LONG_SECONDS = 3600
# A head is made after the row of the answer whose request it begins.
ONE_REQUEST = dt.timedelta(seconds=settings.TURN_TIMEOUT)


def reason_of_miss(answer: Message) -> Reason | None:
    """Return why less than half of what `answer` could have read from the cache was there; None when it was there."""
    usage = answer.usage or {}
    earlier = answer.session.messages.filter(active=True, seq__lt=answer.seq, usage__isnull=False)
    before = earlier.order_by("-seq").first()
    if not usage or before is None:
        return Reason("cache.first") if usage else None
    if count_of(usage, "cache_read_input_tokens") >= input_tokens(before.usage or {}) / 2:
        return None
    if settings.CACHE == "off":
        return Reason("cache.off")
    if before.model != answer.model:
        return Reason("cache.other_model")
    ended = before.finished_at or before.created_at
    if answer.session.heads.filter(number__gt=1, created_at__range=(ended, answer.created_at + ONE_REQUEST)).exists():
        return Reason("cache.new_head")
    pause = answer.created_at - ended
    if pause > dt.timedelta(seconds=LONG_SECONDS if settings.CACHE == LONG else SHORT_SECONDS):
        return Reason("cache.pause", {"minutes": round(pause / dt.timedelta(minutes=1))})
    if effort_for(before) != effort_for(answer):
        return Reason("cache.other_effort")
    if before.seq <= answer.session.thinking_after_seq < answer.seq:
        return Reason("cache.changed")
    return Reason("cache.evicted")


def effort_for(answer: Message) -> str:
    """Return the effort that the request of `answer` named; "" for none."""
    return str(answer.meta.get(META_KEY, {}).get("effort", ""))
