"""Load the markers of a conversation: where a summary that the model reads, or will read, ends among the messages."""

import uuid

from django.utils.html import format_html_join
from django.utils.safestring import SafeString

from chat.models import ContextRound
from chat.rendering.rounds import marker_html

# The columns that a marker is made of; summaries are long.
SHOWN_COLUMNS = (
    *("session", "number", "kind", "status", "reason", "maker", "checks"),
    *("tokens_before", "tokens_after", "used_at", "undone_at", "through__seq"),
)


def markers_html(session_id: uuid.UUID, csrf_token: str = "") -> SafeString:
    """Return all markers of a session as HTML. Their forms carry `csrf_token`."""
    return format_html_join("", "{}", ((marker,) for _, marker in markers_of(session_id, csrf_token)))


def markers_of(session_id: uuid.UUID, csrf_token: str = "") -> list[tuple[int, SafeString]]:
    """Return (sequence number of the message before it, HTML) of each marker of a session, in order.

    Those are of summaries that are used on the shown branch, ready, or being made. Of several that end at the same
    message the newest has one.
    """
    rounds = shown_rounds(session_id)
    newest = max((each.number for each in rounds if each.state == ContextRound.State.USED), default=0)
    by_seq = {each.through.seq: each for each in sorted(rounds, key=lambda each: each.number)}
    return [
        (seq, marker_html(each, is_earlier=each.number < newest, csrf_token=csrf_token))
        for seq, each in sorted(by_seq.items())
    ]


def shown_rounds(session_id: uuid.UUID) -> list[ContextRound]:
    """Return the rounds that have a marker; of those that end at the same message also the older ones."""
    summaries = ContextRound.objects.filter(session=session_id, through__active=True).summaries()
    return list((summaries.open() | summaries.usable()).select_related("through").only(*SHOWN_COLUMNS))
