"""Run sync code, and so all database access, from async code. No other module does this."""

import asyncio
import contextvars
from collections.abc import Callable
from concurrent.futures import Executor, ThreadPoolExecutor
from typing import ParamSpec, TypeVar

from django.conf import settings
from django.db import close_old_connections, connection
from django.utils import timezone, translation

P = ParamSpec("P")
R = TypeVar("R")

# One thread for each connection of the pool, without the reserved one: further threads would wait for a connection.
_threads = ThreadPoolExecutor(settings.DATABASE_POOL - 1, thread_name_prefix="database")
# Tools may wait for locks: they get at most half of the connections.
_tool_threads = ThreadPoolExecutor(settings.DATABASE_POOL // 2, thread_name_prefix="tools")
_reserved_thread = ThreadPoolExecutor(1, thread_name_prefix="leases")


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


async def in_reserved_thread(function: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
    """Run sync `function` in the reserved thread, whose connection is always free, and return its result.

    For what must not be late, such as renewing leases.
    """

    def call() -> R:
        if connection.connection is not None and not connection.is_usable():
            connection.close()
        return function(*args, **kwargs)

    return await _in_thread(_reserved_thread, call)


async def _run(threads: Executor, function: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
    def call() -> R:
        try:
            return function(*args, **kwargs)
        finally:
            close_old_connections()

    return await _in_thread(threads, call)


async def _in_thread(threads: Executor, call: Callable[[], R]) -> R:
    # Django keeps language and timezone per thread; copy_context does not carry them over.
    language, zone = translation.get_language(), timezone.get_current_timezone()

    def call_as_caller() -> R:
        with translation.override(language), timezone.override(zone):
            return call()

    context = contextvars.copy_context()
    return await asyncio.get_running_loop().run_in_executor(threads, context.run, call_as_caller)
