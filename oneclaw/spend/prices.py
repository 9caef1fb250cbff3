"""What tokens cost, by the setting ONECLAW_PRICES, and by the server that answers."""

from collections.abc import Mapping
from decimal import Decimal
from typing import TypeVar

from django.conf import settings

from oneclaw.config.upstreams import Upstream
from oneclaw.models import Spend
from oneclaw.spend.usage import INPUT_NAMES

P = TypeVar("P")
# Between a model's name and the number of tokens from which on its price applies.
ABOVE = ">"


def prices_at(upstream: Upstream | None) -> Mapping[str, tuple[float, ...]]:
    """Return the prices of `upstream`, and those of ONECLAW_PRICES for models without a price there."""
    if upstream is None:
        return settings.PRICES
    others = {name: each for name, each in settings.PRICES.items() if price_of(name, upstream.prices) is None}
    return {**others, **upstream.prices}


def price_of(model: str, prices: Mapping[str, P], input_tokens: int = 0) -> P | None:
    """Return the price of a request with so many tokens of input: that of the longest name with which the model's
    begins, because servers add dates to names. A name may end with the number of tokens that the input must exceed."""
    fitting = [
        (len(name), int(above or -1), key)
        for key in prices
        for name, _, above in [key.partition(ABOVE)]
        if model.startswith(name) and input_tokens > int(above or -1)
    ]
    return prices[max(fitting)[2]] if fitting else None


def exact_price_of(
    model: str, prices: Mapping[str, tuple[float, ...]], input_tokens: int = 0
) -> tuple[Decimal, ...] | None:
    """Return the price of such a request as decimal numbers, as many places as a row keeps."""
    price = price_of(model, prices, input_tokens)
    return None if price is None else tuple(Decimal(f"{each:.{Spend.PRICE_DECIMALS}f}") for each in price)


def cost_of(
    model: str, counts: Mapping[str, int], prices: Mapping[str, tuple[float, ...]], input_tokens: int | None = None
) -> float | None:
    """Return the US dollars of one request, or of several at the price of one with `input_tokens`; None: no price.

    Prices are per million tokens: read, written, read from the cache, written to it.
    """
    used = sum(counts.get(name, 0) for name in INPUT_NAMES) if input_tokens is None else input_tokens
    price = price_of(model, prices, used)
    if price is None:
        return None
    names = ("input_tokens", "output_tokens", "cache_read_input_tokens", "cache_creation_input_tokens")
    return sum(counts.get(name, 0) * each for name, each in zip(names, price, strict=True)) / 1_000_000
