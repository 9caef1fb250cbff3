"""Decide which older results of tools are shortened while the provider's cache has expired. Pure.

The numbers and the order are those of OpenClaw's pruning (mode cache-ttl): ratio = characters / (4 x window tokens);
from 0.3 on, long results keep their beginning and end; from 0.5 on, the oldest are emptied, until the ratio is below.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from chat.context.rounds import CLEAR, CLEARED, TRIM, TRIMMED_EDGE_CHARS, TRIMMED_MIN_CHARS

CHARS_PER_TOKEN = 4
TRIM_MIN_RATIO, CLEAR_MIN_RATIO = 0.3, 0.5
# The results after the third last answer are never shortened.
KEPT_ANSWERS = 3
# Results are emptied only if together they have so many characters.
CLEARABLE_MIN_CHARS = 50_000
# What a trimmed result has besides its edges, roughly: the sentence that says so.
TRIMMED_CHARS = 2 * TRIMMED_EDGE_CHARS + 100


@dataclass(frozen=True)
class PrunableResult:
    """A result of a tool: its id, its characters as it is sent now, and whether it has images, which are left alone."""

    id: str
    chars: int
    has_images: bool = False


def decide(
    results: Sequence[PrunableResult], total_chars: int, window_tokens: int, *, min_ratio: float = TRIM_MIN_RATIO
) -> dict[str, str]:
    """Return {id: TRIM or CLEAR} for those of `results`, oldest first, that are to be shortened.

    `results` are those that may be shortened: after the first message of the person, and before the answers that are
    kept. `total_chars` are the characters of the whole request. Nothing is shortened below `min_ratio`.
    """
    chars_window = CHARS_PER_TOKEN * window_tokens
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
