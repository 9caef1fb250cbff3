"""The further servers: those of the file of ONECLAW_UPSTREAMS, then those that owners have added on /team/models/.

Each process reads the rows at most once in KNOWN_SECONDS, so that all have a change within seconds. A request that has
begun keeps the server that it was sent to. Where two servers have one name, that of the file counts.
"""

import asyncio
import logging
from collections.abc import Iterator, Mapping

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from django.db import Error as DatabaseFailure

from oneclaw.config.upstreams import Upstream, with_models
from oneclaw.models import ModelServer
from oneclaw.sealing import UnsealableError
from oneclaw.spend.prices import price_of, prices_at
from oneclaw.threads import in_database
from oneclaw.timed_read import TimedRead

logger = logging.getLogger(__name__)

# How long a process believes what it has read.
KNOWN_SECONDS = 3.0


def upstreams() -> tuple[Upstream, ...]:
    """Return the further servers in the order in which they are asked.

    On an event loop, where no statement may be made, these are the ones that were read last: see `follow`.
    """
    found = of_rows.last if _is_on_event_loop() else of_rows.value()
    if not found:
        return settings.UPSTREAMS
    taken = {each.name.casefold() for each in settings.UPSTREAMS}
    return settings.UPSTREAMS + tuple(each for each in found if each.name.casefold() not in taken)


def further_labels() -> dict[str, str]:
    """Return {model: label} of the models of further servers that people may choose."""
    return {model: label for each in reversed(upstreams()) for model, label in each.labels.items()}


def prices_on(name: str) -> Mapping[str, tuple[float, ...]]:
    """Return the prices on the further server `name`; "", or not there any more: ONECLAW_PRICES."""
    return prices_at(next((each for each in upstreams() if each.name == name), None))


def models_without_price() -> list[str]:
    """Return the models that people may choose, and the fast one, whose requests cost nothing here as far as prices are
    known: no budget in US dollars counts them."""
    return sorted({model for model, is_priced in _models_in_use() if not is_priced})


def has_priced_model() -> bool:
    """Return whether a budget in US dollars can ever be used up: some model in use has a price."""
    return any(is_priced for _model, is_priced in _models_in_use())


def _models_in_use() -> Iterator[tuple[str, bool]]:
    """Yield the models that people may choose and the fast one, each with whether its price is known."""
    for model in (settings.MODEL, settings.FAST_MODEL, *settings.MODELS):
        yield model, price_of(model, settings.PRICES) is not None
    for each in upstreams():
        prices = prices_at(each)
        for model in {*each.labels, *each.substitutes.values()}:
            yield model, price_of(model, prices) is not None


async def follow() -> None:
    """Read the rows again when that is due, from async code."""
    if of_rows.is_due:
        await in_database(of_rows.read)


def upstream_of(row: ModelServer) -> Upstream:
    """Return the server of `row`. Raise ImproperlyConfigured when its models are none that this release knows."""
    try:
        key, lacks_key = row.key, False
    except UnsealableError:
        key, lacks_key = "", True
    server = Upstream(
        row.name, row.url, key, memory_stays_home=row.memory_stays_home, is_entered=True, lacks_key=lacks_key
    )
    try:
        models = {each["model"]: {name: each[name] for name in each if name != "model"} for each in row.offers}
    except (KeyError, TypeError) as error:
        raise ImproperlyConfigured(f"its models are damaged: {error!r}") from None
    return with_models(server, models)


def _is_on_event_loop() -> bool:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True


def _servers_of_rows() -> tuple[Upstream, ...]:
    found: list[Upstream] = []
    try:
        for row in ModelServer.objects.filter(is_enabled=True):
            try:
                found.append(upstream_of(row))
            except ImproperlyConfigured as error:
                logger.warning("The model server %s is left out: %s", row.name, str(error))
    except DatabaseFailure:
        # Requests go on with what was read before, and the database is not asked again at once.
        logger.warning("The model servers could not be read.", exc_info=True)
        return of_rows.last
    return tuple(found)


# The servers that owners have added and not switched off.
of_rows: TimedRead[tuple[Upstream, ...]] = TimedRead(_servers_of_rows, KNOWN_SECONDS, ())
