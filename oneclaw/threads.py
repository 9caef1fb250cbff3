"""The crossing between async code and Django's sync half. Nothing else awaits the database."""

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

# As many threads as there are connections, without the one that is kept free: more would only wait for one.
_threads = ThreadPoolExecutor(settings.DATABASE_POOL - 1, thread_name_prefix="database")
# Tools wait for locks now and then: half of the connections are left to whoever does not.
_patient = ThreadPoolExecutor(settings.DATABASE_POOL // 2, thread_name_prefix="tools")
_kept_free = ThreadPoolExecutor(1, thread_name_prefix="leases")


async def in_database(function: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
    """Run sync `function` in a thread, so that sockets do not queue behind one another's queries.

    It runs in the language and the timezone of whoever asks. The pooled connection goes back before the thread takes
    other work. Never hold a transaction across two calls.
    """
    return await _run(_threads, function, *args, **kwargs)


async def in_patience(function: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
    """The same for what may wait for others, such as a tool: however many wait, nobody else waits with them."""
    return await _run(_patient, function, *args, **kwargs)


async def without_waiting(function: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
    """The same in a thread with a connection that nobody else ever takes: for what must not be late."""

    def call() -> R:
        if connection.connection is not None and not connection.is_usable():
            connection.close()
        return function(*args, **kwargs)

    return await _in_thread(_kept_free, call)


async def _run(threads: Executor, function: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
    def call() -> R:
        try:
            return function(*args, **kwargs)
        finally:
            close_old_connections()

    return await _in_thread(threads, call)


async def _in_thread(threads: Executor, call: Callable[[], R]) -> R:
    # What Django keeps for the person who asks stays behind in this thread, unlike other context variables.
    language, zone = translation.get_language(), timezone.get_current_timezone()

    def call_for_the_person() -> R:
        with translation.override(language), timezone.override(zone):
            return call()

    context = contextvars.copy_context()
    return await asyncio.get_running_loop().run_in_executor(threads, context.run, call_for_the_person)
