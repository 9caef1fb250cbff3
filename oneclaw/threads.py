"""Run sync code, and so all database access, from async code, and run code that may take too long. No other module
does this."""

import asyncio
import contextlib
import contextvars
import threading
from collections.abc import Callable
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from typing import Any, ParamSpec, TypeVar

from django.conf import settings
from django.db import Error, close_old_connections, connection, connections
from django.utils import timezone, translation

P = ParamSpec("P")
R = TypeVar("R")

# One thread for each connection of the pool, without the reserved one: further threads would wait for a connection.
_threads = ThreadPoolExecutor(settings.DATABASE_POOL - 1, thread_name_prefix="database")
# Tools may wait for locks: they get at most half of the connections.
_tool_threads = ThreadPoolExecutor(settings.DATABASE_POOL // 2, thread_name_prefix="tools")
# What waits for a model keeps its connection for up to a minute.
_model_threads = ThreadPoolExecutor(2, thread_name_prefix="models")
# Sockets that open wait for these, so that a wave of reconnects leaves the other threads to the running answers.
_admission_threads = ThreadPoolExecutor(2, thread_name_prefix="admission")
# What follows the end of a turn, for which no person waits.
_receiver_threads = ThreadPoolExecutor(2, thread_name_prefix="receivers")
_reserved_thread = ThreadPoolExecutor(1, thread_name_prefix="leases")


class LateError(Exception):
    """The function had not returned within its time limit, and its result is ignored."""


async def in_database(function: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
    """Run sync `function` in a thread and return its result, in the language and timezone of the caller.

    The pooled connection is returned afterwards, so a transaction cannot span two calls.
    """
    return await _run(_threads, function, *args, **kwargs)


async def in_tool_thread(function: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
    """Run sync `function`, which may wait for locks, in a thread of the tools' pool, and return its result.

    Waiting functions cannot take all threads of `in_database`.
    """
    return await _run(_tool_threads, function, *args, **kwargs)


async def in_model_thread(function: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
    """Run sync `function`, which waits for a model, in a thread of a small pool, and return its result."""
    return await _run(_model_threads, function, *args, **kwargs)


async def in_admission_thread(function: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
    """Run sync `function`, which signs in or opens a socket, in a thread of a small pool, and return its result.

    The calls of many sockets at once are carried out one after the other, in the order in which they came.
    """
    return await _run(_admission_threads, function, *args, **kwargs)


async def in_receiver_thread(function: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
    """Run sync `function`, for which no person waits, in a thread of a small pool, and return its result.

    Many of them at once leave the other threads to those who wait.
    """
    return await _run(_receiver_threads, function, *args, **kwargs)


async def in_reserved_thread(function: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
    """Run sync `function` in the reserved thread, whose connection is always free, and return its result.

    For what must not be late, such as renewing leases.
    """

    def call() -> R:
        if connection.connection is not None and not connection.is_usable():
            connection.close()
        return function(*args, **kwargs)

    return await _in_thread(_reserved_thread, call)


def call_within(seconds: float, function: Callable[[], R]) -> R:
    """Call sync `function` in a thread of its own, and return its result; in the language and timezone of the caller.

    Raise LateError after `seconds`. Python cannot end a thread: a late function goes on, but each further query of it
    fails, and a running query ends after `seconds`. The thread is not of a pool, so that a function that never returns
    takes no thread from others, and it is a daemon, so that the process can end.
    """
    outcome: Future[R] = Future()
    queries = _LimitedQueries(seconds)

    def call() -> None:
        try:
            with connection.execute_wrapper(queries):
                result = function()
        except SystemExit:
            # Raised again it would end the thread of the caller.
            outcome.set_exception(RuntimeError("the function asked the process to exit"))
        except Exception as error:  # noqa: BLE001
            # Raised again for the caller.
            outcome.set_exception(error)
        else:
            outcome.set_result(result)
        finally:
            queries.reset()
            connections.close_all()

    if not connection.in_atomic_block:
        # The pooled connection of this thread is free while it waits: the function may need one.
        connection.close()
    thread = threading.Thread(target=_as_caller(call), name="limited", daemon=True)
    thread.start()
    thread.join(seconds)
    if not outcome.done():
        queries.is_late.set()
        raise LateError
    return outcome.result()


class _LimitedQueries:
    """A wrapper of a thread's queries: each may take `seconds`, and none begins once the thread is late."""

    def __init__(self, seconds: float) -> None:
        self.is_late = threading.Event()
        self._seconds = seconds
        self._has_begun = False

    def __call__(self, execute: Callable[..., Any], sql: Any, params: Any, many: bool, context: Any) -> Any:
        if self.is_late.is_set():
            raise LateError
        if not self._has_begun:
            self._has_begun = True
            with context["connection"].cursor() as cursor:
                cursor.execute(f"SET statement_timeout = {round(self._seconds * 1000)}")
        return execute(sql, params, many, context)

    def reset(self) -> None:
        """Remove the limit from the connection, which goes back to the pool."""
        if self._has_begun:
            # A broken connection has no setting to reset.
            with contextlib.suppress(Error), connection.cursor() as cursor:
                cursor.execute("RESET statement_timeout")


async def _run(threads: Executor, function: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
    def call() -> R:
        try:
            return function(*args, **kwargs)
        finally:
            close_old_connections()

    return await _in_thread(threads, call)


async def _in_thread(threads: Executor, call: Callable[[], R]) -> R:
    return await asyncio.get_running_loop().run_in_executor(threads, _as_caller(call))


def _as_caller(call: Callable[[], R]) -> Callable[[], R]:
    """Return a function that calls `call` in the context, language and timezone of now, in whichever thread."""
    # Django keeps language and timezone per thread; copy_context does not carry them over.
    language, zone = translation.get_language(), timezone.get_current_timezone()
    context = contextvars.copy_context()

    def call_as_caller() -> R:
        with translation.override(language), timezone.override(zone):
            return call()

    return lambda: context.run(call_as_caller)
