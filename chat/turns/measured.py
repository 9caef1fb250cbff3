"""Measure a turn from its start to its end: numbers for Prometheus, a span, and its id in log lines."""

import asyncio
from collections.abc import Coroutine

from chat.models import Turn
from oneclaw.telemetry import ids, metrics
from oneclaw.telemetry.tracing import span


async def measured(turn: Turn, work: Coroutine[None, None, None]) -> None:
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
        outcome = turn.status if turn.status != Turn.Status.RUNNING else "lost"
        metrics.turns.labels(outcome).observe(clock() - began)
        if outcome == Turn.Status.FAILED:
            metrics.turn_errors.labels(turn.error_code).inc()
