"""The crossing between async code and Django's sync half. Nothing else awaits the database."""

import asyncio
import contextvars
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import ParamSpec, TypeVar

from django.conf import settings
from django.db import close_old_connections

P = ParamSpec("P")
R = TypeVar("R")

# As many threads as there are connections: more would only wait for one.
_threads = ThreadPoolExecutor(settings.DATABASE_POOL, thread_name_prefix="database")


async def in_database(function: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
    """Run sync `function` in a thread, so that sockets do not queue behind one another's queries.

    The pooled connection goes back before the thread takes other work. Never hold a transaction across two calls.
    """

    def call() -> R:
        try:
            return function(*args, **kwargs)
        finally:
            close_old_connections()

    context = contextvars.copy_context()
    return await asyncio.get_running_loop().run_in_executor(_threads, context.run, call)
