"""The crossing between async code and Django's sync half. Nothing else awaits the database."""

from collections.abc import Callable
from typing import ParamSpec, TypeVar

from asgiref.sync import ThreadSensitiveContext, sync_to_async
from django.db import close_old_connections

P = ParamSpec("P")
R = TypeVar("R")


async def in_database(function: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
    """Run sync `function` in a thread of its own, so that sockets do not queue behind one another's queries.

    The pooled connection goes back before the thread ends. Never hold a transaction across two calls.
    """

    def call() -> R:
        close_old_connections()
        try:
            return function(*args, **kwargs)
        finally:
            close_old_connections()

    async with ThreadSensitiveContext():
        return await sync_to_async(call, thread_sensitive=True)()
