"""Ask the model's server to summarise a conversation itself: its block keeps signed thinking valid."""

from collections.abc import Sequence

from django.conf import settings

from chat.compaction.checks import Check
from chat.models import ChatSession, ContextRound


def is_possible(session: ChatSession, round: ContextRound, checks: Sequence[Check]) -> bool:
    """Return whether the model's server may be asked."""
    return settings.COMPACTION_BY == "auto" and not session


def summary_block(session: ChatSession, round: ContextRound) -> tuple[str, dict[str, object]]:
    """Return the text of the summary, and its block."""
    raise NotImplementedError
