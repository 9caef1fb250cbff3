"""The writes of a turn: they wait for a database that is away for a moment."""

import asyncio
import logging
from collections.abc import Callable
from typing import ParamSpec, TypeVar

from django.conf import settings
from django.db import InterfaceError, OperationalError

from oneclaw.threads import in_database

logger = logging.getLogger(__name__)
P = ParamSpec("P")
R = TypeVar("R")


async def persist(function: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
    """Call `function` by `in_database`; retry with backoff while the database is unavailable, for LEASE_SECONDS.

    `function` must be idempotent: a commit may have succeeded although its reply was lost.
    """
    deadline = asyncio.get_running_loop().time() + settings.LEASES.answer_seconds
    delay = 0.1
    while True:
        try:
            return await in_database(function, *args, **kwargs)
        except (OperationalError, InterfaceError):
            if asyncio.get_running_loop().time() + delay > deadline:
                raise
            logger.warning("The database is away; trying again.", exc_info=True)
        await asyncio.sleep(delay)
        delay = min(delay * 2, 2.0)
