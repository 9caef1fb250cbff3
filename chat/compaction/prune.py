"""Shorten older results of tools in what the model is sent, while the provider's cache has expired.

The numbers and the order are those of OpenClaw's pruning (mode cache-ttl): ratio = characters / (4 x window tokens);
from 0.3 on, long results keep their beginning and end; from 0.5 on, the oldest are emptied, until the ratio is below.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass

from django.conf import settings
from django.db.models import Max
from django.utils import timezone

from chat.compaction.planning import budget_for
from chat.context.meter import Meter, facts_for
from chat.context.prompt import rows_of
from chat.context.results import sent_results
from chat.context.rounds import (
    CLEAR,
    CLEARED,
    TRIM,
    TRIMMED_EDGE_CHARS,
    TRIMMED_MIN_CHARS,
    RoundsInView,
    rounds_in_view,
    text_of_result,
)
from chat.context.view import ViewRow
from chat.extensions import tool_named
from chat.models import ChatSession, ContextRound, Head, Message
from oneclaw.llm import Block

WINDOW_TOKEN_CHARS = 4
TRIM_MIN_RATIO, CLEAR_MIN_RATIO = 0.3, 0.5
# The results after the third last answer are never shortened.
KEPT_ANSWERS = 3
# Results are emptied only if together they have so many characters.
CLEARABLE_MIN_CHARS = 50_000
# What a trimmed result has besides its edges, roughly: the sentence that says so.
TRIMMED_CHARS = 2 * TRIMMED_EDGE_CHARS + 100
# Results are shortened again only when new ones have this share of the window.
AGAIN_MIN_RATIO = 0.2


@dataclass(frozen=True)
class PrunableResult:
    """A result of a tool: its id, its characters as it is sent now, and whether it has images, which are left alone."""

    id: str
    chars: int
    has_images: bool = False


def may_prune(session: ChatSession, meter: Meter) -> bool:
    """Return whether the conversation is large enough for results to be shortened; without reading it."""
    # A token has at most WINDOW_TOKEN_CHARS characters here, so below this no ratio is reached.
    return settings.PRUNING and meter.used_tokens >= TRIM_MIN_RATIO * budget_for(session).window


def prune(session: ChatSession, meter: Meter, through: Message) -> ContextRound | None:
    """Record which results up to the message `through` are sent shortened from now on; None when none are. Call while
    the provider's cache has expired, in a transaction."""
    window = budget_for(session).window
    if session.head is None:
        return None
    rounds = rounds_in_view(session)
    rows = [row for row in rows_of(session, rounds.through_seq) if row.seq <= through.seq]
    sizes = {row.seq: chars_of(sent_blocks(row, rounds)) for row in rows}
    pruned_through = last_pruned_seq(session)
    fresh = sum(sizes[row.seq] for row in rows if row.role == Message.Role.TOOL and row.seq > pruned_through)
    if pruned_through and fresh < AGAIN_MIN_RATIO * WINDOW_TOKEN_CHARS * window:
        return None
    # A model that signs its thinking loses it by this, so it must be worth it.
    min_ratio = CLEAR_MIN_RATIO if facts_for(session).preserved_thinking else TRIM_MIN_RATIO
    total = chars_of_head(session.head) + sum(sizes.values())
    decisions = decide(prunable(rows, rounds), total, window, min_ratio=min_ratio)
    if not decisions:
        return None
    newest = session.context_rounds.aggregate(newest=Max("number"))["newest"] or 0
    now = timezone.now()
    made: ContextRound = ContextRound.objects.create(
        owner=session.owner,
        session=session,
        number=newest + 1,
        kind=ContextRound.Kind.PRUNE,
        reason=ContextRound.Reason.PAUSE,
        status=ContextRound.Status.DONE,
        through=through,
        decisions=decisions,
        finished_at=now,
        used_at=now,
        used_after_seq=through.seq,
        tokens_before=meter.used_tokens,
        tokens_after=meter.used_tokens,
    )
    return made


def prunable(rows: Sequence[ViewRow], rounds: RoundsInView) -> list[PrunableResult]:
    """Return the results that may be shortened, oldest first: after the first message of the person, and before the
    third last answer; none in a conversation with fewer answers, and none of a protected tool."""
    answers = [index for index, row in enumerate(rows) if row.role == Message.Role.ASSISTANT]
    first = next((index for index, row in enumerate(rows) if row.role == Message.Role.USER), len(rows))
    if len(answers) < KEPT_ANSWERS:
        return []
    found = []
    protected: set[str] = set()
    for row in rows[first : answers[-KEPT_ANSWERS]]:
        protected |= {
            use["id"] for use in row.content if use["type"] == "tool_use" and tool_named(use["name"]).is_protected
        }
        if row.role == Message.Role.TOOL:
            for block in sent_blocks(row, rounds):
                is_free = block["type"] == "tool_result" and block["tool_use_id"] not in protected
                if is_free and rounds.decisions.get(block["tool_use_id"]) != CLEAR:
                    found.append(PrunableResult(block["tool_use_id"], len(text_of_result(block)), has_images(block)))
    return found


def decide(
    results: Sequence[PrunableResult], total_chars: int, window_tokens: int, *, min_ratio: float = TRIM_MIN_RATIO
) -> dict[str, str]:
    """Return {id: TRIM or CLEAR} for those of `results`, oldest first, that are to be shortened.

    `results` are those that may be shortened: after the first message of the person, and before the answers that are
    kept. `total_chars` are the characters of the whole request. Nothing is shortened below `min_ratio`.
    """
    chars_window = WINDOW_TOKEN_CHARS * window_tokens
    if not chars_window or total_chars / chars_window < min_ratio:
        return {}
    decisions: dict[str, str] = {}
    sizes = {each.id: each.chars for each in results if not each.has_images}
    for id, chars in sizes.items():
        if chars > TRIMMED_MIN_CHARS:
            decisions[id] = TRIM
            total_chars -= chars - TRIMMED_CHARS
            sizes[id] = TRIMMED_CHARS
    if total_chars / chars_window < CLEAR_MIN_RATIO or sum(sizes.values()) < CLEARABLE_MIN_CHARS:
        return decisions
    for id, chars in sizes.items():
        if total_chars / chars_window < CLEAR_MIN_RATIO:
            break
        decisions[id] = CLEAR
        total_chars -= chars - len(CLEARED)
    return decisions


def sent_blocks(row: ViewRow, rounds: RoundsInView) -> list[Block]:
    """Return the blocks of a message as they are sent now, without its files."""
    return rounds.pruned(sent_results(row.content, row.all_sent))


def has_images(block: Block) -> bool:
    """Return whether the result of a tool has images."""
    content = block.get("content")
    return isinstance(content, list) and any(part.get("type") == "image" for part in content)


def chars_of(blocks: Sequence[Block]) -> int:
    """Return the characters of the text in `blocks`."""
    return sum(len(block.get("text") or block.get("thinking") or "") + len(text_of_result(block)) for block in blocks)


def chars_of_head(head: Head) -> int:
    """Return the characters of a head."""
    return len(head.system) + len(json.dumps(head.tools, ensure_ascii=False))


def last_pruned_seq(session: ChatSession) -> int:
    """Return the last message whose results were looked at when some were shortened; 0 when none were."""
    rounds = session.context_rounds.usable().filter(kind=ContextRound.Kind.PRUNE)
    return rounds.aggregate(through=Max("through__seq"))["through"] or 0
