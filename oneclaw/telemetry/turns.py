"""Measure a turn from its start to its end: numbers for Prometheus, a span, and its id in log lines."""

import asyncio
from collections.abc import Coroutine
from typing import Protocol

from oneclaw.telemetry import ids, metrics
from oneclaw.telemetry.tracing import span

RUNNING, FAILED, LOST = "running", "failed", "lost"


class MeasuredTurn(Protocol):
    """What is read of a turn: its id, and how it ended."""

    pk: int
    status: str
    error_code: str


async def measured(turn: MeasuredTurn, work: Coroutine[None, None, None]) -> None:
    """Await `work`, which runs `turn` and sets how it ended."""
    # In the context of this task, which ends with the turn.
    ids.turn_id.set(turn.pk)
    clock = asyncio.get_running_loop().time
    began = clock()
    metrics.turns_running.inc()
    try:
        with span("turn"):
            await work
    finally:
        metrics.turns_running.dec()
        outcome = turn.status if turn.status != RUNNING else LOST
        metrics.turns.labels(outcome).observe(clock() - began)
        if outcome == FAILED:
            metrics.turn_errors.labels(turn.error_code).inc()
