"""What tokens cost, by the setting ONECLAW_PRICES, and by the server that answers."""

from collections.abc import Mapping
from decimal import Decimal
from typing import TypeVar

from django.conf import settings

from oneclaw.config.upstreams import Upstream
from oneclaw.models import Spend

P = TypeVar("P")


def prices_at(upstream: Upstream | None) -> Mapping[str, tuple[float, ...]]:
    """Return the prices of `upstream`, and those of ONECLAW_PRICES for models without a price there."""
    if upstream is None:
        return settings.PRICES
    others = {name: each for name, each in settings.PRICES.items() if price_of(name, upstream.prices) is None}
    return {**others, **upstream.prices}


def price_of(model: str, prices: Mapping[str, P]) -> P | None:
    """Return the price of the longest name with which the model's begins: servers add dates to names."""
    fitting = [name for name in prices if model.startswith(name)]
    return prices[max(fitting, key=len)] if fitting else None


def exact_price_of(model: str, prices: Mapping[str, tuple[float, ...]]) -> tuple[Decimal, ...] | None:
    """Return the price of `model` as decimal numbers, as many places as a row keeps."""
    price = price_of(model, prices)
    return None if price is None else tuple(Decimal(f"{each:.{Spend.PRICE_DECIMALS}f}") for each in price)
