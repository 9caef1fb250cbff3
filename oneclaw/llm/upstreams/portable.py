"""Requests and answers of further servers, without what only the server that signed it accepts.

Thinking is signed by the server that made it, together with everything before it. So only the first server is sent
thinking, and only its signatures are kept: the thinking of another server is shown, and never sent.
"""

from collections.abc import Sequence
from dataclasses import replace

from oneclaw.llm.blocks import Block
from oneclaw.llm.events import BlockFinished, Event, Finished
from oneclaw.llm.failures import MemoryStaysHomeError
from oneclaw.llm.request import Request, has_compaction_block
from oneclaw.llm.server import server_hash
from oneclaw.llm.upstreams.routes import Route, home_of, routes_of

THINKING = ("thinking", "redacted_thinking")


def routes_for(request: Request) -> list[Route]:
    """Return where `request` may be sent, in order; at least one route.

    What one server summarises and signs, no other one reads. Raise MemoryStaysHomeError when all of them must not be
    sent memory, and the request may hold some.
    """
    if request.compaction is not None or has_compaction_block(request.messages):
        routes = [home_of(request.model)]
    else:
        routes = routes_of(request.model)
    if request.holds_memory:
        routes = [route for route in routes if not route.memory_stays_home]
    if not routes:
        raise MemoryStaysHomeError(f"{request.model} is only at servers that are sent no memory")
    return routes


def request_at(request: Request, route: Route) -> Request:
    """Return `request` as it is sent on `route`. Raise NoKeyError when there is no server."""
    request = replace(request, server=f"{server_hash(route.upstream)} {route.model}")
    if route.upstream is None:
        return request
    messages, lacks_thinking = [], False
    for message in request.messages:
        content = message["content"]
        if not isinstance(content, str):
            kept = [block for block in content if block["type"] not in THINKING]
            if message["role"] == "assistant":
                lacks_thinking = len(kept) < len(content)
            message = {**message, "content": kept}
        messages.append(message)
    # Thinking about results of calls, without the thinking before those calls, would be refused.
    thinks = request.thinks and not (lacks_thinking and _ends_with_results(messages[-1]["content"]))
    return replace(request, model=route.model, messages=messages, thinks=thinks)


def event_at(event: Event, route: Route) -> Event | None:
    """Return `event` of an answer on `route` as it is passed on; None when it is not. Pure."""
    if route.upstream is None:
        return event
    if isinstance(event, Finished):
        return replace(event, upstream=route.name)
    if isinstance(event, BlockFinished) and event.block["type"] in THINKING:
        kept = event.block.copy()
        kept.pop("signature", None)
        return replace(event, block=kept) if kept["type"] == "thinking" else None
    return event


def _ends_with_results(content: str | Sequence[Block]) -> bool:
    return not isinstance(content, str) and any(block["type"] == "tool_result" for block in content)
