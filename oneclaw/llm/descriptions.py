"""Ask the model's server at the start and once a day what each of its models can do, and keep that in the rows of
ModelFacts.

    descriptions.begin()                # when the web process starts
    await descriptions.first_answer()   # before a request is built
"""

import asyncio
import datetime as dt
import logging
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.conf import settings
from django.db import Error as DatabaseFailure

from oneclaw.llm import client
from oneclaw.llm.facts import forget_cache
from oneclaw.llm.failures import ModelRequestError, NoKeyError
from oneclaw.llm.known_models import ADAPTIVE, BETWEEN_TOOLS, DISABLED, EFFORTS, ENABLED
from oneclaw.llm.server import server_hash
from oneclaw.models import ModelFacts, clock
from oneclaw.threads import in_database

logger = logging.getLogger(__name__)

DESCRIPTION_AGE = dt.timedelta(days=1)
# How long the first requests of a process wait for the first answer.
FIRST_MAX_SECONDS = 3.0
# The pauses before a server that was away is asked again.
AGAIN_FIRST_SECONDS, AGAIN_MAX_SECONDS = 0.5, 60.0
# A gateway may offer thousands of models.
MODELS_MAX_COUNT = 500
# The largest size that a row can hold.
SIZE_MAX_TOKENS = 2**31 - 1


@dataclass(frozen=True)
class FirstAsking:
    """The task that asks the server when this process starts, and until when requests wait for it."""

    task: "asyncio.Task[None]"
    until: float


_first: FirstAsking | None = None


def begin() -> None:
    """Begin to ask the server in the running event loop, again until it has answered."""
    global _first
    task = asyncio.create_task(_ask_until_answered(), name="descriptions of the models")
    _first = FirstAsking(task, time.monotonic() + FIRST_MAX_SECONDS)


async def end() -> None:
    """Stop what `begin` has begun."""
    global _first
    begun, _first = _first, None
    if begun is not None:
        begun.task.cancel()
        await asyncio.wait([begun.task])


def is_awaited() -> bool:
    """Return whether requests wait for the first answer."""
    return _first is not None and not _first.task.done() and time.monotonic() < _first.until


async def first_answer() -> None:
    """Return once the server has answered, at the latest FIRST_MAX_SECONDS after `begin`."""
    if _first is not None and is_awaited():
        await asyncio.wait([_first.task], timeout=_first.until - time.monotonic())


async def _ask_until_answered() -> None:
    pause = AGAIN_FIRST_SECONDS
    while not await _has_answered():
        await asyncio.sleep(pause)
        pause = min(2 * pause, AGAIN_MAX_SECONDS)


async def _has_answered() -> bool:
    """Do as refresh_if_due; return False if the server or the database was away."""
    try:
        server = await in_database(due_server)
        if server is None:
            return True
        described = await _described()
        if described is not None:
            await in_database(store, server, described)
    except DatabaseFailure:
        logger.warning("What the models can do could not be read or stored.", exc_info=True)
        return False
    return described is not None


def refresh_if_due() -> None:
    """Store what the server says about its models, if that of one of the configured models is missing or a day old."""
    server = due_server()
    if server is not None and (described := asyncio.run(_described())) is not None:
        store(server, described)


def due_server() -> str | None:
    """Return the server whose description of a configured model is missing or a day old; None when there is none."""
    # Another process may have asked since this one has read the rows.
    forget_cache()
    try:
        server = server_hash()
    except NoKeyError:
        return None
    since = clock.database_now() - DESCRIPTION_AGE
    described = ModelFacts.objects.filter(server=server, seen_at__gt=since)
    return None if _configured() <= set(described.values_list("model", flat=True)) else server


async def _described() -> dict[str, dict[str, Any]] | None:
    """Return what the server says about its models; None when it is away."""
    try:
        return await client.describe(_configured())
    except ModelRequestError as failure:
        # A server without that endpoint is asked again tomorrow; one that is away, soon.
        logger.info("The model's server does not describe its models: %s", failure)
        return None if failure.retryable else {}


def store(server: str, described: Mapping[str, Mapping[str, Any]]) -> None:
    """Store what `server` has said: a row for each configured or known model, and for further ones up to a limit."""
    wanted = _configured()
    known = set(ModelFacts.objects.filter(server=server).values_list("model", flat=True))
    others = sorted(described.keys() - wanted - known)[:MODELS_MAX_COUNT]
    now = clock.database_now()
    for name in sorted(wanted | known | set(others)):
        columns = columns_of(described.get(name) or {})
        ModelFacts.objects.update_or_create(server=server, model=name[:200], defaults={**columns, "seen_at": now})
    forget_cache()


def _configured() -> set[str]:
    return {settings.MODEL, settings.FAST_MODEL, *settings.MODELS}


def columns_of(info: Mapping[str, Any]) -> dict[str, Any]:
    """Return the columns of ModelFacts by the JSON of one model; None for what it does not say. Pure."""
    capabilities = info.get("capabilities")
    if not isinstance(capabilities, Mapping):
        capabilities = {}
    return {
        "window": _size(info.get("max_input_tokens")),
        "max_output": _size(info.get("max_tokens")),
        "thinking": _supported(capabilities, ("thinking", "types"), (ADAPTIVE, BETWEEN_TOOLS, DISABLED, ENABLED)),
        "efforts": _supported(capabilities, ("effort",), EFFORTS),
        "compacts": "summarize" in compaction
        if (compaction := _supported(capabilities, ("compaction",), ("summarize",))) is not None
        else None,
        "cites": None
        if (cites := _supported(capabilities, (), ("citations",))) is None or "citations" not in capabilities
        else bool(cites),
    }


def _supported(capabilities: Mapping[str, Any], path: tuple[str, ...], names: tuple[str, ...]) -> list[str] | None:
    """Return those of `names` that are supported at `path`; None when the server says nothing there."""
    found: Any = capabilities
    for step in path:
        found = found.get(step) if isinstance(found, Mapping) else None
    if not isinstance(found, Mapping):
        return None
    return [name for name in names if isinstance(found.get(name), Mapping) and found[name].get("supported") is True]


def _size(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 < value <= SIZE_MAX_TOKENS else None
