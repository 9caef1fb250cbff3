"""The numbers of pruning, each at its limit and beside it."""

import pytest

from chat.compaction.prune import PrunableResult, decide
from chat.context.rounds import CLEAR, CLEARED, TRIM, shortened

WINDOW = 100_000
# Characters at which a ratio is reached.
SOFT, HARD = 120_000, 200_000


def results(*sizes):
    return [PrunableResult(f"call_{index}", size) for index, size in enumerate(sizes)]


@pytest.mark.parametrize(
    ("total", "decisions"), [(SOFT - 1, {}), (SOFT, {"call_0": TRIM}), (SOFT + 1, {"call_0": TRIM})]
)
def test_long_results_are_trimmed_from_a_ratio_of_three_tenths(total, decisions):
    assert decide(results(10_000), total, WINDOW) == decisions


@pytest.mark.parametrize(("size", "decisions"), [(4_000, {}), (4_001, {"call_0": TRIM})])
def test_only_results_above_4000_characters_are_trimmed(size, decisions):
    assert decide(results(size), SOFT, WINDOW) == decisions


def test_results_with_images_are_left_alone():
    assert decide([PrunableResult("call_0", 10_000, has_images=True)], SOFT, WINDOW) == {}


def test_the_oldest_are_emptied_until_the_ratio_is_below_one_half():
    decisions = decide(results(*[3_500] * 40), HARD + 5_000, WINDOW)
    assert decisions == {"call_0": CLEAR, "call_1": CLEAR}


@pytest.mark.parametrize(("count", "cleared"), [(14, 0), (15, 1)])
def test_results_are_emptied_only_when_they_have_50000_characters_together(count, cleared):
    assert len(decide(results(*[3_500] * count), HARD, WINDOW)) == cleared


def test_a_model_that_signs_its_thinking_waits_for_the_higher_ratio():
    assert decide(results(10_000), HARD - 1, WINDOW, min_ratio=0.5) == {}
    assert decide(results(10_000), HARD, WINDOW, min_ratio=0.5) == {"call_0": TRIM}


def test_a_trimmed_result_says_what_it_had():
    text = "a" * 2_000 + "b" * 3_000
    sent = shortened({"type": "tool_result", "tool_use_id": "call_0", "content": text}, TRIM)
    assert sent == (
        "a" * 1_500
        + "..."
        + "b" * 1_500
        + "\n\n[Tool result trimmed: kept first 1500 chars and last 1500 chars of 5000 chars.]"
    )


def test_a_short_result_stays_whole_when_it_is_trimmed():
    assert shortened({"type": "tool_result", "tool_use_id": "call_0", "content": "a" * 4_000}, TRIM) == "a" * 4_000


def test_an_emptied_result_says_so():
    assert shortened({"type": "tool_result", "tool_use_id": "call_0", "content": "a"}, CLEAR) == CLEARED
    assert CLEARED == "[Old tool result content cleared]"
