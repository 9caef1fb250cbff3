"""Checkpoints: all growing answers of this process are saved by one statement; their leases, and the calls of models
that are not stored yet, by another."""

import asyncio
import contextlib
import json
import logging
from collections.abc import AsyncGenerator, Sequence
from dataclasses import dataclass
from typing import Protocol
from uuid import UUID

from django.conf import settings
from django.db import Error, connection, transaction

from chat.conversations.transcript import change_hint
from chat.models import Message, Turn
from chat.rendering.citations import content_columns
from chat.turns.answer import GrowingAnswer
from oneclaw import pubsub
from oneclaw.llm import Block
from oneclaw.spend.calls import Spending
from oneclaw.spend.unstored import UnstoredCall, unstored
from oneclaw.telemetry import metrics
from oneclaw.threads import in_database, in_reserved_thread

logger = logging.getLogger(__name__)

# Only the holder in the row renews a lease; a turn that is missing in the result is lost.
RENEW = """
    UPDATE chat_turn AS turn
    SET lease_until = statement_timestamp() + make_interval(secs => %s), unstored_calls = mine.calls::jsonb
    FROM unnest(%s::bigint[], %s::uuid[], %s::text[]) AS mine(id, holder, calls)
    WHERE turn.id = mine.id AND turn.holder = mine.holder AND turn.status = 'running'
    RETURNING turn.id, turn.stop_requested
"""
SAVE = """
    UPDATE chat_message AS message SET content = fresh.content::jsonb, text = fresh.text
    FROM unnest(%s::bigint[], %s::text[], %s::text[]) AS fresh(id, content, text)
    WHERE message.id = fresh.id AND message.status = 'running'
"""


@dataclass(frozen=True)
class Lease:
    """A turn that a process holds, and its calls of models that are not stored yet."""

    turn_id: int
    holder: UUID
    calls: list[UnstoredCall] | None = None

    @staticmethod
    def of(turn: Turn, spending: Spending) -> "Lease":
        """Return the lease of `turn` with what `spending` holds now."""
        return Lease(turn.pk, turn.holder, unstored(spending.rows))


class LeasedTurn(Protocol):
    """The interface of a running turn that a checkpoint uses."""

    turn: Turn
    spending: Spending

    @property
    def answer(self) -> GrowingAnswer:
        """Return the answer that grows."""

    def end(self, how: str) -> None:
        """End the turn soon; `how` is "stopped" or "lost"."""


class Checkpoints:
    """The turns that this process runs, which it saves together every CHECKPOINT_SECONDS."""

    def __init__(self) -> None:
        self.turns: dict[int, LeasedTurn] = {}
        self._saver: asyncio.Task[None] | None = None

    def add(self, running: LeasedTurn) -> None:
        """Save this turn from now on."""
        self.turns[running.turn.pk] = running
        if self._saver is None or self._saver.done() or self._saver.get_loop() is not asyncio.get_running_loop():
            self._saver = asyncio.create_task(self._save_while_running())
            self._saver.add_done_callback(log_failure)

    def remove(self, running: LeasedTurn) -> None:
        """Stop saving this turn."""
        self.turns.pop(running.turn.pk, None)

    async def _save_while_running(self) -> None:
        while self.turns:
            await asyncio.sleep(settings.CHECKPOINT_SECONDS)
            try:
                await self.save()
            except (Error, ValueError, RecursionError):
                # The database is unavailable, or an answer is nested too deeply to be saved: all turns continue, and
                # are saved next time.
                logger.exception("A checkpoint was not saved.")

    async def save(self) -> None:
        """Save changed answers, renew every lease, and end the turns that another process stopped or took over."""
        running = list(self.turns.values())
        leases = [Lease.of(turn.turn, turn.spending) for turn in running]
        grown = [(turn, turn.answer, turn.answer.revision) for turn in running]
        grown = [(turn, answer, revision) for turn, answer, revision in grown if revision != answer.saved_revision]
        texts = [(turn.turn, answer.message, answer.content) for turn, answer, _ in grown]
        held = await in_reserved_thread(save_rows, leases, texts)
        for _, answer, revision in grown:
            answer.saved_revision = revision
        for turn in running:
            if turn.turn.pk not in held:
                metrics.lost_leases.inc()
                turn.end("lost")
            elif held[turn.turn.pk]:
                turn.end("stopped")


def log_failure(task: "asyncio.Task[None]") -> None:
    if not task.cancelled() and (error := task.exception()) is not None:
        logger.error("Growing answers are not saved any more.", exc_info=error)


def save_rows(leases: Sequence[Lease], texts: list[tuple[Turn, Message, list[Block]]]) -> dict[int, bool]:
    """Renew `leases` and save `texts`, which are (turn, answer, content blocks); return {turn id: whether a stop was
    requested} of turns still held."""
    # First, and in its own transaction: a faulty text must not keep the leases from being renewed.
    held = renew(leases)
    with transaction.atomic(), connection.cursor() as cursor:
        kept = [
            (turn, message.pk, content_columns(content, message.meta))
            for turn, message, content in texts
            if turn.pk in held
        ]
        if kept:
            contents = [json.dumps(fields["content"]) for _, _, fields in kept]
            words = [fields["text"] for _, _, fields in kept]
            cursor.execute(SAVE, [[message for _, message, _ in kept], contents, words])
            pubsub.notify_all([change_hint(turn.session_id, by_turn=True) for turn, _, _ in kept])
    return held


def renew(leases: Sequence[Lease]) -> dict[int, bool]:
    """Renew `leases`, and save the calls that are not stored yet; return {turn id: whether a stop was requested} of
    turns still held."""
    ids, holders = [lease.turn_id for lease in leases], [lease.holder for lease in leases]
    calls = [None if lease.calls is None else json.dumps(lease.calls) for lease in leases]
    with connection.cursor() as cursor:
        cursor.execute(RENEW, [settings.LEASES.answer_seconds, ids, holders, calls])
        return dict(cursor.fetchall())


@contextlib.asynccontextmanager
async def kept(turn: Turn, spending: Spending) -> AsyncGenerator[None]:
    """Keep the lease of `turn`, which a worker runs, and save its calls, while the block asks its model."""
    keeping = asyncio.create_task(_keep(turn, spending))
    try:
        yield
    finally:
        keeping.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await keeping


async def _keep(turn: Turn, spending: Spending) -> None:
    while True:
        await asyncio.sleep(settings.CHECKPOINT_SECONDS)
        try:
            await in_database(renew, [Lease.of(turn, spending)])
        except Error:
            logger.warning("The lease of turn %s was not renewed; trying again.", turn.pk, exc_info=True)


checkpoints = Checkpoints()
