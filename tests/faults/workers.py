"""Workers with a simulated clock that are killed before one of their commits: what they do, and how they start.

    died = work_at_once(carry_out_beats, stage, dies_at=3)     # three processes; those that come so far die by SIGKILL

A commit is all that a dead process leaves, so the commits of an act are its steps. Tasks that a worker sends are lost.
"""

import contextlib
import datetime as dt
import os
import signal
import traceback
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from multiprocessing.synchronize import Barrier
from pathlib import Path
from typing import Any
from unittest import mock

from django.db import connection, connections
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.backends.utils import CursorWrapper
from django.test.utils import override_settings

from chat.conversations import transcript
from chat.conversations.keys import Sender
from chat.models import Beat
from chat.routes import deliver, resets
from chat.schedules import beat, planning
from memory.models import DocumentJob, Flush
from memory.notes import document_jobs, flush
from oneclaw import llm
from oneclaw.models import User
from tests import actors
from tests.chat.routes.cast import Clock

WORKERS = 3
# Seconds until all of them have done what they can.
TIMEOUT_SECONDS = 60
WRITES = ("INSERT", "UPDATE", "DELETE")


@dataclass(frozen=True)
class Stage:
    """Where workers work: the database of the test, its model and its folder, at this moment."""

    now: dt.datetime
    database: str
    settings: dict[str, Any]
    # What comes in from outside meanwhile: the peer, the client_id and the text of each message, for one person.
    user_id: int = 0
    incoming: tuple[tuple[str, uuid.UUID, str], ...] = ()


def stage_at(
    now: dt.datetime,
    model: str,
    folder: Path,
    user_id: int = 0,
    incoming: tuple[tuple[str, uuid.UUID, str], ...] = (),
    **changed: Any,
) -> Stage:
    """The stage of the running test, with some changed settings."""
    own = {"ANTHROPIC_API_KEY": "test", "ANTHROPIC_BASE_URL": model, "WORKSPACES": folder}
    return Stage(now, connection.settings_dict["NAME"], own | changed, user_id, incoming)


def carry_out_beats(stage: Stage) -> None:
    """Do what the sweep and a worker do for schedules."""
    transcript.sweep()
    planning.sweep()
    for beat_id in Beat.objects.to_send():
        beat.run(beat_id)


def follow_routes(stage: Stage) -> None:
    """Reset what is due, take what comes in, and write notes."""
    transcript.sweep()
    resets.sweep()
    user = User.objects.get(pk=stage.user_id)
    for peer, client_id, text in stage.incoming:
        deliver.accept(user, deliver.Incoming(Sender("telegram", peer), client_id, text))
    for flush_id in Flush.objects.due_ids():
        flush.run(flush_id)
    for job_id in DocumentJob.objects.due_ids():
        document_jobs.run(job_id)


def work_at_once(act: Callable[[Stage], None], stage: Stage, dies_at: int = 0) -> int:
    """Let WORKERS processes do `act` at the same time, each until its commit with the number `dies_at`; return how many
    died."""
    # Loaded once, and not by each of them.
    actors.context.set_forkserver_preload([actors.__name__, __name__])
    barrier = actors.context.Barrier(WORKERS)
    running = [actors.started(works, barrier, act, stage, dies_at) for _ in range(WORKERS)]
    said = []
    for process, hear in running:
        process.join(TIMEOUT_SECONDS)
        # One that ended well, or was killed, has said nothing.
        with contextlib.suppress(EOFError):
            said.append(hear.recv())
        hear.close()
    codes = [process.exitcode for process, _ in running]
    assert set(codes) <= {0, -signal.SIGKILL}, (codes, *said)
    return codes.count(-signal.SIGKILL)


def works(say: Connection, barrier: Barrier, act: Callable[[Stage], None], stage: Stage, dies_at: int) -> None:
    """Do `act` in this process, once all others are ready; die before the commit with the number `dies_at`."""
    connection.settings_dict["NAME"] = stage.database
    try:
        with contextlib.ExitStack() as stack:
            stack.enter_context(override_settings(**stage.settings))
            stack.enter_context(Clock(stage.now).set())
            for module in ("oneclaw.tasks", "memory.tasks", "chat.tasks"):
                stack.enter_context(mock.patch(f"{module}.send"))
            connection.ensure_connection()
            barrier.wait(TIMEOUT_SECONDS)
            with Commits(dies_at).counted():
                act(stage)
        connections.close_all()
    except BaseException:  # noqa: BLE001
        say.send(traceback.format_exc())
        os._exit(1)


@dataclass
class Commits:
    """The commits of this process; the one with the number `dies_at` does not happen any more."""

    dies_at: int
    count: int = field(default=0)

    def step(self) -> None:
        self.count += 1
        if self.count == self.dies_at:
            os.kill(os.getpid(), signal.SIGKILL)

    @contextlib.contextmanager
    def counted(self) -> Iterator[None]:
        """Count the commits of transactions, and of single statements that write."""
        commit, execute = BaseDatabaseWrapper._commit, CursorWrapper.execute

        def counted_commit(wrapper: BaseDatabaseWrapper) -> None:
            self.step()
            commit(wrapper)

        def counted_execute(cursor: CursorWrapper, sql: Any, *given: Any) -> Any:
            if not cursor.db.in_atomic_block and str(sql).lstrip().startswith(WRITES):
                self.step()
            return execute(cursor, sql, *given)

        with (
            mock.patch.object(BaseDatabaseWrapper, "_commit", counted_commit),
            mock.patch.object(CursorWrapper, "execute", counted_execute),
        ):
            yield


# Where the others are forked, once for all of them.
llm.load()
