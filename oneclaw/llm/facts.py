"""What a model on the configured server can do: described by the server, documented, or learnt from what it refused.

    facts = facts_of("claude-haiku-5-5")        # sync; at most one query a minute in each process
    facts = await current_facts(model)          # the same from async code

What the server itself says counts most (the rows of ModelFacts, which descriptions.py writes at the start and once a
day), then the table of documented models, then cautious defaults. A name of the table counts as that model on every
server, because gateways pass such requests on. A server that accepts less says so in a refusal: the refused field is
left out for a day, and a refused size is remembered for a month. Fields of betas, and blocks of search results, are
sent to other servers than the provider's own only when they describe them.
"""

import datetime as dt
import logging
import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from django.conf import settings
from django.db import Error as DatabaseFailure
from django.db import transaction
from django.utils import timezone
from django.utils.dateparse import parse_datetime

from oneclaw.llm.failures import NoKeyError
from oneclaw.llm.known_models import ADAPTIVE, EFFORTS, Facts, is_documented, known_facts
from oneclaw.llm.server import is_official, server_hash
from oneclaw.llm.upstreams.routes import Route, home_of
from oneclaw.models import ModelFacts
from oneclaw.threads import in_database

logger = logging.getLogger(__name__)

# The share of a window that one prompt of ours may fill.
PROMPT_MAX_SHARE = 0.6
# How long a process uses the rows that it has read.
ROWS_SECONDS = 60.0
# How long a refused field is left out, and a refused size is kept to.
FIELD_REFUSED = dt.timedelta(hours=24)
SIZE_REFUSED = dt.timedelta(days=30)
# The names of what a server may refuse, and what is not so then.
REFUSABLE = {
    "display": "displays",
    "counts": "counts",
    "compacts": "compacts",
    "cites": "cites",
    "structures": "structures",
    "call_ids": "takes_own_ids",
    "cache": "caches",
    "cache_ttl": "caches_long",
    "tools": "takes_tools",
    "tool_choice": "takes_tool_choice",
    "system": "takes_system_blocks",
    "version": "knows_version",
}


@dataclass(frozen=True, slots=True)
class Refusal:
    """What a server refused: a field, such as "effort" or "thinking.disabled"; or a size above `limit` tokens."""

    feature: str
    limit: int | None = None


@dataclass(frozen=True, slots=True)
class _Read:
    """The facts by the rows of one server, and when they were read."""

    server: str
    at: float
    facts: Mapping[str, Facts]


# What this process has read, by the name of the server in ONECLAW_UPSTREAMS; "": the first server.
_read: dict[str, _Read] = {}
NOTHING_READ = _Read("", 0.0, {})


def facts_of(model: str) -> Facts:
    """Return the facts of `model` on the server that is its home. Sync. Raise NoKeyError when there is none."""
    return _facts_at(home_of(model))


def _facts_at(route: Route) -> Facts:
    server = server_hash(route.upstream)
    if not _is_current(route, server):
        try:
            rows = ModelFacts.objects.filter(server=server)
            found = {row.model: facts_of_row(row, route) for row in rows}
            _read[route.name] = _Read(server, time.monotonic(), found)
        except DatabaseFailure:
            # Requests go on without the rows, and the database is not asked again at once.
            logger.warning("The facts of the models could not be read.", exc_info=True)
            before = _read.get(route.name, NOTHING_READ)
            _read[route.name] = _Read(server, time.monotonic(), before.facts if before.server == server else {})
    return cached_facts_at(route)


def prompt_chars(model: str, max_chars: int) -> int:
    """Return how many characters a prompt for `model` may have, at most `max_chars`: what fits into its window, with
    room for instructions and the answer. Sync."""
    try:
        facts = facts_of(model)
    except NoKeyError:
        facts = documented_facts(model)
    return min(max_chars, int(PROMPT_MAX_SHARE * facts.window_tokens * facts.chars_per_token))


async def current_facts(route: Route) -> Facts:
    """Return the facts of the model of `route` there. Raise NoKeyError when there is no server."""
    is_current = _is_current(route, server_hash(route.upstream))
    return cached_facts_at(route) if is_current else await in_database(_facts_at, route)


def cached_facts(model: str) -> Facts:
    """Return the facts of `model` at its home as far as this process has read them, without a query."""
    return cached_facts_at(home_of(model))


def cached_facts_at(route: Route) -> Facts:
    """Return the facts of the model of `route` there as far as this process has read them, without a query."""
    return _read.get(route.name, NOTHING_READ).facts.get(route.model) or documented_facts(route.model, route)


def documented_facts(model: str, route: Route | None = None) -> Facts:
    """Return the facts of `model` on `route`, or at its home, without what its server said about it."""
    found = known_facts(model)
    if model in settings.WINDOWS:
        found = replace(found, window_tokens=settings.WINDOWS[model])
    is_first = (route or home_of(model)).upstream is None
    return found if is_official() and is_first else replace(found, compacts=False, cites=False, structures=False)


async def learn(route: Route, refusal: Refusal) -> None:
    """Remember what the server of `route` refused for its model: at once in this process, and in its row for the
    others."""
    before = _read.get(route.name, NOTHING_READ)
    facts = {**before.facts, route.model: without(cached_facts_at(route), refusal)}
    _read[route.name] = replace(before, facts=facts)
    try:
        await in_database(_store, server_hash(route.upstream), route.model, refusal)
    except DatabaseFailure:
        logger.warning("A refusal of the model's server could not be stored.", exc_info=True)


def forget_cache() -> None:
    """Read the rows again at the next use, because they have changed."""
    _read.clear()


def facts_of_row(row: ModelFacts, route: Route | None = None) -> Facts:
    """Return the facts by one row of the server of `route`, or of the model's home. Pure but for the clock."""
    base = documented_facts(row.model, route)
    said: dict[str, Any] = {
        "window_tokens": settings.WINDOWS.get(row.model) or row.window,
        "max_output_tokens": row.max_output,
        "chars_per_token": row.chars_per_token,
        "preserved_thinking": row.preserved_thinking,
        "thinking": None if row.thinking is None else frozenset(row.thinking),
        "efforts": None if row.efforts is None else tuple(level for level in EFFORTS if level in row.efforts),
        "compacts": row.compacts,
        "counts": row.counts,
        "cites": row.cites,
    }
    if row.thinking and not is_documented(row.model):
        # A model that is newer than the table: since Claude 5 all of them think by default.
        said |= {"thinks": ADAPTIVE in row.thinking, "displays": ADAPTIVE in row.thinking}
    facts = replace(base, **{name: value for name, value in said.items() if value is not None})
    for refusal in _valid_refusals(row.learnt):
        facts = without(facts, refusal)
    return facts


def without(facts: Facts, refusal: Refusal) -> Facts:
    """Return `facts` without what was refused. Pure."""
    kind, _, detail = refusal.feature.partition(".")
    match kind:
        case "thinking":
            return replace(facts, thinking=facts.thinking - {detail})
        case "effort":
            return replace(facts, efforts=())
        case name if name in REFUSABLE:
            changed: dict[str, Any] = {REFUSABLE[name]: False}
            return replace(facts, **changed)
        case "max_output" if refusal.limit:
            return replace(facts, max_output_tokens=min(facts.max_output_tokens, refusal.limit))
        case "window" if refusal.limit:
            return replace(facts, window_tokens=min(facts.window_tokens, refusal.limit))
    return facts


def _is_current(route: Route, server: str) -> bool:
    read = _read.get(route.name, NOTHING_READ)
    return read.server == server and time.monotonic() - read.at < ROWS_SECONDS


def _valid_refusals(learnt: Mapping[str, str]) -> list[Refusal]:
    """Return the refusals of a row that are not too old."""
    found = []
    for key, at in learnt.items():
        feature, _, limit = key.partition("=")
        refused_at = parse_datetime(at)
        if refused_at and timezone.now() - refused_at < (SIZE_REFUSED if limit else FIELD_REFUSED):
            found.append(Refusal(feature, int(limit) if limit else None))
    return found


@transaction.atomic
def _store(server: str, model: str, refusal: Refusal) -> None:
    row, _ = ModelFacts.objects.select_for_update().get_or_create(server=server, model=model)
    others = {key: at for key, at in row.learnt.items() if key.partition("=")[0] != refusal.feature}
    key = refusal.feature if refusal.limit is None else f"{refusal.feature}={refusal.limit}"
    row.learnt = {**others, key: timezone.now().isoformat()}
    row.save(update_fields=["learnt"])
