"""Calls of models as JSON, in the row of the work that makes them, until they are rows of spend.

A process that is killed leaves them there, and the process that ends its work stores them. The id of a call is that of
its row, so it is stored once, however many processes store it.
"""

import logging
from collections.abc import Iterable, Sequence
from decimal import Decimal
from typing import TypedDict
from uuid import UUID

from django.db.models.expressions import Combinable

from oneclaw.models import Spend
from oneclaw.spend.calls import unset_deleted

logger = logging.getLogger(__name__)


class UnstoredCall(TypedDict):
    """What the row of a call will have. `tokens` are in the order of Spend.TOKENS; `price` is that of its time."""

    id: str
    user: int | None
    space: int | None
    session: str | None
    purpose: str
    model: str
    tokens: list[int]
    price: list[str] | None
    is_whole: bool


def unstored(rows: Sequence[Spend]) -> list[UnstoredCall] | None:
    """Return `rows`, which are not stored, as JSON; None when there are none."""
    return [_call_of(row) for row in rows] or None


def store(calls: Iterable[UnstoredCall], at: Combinable) -> None:
    """Insert `calls` as rows of the time `at`, those that are none yet. Sync.

    What cannot be read is logged: it must not keep the work from being ended.
    """
    rows: list[Spend] = []
    for call in calls:
        try:
            rows.append(_row_of(call, at))
        except (LookupError, TypeError, ValueError, ArithmeticError):
            logger.exception("A call of a model is not stored, because another release has written it: %s", call)
    unset_deleted(rows)
    Spend.objects.bulk_create(rows, ignore_conflicts=True)


def _call_of(row: Spend) -> UnstoredCall:
    return {
        "id": str(row.pk),
        "user": row.user_id,
        "space": row.space_id,
        "session": str(row.session_id) if row.session_id else None,
        "purpose": row.purpose,
        "model": row.model,
        "tokens": [getattr(row, name) for name in Spend.TOKENS],
        "price": None if row.price is None else [str(each) for each in row.price],
        "is_whole": row.is_whole,
    }


def _row_of(call: UnstoredCall, at: Combinable) -> Spend:
    row = Spend(
        id=UUID(call["id"]),
        at=at,
        user_id=call["user"],
        space_id=call["space"],
        session_id=UUID(call["session"]) if call["session"] else None,
        purpose=call["purpose"],
        model=call["model"],
        is_whole=call["is_whole"],
        **dict(zip(Spend.TOKENS, call["tokens"], strict=True)),
    )
    row.set_price(None if call["price"] is None else tuple(map(Decimal, call["price"])))
    return row
