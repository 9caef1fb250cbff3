"""The calls of models until their rows are stored: every function that asks a model takes one of these.

A call is here from the moment at which its server has first said what it takes. A turn stores the rows by the statement
that ends it, or a round of its tools (`storing`); until then its checkpoints save them (oneclaw/spend/unstored.py).
Everything else stores them right after the call, before its result is used, so that work that fails later has still
cost what it cost (`store`).
"""

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID, uuid4, uuid5

from django.db import IntegrityError

from oneclaw.config.upstreams import Upstream
from oneclaw.models import Space, Spend, User
from oneclaw.spend.prices import exact_price_of, prices_at
from oneclaw.spend.usage import counts_of
from oneclaw.telemetry import metrics
from oneclaw.text import replace_unstorable

Spends = Sequence[Spend]
# What the id of a row is made of that has the rest of a call.
REST = "rest"


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
        self,
        model: str,
        usage: Mapping[str, Any],
        *,
        is_whole: bool = True,
        upstream: Upstream | None = None,
        call_id: UUID | None = None,
    ) -> None:
        """Add a call that has ended, with the `usage` of the server of `model`; `is_whole`: until its end.

        `upstream` is the further server that has answered, with its prices of now; None: the first one. `call_id` is
        that of a call that was noted before.
        """
        row = self.note(call_id or uuid4(), model, usage, is_whole=is_whole, upstream=upstream)
        metrics.count_call(row.model, counts_of(usage), float(row.cost or 0))

    def note(
        self,
        call_id: UUID,
        model: str,
        usage: Mapping[str, Any],
        *,
        is_whole: bool = False,
        upstream: Upstream | None = None,
    ) -> Spend:
        """Keep what the server of `model` has said so far that the call `call_id` takes, and return its row."""
        counts = counts_of(usage)
        row = Spend(
            id=call_id,
            user_id=self.payer.user_id,
            space_id=self.payer.space_id,
            session_id=self.payer.session_id,
            purpose=self.payer.purpose,
            model=replace_unstorable(model)[: Spend.MODEL_MAX_CHARS],
            input_tokens=counts["input_tokens"],
            output_tokens=counts["output_tokens"],
            cached_tokens=counts["cache_read_input_tokens"],
            written_tokens=counts["cache_creation_input_tokens"],
            is_whole=is_whole,
        )
        read = row.input_tokens + row.cached_tokens + row.written_tokens
        row.set_price(exact_price_of(row.model, prices_at(upstream), read))
        self.rows = [*(each for each in self.rows if each.pk != call_id), row]
        return row

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
            _insert(rows)

    def store_rest(self) -> None:
        """Insert the rows of a turn that another process has ended. Idempotent. Sync.

        What that process has stored of a call never changes: a row of its own has what the server said since then.
        """
        with self.storing() as rows:
            _insert(rows)
            ours = {row.pk: row for row in rows}
            rests = [_rest_of(ours[stored.pk], stored) for stored in Spend.objects.filter(pk__in=ours)]
            _insert([rest for rest in rests if rest.tokens])


@contextlib.contextmanager
def paid_by(payer: Payer) -> Iterator[Spending]:
    """Give the block a Spending for its calls, and store them at its end. Sync."""
    spending = Spending(payer)
    try:
        yield spending
    finally:
        spending.store()


def unset_deleted(rows: Spends) -> None:
    """Take from `rows`, which are not stored, the people and spaces that are not there any more."""
    people = set(User.objects.filter(pk__in={row.user_id for row in rows}).values_list("pk", flat=True))
    spaces = set(Space.objects.filter(pk__in={row.space_id for row in rows}).values_list("pk", flat=True))
    for row in rows:
        row.user_id = row.user_id if row.user_id in people else None
        row.space_id = row.space_id if row.space_id in spaces else None


def _insert(rows: Spends) -> None:
    """Insert `rows`, those that are not there yet."""
    try:
        Spend.objects.bulk_create(rows, ignore_conflicts=True)
    except IntegrityError:
        # The person, or the space, has gone while the model was asked.
        unset_deleted(rows)
        Spend.objects.bulk_create(rows, ignore_conflicts=True)


def _rest_of(call: Spend, stored: Spend) -> Spend:
    """Return a row with what `call` has taken since its row `stored`; the same one each time."""
    rest = Spend(id=uuid5(call.pk, REST), is_whole=call.is_whole)
    for name in ("user_id", "space_id", "session_id", "purpose", "model"):
        setattr(rest, name, getattr(call, name))
    for name in Spend.TOKENS:
        setattr(rest, name, max(0, getattr(call, name) - getattr(stored, name)))
    rest.set_price(None if call.price is None else tuple(call.price))
    return rest
