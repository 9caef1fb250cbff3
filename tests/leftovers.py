"""Wait for what a test leaves running: turns of its event loop, and calls in threads.

They use the database, which is emptied and closed to them as soon as the test has ended.
"""

import asyncio
import concurrent.futures
import logging
from collections.abc import Coroutine
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

# A turn saves its end, and a call returns, in a fraction of it.
LEFTOVER_SECONDS = 20
# How pytest-django refuses whoever asks after that.
TOO_LATE = "Database access not allowed"

_unfinished: set[Future[Any]] = set()
_late: list[str] = []


class LateAccess(logging.Handler):
    """Collect what was logged about an access to the database after its test."""

    def emit(self, record: logging.LogRecord) -> None:
        error = record.exc_info[1] if record.exc_info else None
        if TOO_LATE in f"{record.getMessage()} {error}":
            _late.append(f"{record.name}: {record.getMessage()} {error}")


_handler = LateAccess()


def follow() -> None:
    """Know each call that a pool of threads is given from now on, and each access that comes too late."""
    submit = ThreadPoolExecutor.submit

    def followed(pool: ThreadPoolExecutor, /, *arguments: Any, **named: Any) -> Future[Any]:
        future = submit(pool, *arguments, **named)
        _unfinished.add(future)
        future.add_done_callback(_unfinished.discard)
        return future

    ThreadPoolExecutor.submit = followed  # type: ignore[method-assign]
    listen()


def listen() -> None:
    """Hear what is logged, also after a test that configured logging anew and so removed the handler."""
    root = logging.getLogger()
    if _handler not in root.handlers:
        root.addHandler(_handler)


async def with_turns_ended(test: Coroutine[Any, Any, None]) -> None:
    """Run the test, then end the turns that it left running in this loop, as the end of the process would."""
    from chat.turns.running import running_turns, shutdown

    try:
        await test
    finally:
        await shutdown(LEFTOVER_SECONDS)
        mine = [turn for turn in running_turns if turn.task.get_loop() is asyncio.get_running_loop()]
        assert not mine, f"The test left turns running: {mine}"


def await_threads(seconds: float = LEFTOVER_SECONDS) -> None:
    """Wait until no thread of a pool does anything, and fail if something came too late for its database."""
    running = concurrent.futures.wait(set(_unfinished), seconds).not_done
    assert not running, f"The test left calls running: {running}"
    late = _late.copy()
    _late.clear()
    assert not late, f"A test that has ended used the database: {late}"
