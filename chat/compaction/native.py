"""Ask the model's server to summarise a conversation itself: its block keeps signed thinking valid."""

from collections.abc import Sequence
from dataclasses import replace

from django.conf import settings

from chat.answering import answers_without_memory
from chat.compaction.checks import Check
from chat.compaction.summaries import instructions
from chat.context.meter import facts_for
from chat.context.prompt import attachments_of, request_for, rows_of, without_lost
from chat.context.rounds import rounds_in_view
from chat.context.view import view_of
from chat.models import ChatSession, ContextRound
from oneclaw import llm
from oneclaw.spend.calls import Payer

SUMMARY_MAX_TOKENS = 8_192


def is_possible(session: ChatSession, checks: Sequence[Check]) -> bool:
    """Return whether the model's server may be asked: it can, the settings leave it to it, and it has not failed."""
    if settings.COMPACTION_BY != "auto" or session.head is None or Check.NOT_BY_API in checks:
        return False
    if answers_without_memory(session):
        return False
    return facts_for(session).compacts


def compact(session: ChatSession, planned: ContextRound, focus: str, payer: Payer) -> llm.Compaction:
    """Return the summary by the model's server of the messages that `planned` covers. Raise ModelRequestError.

    The request is the conversation's own up to there, so that it is read from the cache.
    """
    if session.head is None:
        raise llm.CompactionUnsupportedError
    rounds = rounds_in_view(session)
    readable = without_lost(session, rows_of(session, rounds.through_seq))
    rows = [row for row in readable if row.seq <= planned.through.seq]
    view = view_of(session.head, rows, attachments_of(session, rows), session.thinking_after_seq, rounds)
    request = request_for(session, session.head, rows, view)
    asked = replace(request, compaction=instructions(focus), max_tokens=SUMMARY_MAX_TOKENS)
    return llm.compact_sync(asked, payer)
