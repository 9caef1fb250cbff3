"""The calls of models until their rows are stored: every function that asks a model takes one of these.

A turn stores the rows by the statement that ends it, or a round of its tools (`storing`). Everything else stores them
right after the call, before its result is used, so that work that fails later has still cost what it cost (`store`).
"""

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from oneclaw.config.upstreams import Upstream
from oneclaw.models import Space, Spend
from oneclaw.spend.prices import exact_price_of, prices_at
from oneclaw.telemetry import metrics
from oneclaw.text import replace_unstorable

Spends = Sequence[Spend]
TOKENS_MAX_COUNT = 2**31 - 1


@dataclass(frozen=True, slots=True)
class Payer:
    """For whom a model is called, and what for. `is_in_turn`: for a turn that has begun, which no budget ends."""

    purpose: Spend.Purpose
    user_id: int | None
    session_id: UUID | None = None
    space_id: int | None = None
    is_in_turn: bool = False


class Spending:
    """The calls for one payer that are not stored yet."""

    def __init__(self, payer: Payer) -> None:
        self.payer = payer
        self.rows: list[Spend] = []

    def add(
        self, model: str, usage: Mapping[str, Any], *, is_whole: bool = True, upstream: Upstream | None = None
    ) -> None:
        """Add a call with the `usage` of the server of `model`; `is_whole`: until its end.

        `upstream` is the further server that has answered, with its prices of now; None: the first one.
        """
        row = Spend(
            user_id=self.payer.user_id,
            space_id=self.payer.space_id,
            session_id=self.payer.session_id,
            purpose=self.payer.purpose,
            model=replace_unstorable(model)[: Spend.MODEL_MAX_CHARS],
            input_tokens=_tokens(usage, "input_tokens"),
            output_tokens=_tokens(usage, "output_tokens"),
            cached_tokens=_tokens(usage, "cache_read_input_tokens"),
            written_tokens=_tokens(usage, "cache_creation_input_tokens"),
            is_whole=is_whole,
        )
        row.set_price(exact_price_of(row.model, prices_at(upstream)))
        self.rows.append(row)
        metrics.count_call(row.model, usage, float(row.cost or 0))

    @contextlib.contextmanager
    def storing(self) -> Iterator[Spends]:
        """Give the rows to the block, which stores them; they stay here when it raises."""
        rows = tuple(self.rows)
        yield rows
        self.rows = [row for row in self.rows if row not in rows]

    def store(self) -> None:
        """Insert the rows. Idempotent. Sync."""
        if not self.rows:
            return
        if self.payer.user_id is None and self.payer.space_id is not None:
            # What is done for a space, whoever caused it, its owner pays.
            owner_id = Space.objects.filter(pk=self.payer.space_id).values_list("owner_id", flat=True).first()
            for row in self.rows:
                row.user_id = owner_id
        with self.storing() as rows:
            Spend.objects.bulk_create(rows, ignore_conflicts=True)


@contextlib.contextmanager
def paid_by(payer: Payer) -> Iterator[Spending]:
    """Give the block a Spending for its calls, and store them at its end. Sync."""
    spending = Spending(payer)
    try:
        yield spending
    finally:
        spending.store()


def _tokens(usage: Mapping[str, Any], name: str) -> int:
    """Return a number of tokens; 0 for anything that is none."""
    count = usage.get(name)
    return min(count, TOKENS_MAX_COUNT) if isinstance(count, int) and count > 0 else 0
