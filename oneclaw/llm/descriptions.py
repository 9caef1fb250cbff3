"""Ask the model's server once a day what each of its models can do, and keep that in the rows of ModelFacts."""

import asyncio
import datetime as dt
import logging
from collections.abc import Mapping
from typing import Any

from django.conf import settings

from oneclaw.llm import client
from oneclaw.llm.facts import forget_cache
from oneclaw.llm.failures import ModelRequestError, NoKeyError
from oneclaw.llm.known_models import ADAPTIVE, BETWEEN_TOOLS, DISABLED, EFFORTS, ENABLED
from oneclaw.llm.server import server_hash
from oneclaw.models import ModelFacts, clock

logger = logging.getLogger(__name__)

DESCRIPTION_AGE = dt.timedelta(days=1)
# A gateway may offer thousands of models.
MODELS_MAX_COUNT = 500
# The largest size that a row can hold.
SIZE_MAX_TOKENS = 2**31 - 1


def refresh_if_due() -> None:
    """Store what the server says about its models, if that of one of the configured models is missing or a day old."""
    try:
        server = server_hash()
    except NoKeyError:
        return
    wanted = {settings.MODEL, settings.FAST_MODEL, *settings.MODELS}
    since = clock.database_now() - DESCRIPTION_AGE
    rows = ModelFacts.objects.filter(server=server)
    if wanted <= set(rows.filter(seen_at__gt=since).values_list("model", flat=True)):
        return
    try:
        described = asyncio.run(client.describe(wanted))
    except ModelRequestError as failure:
        # A server without that endpoint is asked again tomorrow; one that is away, the next time.
        logger.info("The model's server does not describe its models: %s", failure)
        if failure.retryable:
            return
        described = {}
    known = set(rows.values_list("model", flat=True))
    others = sorted(described.keys() - wanted - known)[:MODELS_MAX_COUNT]
    now = clock.database_now()
    for name in sorted(wanted | known | set(others)):
        columns = columns_of(described.get(name) or {})
        ModelFacts.objects.update_or_create(server=server, model=name[:200], defaults={**columns, "seen_at": now})
    forget_cache()


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
