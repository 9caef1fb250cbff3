"""Which price a request has: by its model's name, and by how much it reads."""

import pytest

from oneclaw.models import Spend
from oneclaw.spend.calls import Payer, Spending
from oneclaw.spend.prices import cost_of, price_of

PRICES = {
    "claude-sonnet": (3.0, 15.0, 0.3, 3.75),
    "claude-sonnet-5-5": (2.0, 10.0, 0.1, 2.5),
    "claude-haiku-5-5": (0.1, 0.5, 0.01, 0.125),
    "claude-haiku-5-5>100000": (0.5, 2.5, 0.05, 0.625),
}


def test_the_price_is_that_of_the_longest_name_that_fits():
    assert price_of("claude-sonnet-5-5-2026", PRICES) == PRICES["claude-sonnet-5-5"]
    assert price_of("claude-sonnet-4", PRICES) == PRICES["claude-sonnet"]
    assert price_of("another", PRICES) is None
    assert cost_of("another", {"output_tokens": 5}, PRICES) is None


@pytest.mark.parametrize(("tokens", "expected"), [(0, 0.1), (100_000, 0.1), (100_001, 0.5), (900_000, 0.5)])
def test_a_long_prompt_has_the_price_of_long_prompts(tokens, expected):
    assert price_of("claude-haiku-5-5-20261007", PRICES, tokens)[0] == expected


def test_what_is_read_from_the_cache_makes_a_prompt_long_too():
    usage = {"input_tokens": 1_000, "cache_read_input_tokens": 99_500, "cache_creation_input_tokens": 0}
    assert cost_of("claude-haiku-5-5", usage, PRICES) == pytest.approx((1_000 * 0.5 + 99_500 * 0.05) / 1e6)


def test_a_stored_call_has_it(settings):
    settings.PRICES = PRICES
    spending = Spending(Payer(Spend.Purpose.TITLE, None))
    spending.add("claude-haiku-5-5", {"input_tokens": 100_001, "output_tokens": 0})
    assert float(spending.rows[0].cost) == pytest.approx(100_001 * 0.5 / 1e6)
