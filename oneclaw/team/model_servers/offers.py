"""The models of a server as lines of a form: name, label, price, and the models that each may stand in for."""

import csv
from collections.abc import Sequence
from typing import Any

from django.utils.translation import gettext_lazy as _

from oneclaw.config import environment
from oneclaw.text import UserFacingError

MODELS_MAX_COUNT = 100
# As many as the rows of conversations and spending hold.
NAME_MAX_CHARS = 100
COLUMNS = ("model", "label", "price", "instead_of")


class OffersError(UserFacingError):
    """A line names no model, or one that a server cannot have."""


def parsed_offers(text: str) -> list[dict[str, Any]]:
    """Return the models in the lines of `text`, as rows of ModelServer have them. Raise OffersError."""
    offers: list[dict[str, Any]] = []
    for line in text.splitlines():
        if not line.strip():
            continue
        if len(offers) == MODELS_MAX_COUNT:
            raise OffersError(_("A server may have %(count)d models."), count=MODELS_MAX_COUNT)
        offer = _parsed(line)
        if any(offer["model"] == other["model"] for other in offers):
            raise OffersError(_("“%(name)s” is there twice."), name=offer["model"])
        offers.append(offer)
    if not offers:
        raise OffersError(_("Write at least one model."))
    return offers


def lines_of(offers: Sequence[dict[str, Any]]) -> str:
    """Return `offers` as lines that `parsed_offers` reads."""
    lines = []
    for offer in offers:
        cells = [offer["model"], offer.get("label", ""), offer.get("price", ""), "; ".join(offer.get("instead_of", []))]
        while not cells[-1]:
            cells.pop()
        lines.append(", ".join(f'"{cell}"' if "," in cell else cell for cell in cells))
    return "\n".join(lines)


def _parsed(line: str) -> dict[str, Any]:
    try:
        [cells] = csv.reader([line], skipinitialspace=True, strict=True)
    except (csv.Error, ValueError):
        raise OffersError(_("This line cannot be read: %(line)s"), line=line[:NAME_MAX_CHARS]) from None
    if len(cells) > len(COLUMNS):
        raise OffersError(_("This line has too many commas: %(line)s"), line=line[:NAME_MAX_CHARS])
    found = dict(zip(COLUMNS, (cell.strip() for cell in cells), strict=False))
    instead_of = [name.strip() for name in found.pop("instead_of", "").split(";") if name.strip()]
    model = found["model"]
    for name in (model, *instead_of):
        if not name or len(name) > NAME_MAX_CHARS or not name.isprintable() or " " in name:
            raise OffersError(_("“%(name)s” is no name of a model."), name=name[:NAME_MAX_CHARS])
    if any('"' in cell for cell in cells):
        raise OffersError(_("Write “%(name)s” and its label without quotation marks."), name=model)
    if len(found.get("label", "")) > NAME_MAX_CHARS:
        raise OffersError(_("The label of “%(name)s” is too long."), name=model)
    if price := found.get("price"):
        try:
            environment.price(price)
        except ValueError:
            raise OffersError(_("Write the price of “%(name)s” like 2/10 or 2/10/0.1/2.5."), name=model) from None
    offer: dict[str, Any] = {name: value for name, value in found.items() if value}
    return offer | ({"instead_of": instead_of} if instead_of else {})
