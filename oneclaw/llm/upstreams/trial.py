"""Try a further server with one tiny request, before people depend on it."""

import asyncio
import contextlib
import time
from dataclasses import dataclass

from oneclaw.config.upstreams import Upstream
from oneclaw.llm.blocks import ApiTextMessage
from oneclaw.llm.budgets import refuse_if_used_up
from oneclaw.llm.client import NothingArrivedError, stream_at
from oneclaw.llm.events import Finished
from oneclaw.llm.failures import CutOffError, ModelTimeoutError
from oneclaw.llm.request import Request
from oneclaw.llm.upstreams.routes import Route
from oneclaw.spend.calls import Payer, Spending, paid_by

# A person waits for it.
TRIAL_MAX_SECONDS = 20
TRIAL_MAX_TOKENS = 16


@dataclass(frozen=True)
class Trial:
    """What answered, as the server names it, and after how long."""

    model: str
    seconds: float


def try_server(upstream: Upstream, model: str, payer: Payer) -> Trial:
    """Ask `model` on `upstream` alone, which is sent nothing of anybody, and store what it has cost. Sync.

    Raise a ModelRequestError, which may be BudgetUsedUpError.
    """
    refuse_if_used_up(payer.user_id)
    with paid_by(payer) as spending:
        return asyncio.run(_try(upstream, model, spending))


async def _try(upstream: Upstream, model: str, spending: Spending) -> Trial:
    said: list[ApiTextMessage] = [{"role": "user", "content": "Answer with OK."}]
    request = Request(model, [], said, max_tokens=TRIAL_MAX_TOKENS, thinks=False, holds_memory=False)
    began = time.monotonic()
    try:
        async with (
            asyncio.timeout(TRIAL_MAX_SECONDS),
            contextlib.aclosing(stream_at(request, Route(model, upstream), spending)) as events,
        ):
            async for event in events:
                if isinstance(event, Finished):
                    return Trial(event.model, time.monotonic() - began)
    except NothingArrivedError as nothing:
        raise nothing.failure from None
    except TimeoutError:
        raise ModelTimeoutError from None
    raise CutOffError
