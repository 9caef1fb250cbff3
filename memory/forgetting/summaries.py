"""Erase forgotten lines from the rounds of conversations: from summaries, their steps and their supplements."""

from collections.abc import Collection
from typing import Any

from django.db.models import QuerySet

from chat.compaction import make
from chat.context.heads import withhold_thinking
from chat.models import ChatSession, ContextRound
from memory.forgetting.eraser import CUT_TEXT_MIN_CHARS, Eraser
from memory.policy.tombstones import BLANK
from oneclaw.jobs import OPEN_STATUSES, Job, clock

# The columns of a round that hold words of the conversation.
TEXTS = ("summary", "supplement", "text", "steps", "focus", "error")


def changed_columns(row: ContextRound, eraser: Eraser) -> dict[str, Any]:
    """Return the columns of `row` that hold a forgotten line, without it; {} when there is none."""
    erased = {name: erased_value(getattr(row, name), eraser) for name in TEXTS}
    columns = {name: value for name, value in erased.items() if value != getattr(row, name)}
    if row.block is not None and erased_value(row.block, eraser) != row.block:
        columns["block"] = None
    return columns


def blank(changes: dict[int, dict[str, Any]]) -> None:
    """Store the changes that changed_columns() returned, by the id of the round."""
    for pk, columns in changes.items():
        ContextRound.objects.filter(pk=pk).update(**columns)
        if "block" in columns:
            make.without_block(ContextRound.objects.get(pk=pk))
    _use_anew(changes)


def drop_blocks(rounds: QuerySet[ContextRound]) -> None:
    """Remove the signed blocks of `rounds`, whose encrypted part may hold forgotten words; their readable text stays as
    the summary."""
    signed = list(rounds.exclude(block=None))
    for row in signed:
        make.without_block(row)
    _use_anew([row.pk for row in signed])


def restart(rounds: QuerySet[ContextRound]) -> None:
    """Let those of `rounds` that are open be made again from the start.

    A worker that has read forgotten lines loses its claim, so that it stores nothing.
    """
    rounds.filter(status__in=OPEN_STATUSES).update(
        status=Job.Status.QUEUED, token=None, lease_until=None, attempts=0, due_at=clock(), steps=[], error=""
    )


def erased_value(value: Any, eraser: Eraser) -> Any:
    """Return the JSON `value` with forgotten lines replaced in every string."""
    if isinstance(value, str):
        return erased_text(value, eraser)
    if isinstance(value, list):
        return [erased_value(part, eraser) for part in value]
    if isinstance(value, dict):
        return {name: erased_value(part, eraser) for name, part in value.items()}
    return value


def erased_text(text: str, eraser: Eraser) -> str:
    """Return `text` without each forgotten line, each cut line that is the start of one, and forgotten words that span
    several lines."""
    lines = [BLANK if _is_start(line, eraser) else line for line in text.split("\n")]
    return eraser.known.without_forgotten_words(eraser.text("\n".join(lines)))


def _is_start(line: str, eraser: Eraser) -> bool:
    is_cut = len(line) >= CUT_TEXT_MIN_CHARS and line.endswith("…")
    return is_cut and eraser.is_prefix(line.rstrip("…"))


def _use_anew(rounds: Collection[int]) -> None:
    """Let the next turn in the conversations of `rounds` begin to use them, as changed: without earlier thinking, which
    is signed together with what they were.

    A turn that is running goes on with its rounds, because without them it may not fit into the model's window.
    """
    for session in ChatSession.objects.filter(context_rounds__in=rounds).distinct():
        withhold_thinking(session, session.last_seq)
        if not session.turns.running().exists():
            ChatSession.objects.filter(pk=session.pk).update(used_rounds=[])
