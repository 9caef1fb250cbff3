"""Token counts as servers say them: what is no possible number never reaches a row, and breaks no reader of one."""

import pytest

from oneclaw.spend.usage import COUNT_MAX_TOKENS, count_of, counts_of, is_counted, read_usage

IMPOSSIBLE = [None, "many", "12", -1, 2**31 * 100, 10**400, float("nan"), float("inf"), True, [1], {"a": 1}]


@pytest.mark.parametrize("count", IMPOSSIBLE, ids=lambda count: str(count)[:12])
def test_an_impossible_count_is_none(count):
    assert count_of({"input_tokens": count}, "input_tokens") == 0
    kept = read_usage({"input_tokens": count, "output_tokens": 7})
    assert count_of(kept, "input_tokens") == 0
    assert (kept["output_tokens"], is_counted(kept)) == (7, False)


@pytest.mark.parametrize("usage", [None, {}, [], "many", 7])
def test_no_usage_is_none(usage):
    assert read_usage(usage) == {}


def test_possible_counts_are_kept_also_inside():
    usage = {
        "input_tokens": 3,
        "output_tokens": 4.0,
        "cache_read_input_tokens": COUNT_MAX_TOKENS,
        "service_tier": "standard",
        "output_tokens_details": {"thinking_tokens": 2, "x": 10**30},
        "iterations": [{"input_tokens": 5}, "x", {"input_tokens": "many"}],
    }
    assert read_usage(usage) == {
        "input_tokens": 3,
        "output_tokens": 4,
        "cache_read_input_tokens": COUNT_MAX_TOKENS,
        "service_tier": "standard",
        "output_tokens_details": {"thinking_tokens": 2},
        "iterations": [{"input_tokens": 5}, {}],
    }


def test_the_names_of_another_api_are_understood():
    assert counts_of(read_usage({"prompt_tokens": 9, "completion_tokens": 3})) == {
        "input_tokens": 9,
        "output_tokens": 3,
        "cache_creation_input_tokens": 0,
        "cache_read_input_tokens": 0,
    }
