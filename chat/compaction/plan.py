"""Decide which messages a summary replaces, and whether that is worth it. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass

from chat.compaction.budget import WindowBudget


@dataclass(frozen=True)
class TurnSize:
    """A message of a person with all that follows it, up to their next one: its last message, and its tokens."""

    last_seq: int
    tokens: int


@dataclass(frozen=True)
class Cut:
    """A summary of the messages up to `through_seq`. `covered` and `kept` are the tokens before and after that."""

    through_seq: int
    covered: int
    kept: int


def plan_cut(
    turns: Sequence[TurnSize],
    fixed: int,
    budget: WindowBudget,
    *,
    is_asked: bool = False,
    is_early: bool = False,
    least: bool = False,
) -> Cut | None:
    """Return where to cut a conversation of `turns`, oldest first; None when that frees too little.

    `fixed` are the tokens of the head. A person who asks for it (`is_asked`) gets a summary of the older half of a
    short conversation, too. A round that is made early (`is_early`) is used when the window is full, so what will be
    added until then is kept as well. With `least` only the newest turn is kept.
    """
    if len(turns) < 2:
        return None
    room = budget.target - fixed - budget.summary - budget.quoted
    if is_early:
        room -= max(0, budget.usable - fixed - sum(turn.tokens for turn in turns))
    most = 0 if least else min(budget.keep, max(room, 0))
    if is_asked:
        most = min(most, sum(turn.tokens for turn in turns) // 2)
    kept, count = turns[-1].tokens, 1
    for turn in reversed(turns[1:-1]):
        if kept + turn.tokens > most:
            break
        kept, count = kept + turn.tokens, count + 1
    covered = turns[:-count]
    size = sum(turn.tokens for turn in covered)
    if not is_asked and size - budget.summary - budget.quoted < budget.gain:
        return None
    return Cut(covered[-1].last_seq, size, kept)
