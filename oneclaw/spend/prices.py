"""What tokens cost, by the setting ONECLAW_PRICES. Pure."""

from collections.abc import Mapping
from decimal import Decimal
from typing import TypeVar

from oneclaw.models import Spend

P = TypeVar("P")


def price_of(model: str, prices: Mapping[str, P]) -> P | None:
    """Return the price of the longest name with which the model's begins: servers add dates to names."""
    fitting = [name for name in prices if model.startswith(name)]
    return prices[max(fitting, key=len)] if fitting else None


def exact_price_of(model: str, prices: Mapping[str, tuple[float, ...]]) -> tuple[Decimal, ...] | None:
    """Return the price of `model` as decimal numbers, as many places as a row keeps."""
    price = price_of(model, prices)
    return None if price is None else tuple(Decimal(f"{each:.{Spend.PRICE_DECIMALS}f}") for each in price)
