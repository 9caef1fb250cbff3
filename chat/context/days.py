"""Tell the model which day it is: the head has the day on which the conversation began, and the first message of each
later day brings a line with that day, which is stored with the message and sent again as it is."""

import datetime as dt
from collections.abc import Sequence

from django.utils import dateformat

from chat.context.view import META_KEY, ViewRow
from chat.models import ChatSession, Head, Message, Turn

# The key of the line in Message.meta[META_KEY].
DAY_KEY = "day"


def add_day(turn: Turn, session: ChatSession, head: Head, rows: Sequence[ViewRow]) -> None:
    """Store with the message of `turn`, which is sent for the first time, the day on which it was written, unless the
    model knows it from `head` or from the last such line in `rows`."""
    message = turn.prompt
    if turn.kind != Turn.Kind.SEND or turn.attempt > 1 or DAY_KEY in message.meta.get(META_KEY, {}):
        return
    day = day_of(session, message)
    lines = [line for row in rows if row.seq < message.seq and (line := row.sent(DAY_KEY))]
    is_known = lines[-1] == line_of(day) if lines else f" on {written(day)} (" in head.system
    if is_known:
        return
    message.meta = {**message.meta, META_KEY: {**message.meta.get(META_KEY, {}), DAY_KEY: line_of(day)}}
    Message.objects.filter(pk=message.pk).update(meta=message.meta)


def day_of(session: ChatSession, message: Message) -> dt.date:
    """Return the day on which `message` was written: by the clock of the person; in a conversation of several people by
    UTC, as in its head."""
    if session.is_shared:
        return message.created_at.astimezone(dt.UTC).date()
    return session.owner.day(message.created_at)


def line_of(day: dt.date) -> str:
    """Return the line that tells the model which day it is."""
    return f"[Today is {written(day)}.]"


def written(day: dt.date) -> str:
    """Return `day` as the head writes it, such as “Thursday, 26 November 2026”. The language is that of the prompt."""
    return dateformat.format(day, "l, j F Y")
