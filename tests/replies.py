"""Replies of a scripted model, besides those of the demo model: thinking, refusals, and streams that break.

reset(answer(thinking("Let me see."), text("Hello there.")), after="Hello")
rate_limited(retry_after=2)
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from oneclaw.demo.replies import (
    DELTA_CHARS,
    Ending,
    Reply,
    ReplyBlock,
    Step,
    answer,
    error,
    json_reply,
    pieces,
    server_fault,
    steps,
    text,
    tool_use,
)

__all__ = [
    "Reply",
    "ReplyBlock",
    "answer",
    "bad_request",
    "context_too_long",
    "cut",
    "ended",
    "error",
    "garbled",
    "html",
    "json_reply",
    "key_refused",
    "overloaded",
    "rate_limited",
    "recorded",
    "reset",
    "server_fault",
    "spend_limit",
    "stalled",
    "text",
    "thinking",
    "tool_use",
    "unknown_model",
    "whole_block",
]


def thinking(words: str, *, pace: float | None = None, size: int = DELTA_CHARS) -> ReplyBlock:
    """Return a thinking block, in deltas of `size` characters with `pace` seconds before each."""
    start = {"type": "thinking", "thinking": "", "signature": ""}
    return ReplyBlock(start, "thinking_delta", "thinking", pieces(words, size), pace)


def whole_block(block: dict[str, Any]) -> ReplyBlock:
    """Return a block that comes at once, without deltas."""
    return ReplyBlock(block, "", "", ())


def key_refused() -> Reply:
    """Return the error for an API key that is not valid."""
    return error(401, "authentication_error", "invalid x-api-key")


def rate_limited(retry_after: float | None = None) -> Reply:
    """Return the error for too many requests; `retry_after` is in seconds."""
    refused = error(429, "rate_limit_error", "This request would exceed your rate limit.")
    wait = {} if retry_after is None else {"retry-after": f"{retry_after:g}"}
    return replace(refused, headers={**refused.headers, **wait})


def unknown_model(name: str = "") -> Reply:
    """Return the error for a model that the server does not know."""
    return error(404, "not_found_error", f"model: {name}")


def bad_request(message: str = "messages: at least one message is required") -> Reply:
    """Return the error for a request that is not valid."""
    return error(400, "invalid_request_error", message)


def context_too_long() -> Reply:
    """Return the error for a prompt that is longer than the context window."""
    return bad_request("prompt is too long: 200001 tokens > 200000 maximum")


def spend_limit() -> Reply:
    """Return the error for an account without credit."""
    return bad_request("Your credit balance is too low to access the Anthropic API.")


def html() -> Reply:
    """Return an HTML page with status 200 instead of an answer, as proxies and portals send it."""
    page = b"<!doctype html><title>Sign in</title><p>Please sign in to the network.\n\n<p>data: no\n\n"
    return Reply(headers={"content-type": "text/html"}, body=page)


def overloaded(reply: Reply | None = None, after: str | int | None = None) -> Reply:
    """Return status 529; or, given a reply, an error event inside its stream."""
    if reply is None:
        return error(529, "overloaded_error", "Overloaded")
    event = b"event: error\ndata: " + (error(529, "overloaded_error", "Overloaded").body or b"") + b"\n\n"
    return replace(reply, fault=_broken(after, Ending.WHOLE, event))


def stalled(reply: Reply, after: str | int | None = None) -> Reply:
    """Return the reply, stopped at `after` with its connection left open."""
    return replace(reply, fault=_broken(after, Ending.STALLED))


def reset(reply: Reply, after: str | int | None = None) -> Reply:
    """Return the reply with its connection reset at `after`."""
    return replace(reply, fault=_broken(after, Ending.RESET))


def ended(reply: Reply, after: str | int | None = None) -> Reply:
    """Return the reply with its body ended early at `after`, as a valid HTTP response."""
    return replace(reply, fault=_broken(after, Ending.WHOLE))


def cut(reply: Reply, after: str | int | None = None) -> Reply:
    """Return the reply with its connection closed at `after`, even inside an event."""
    return replace(reply, fault=_broken(after, Ending.CLOSED))


def garbled(reply: Reply, after: str | int | None = None) -> Reply:
    """Return the reply with an event of malformed JSON at `after`, which ends it."""
    event = b'event: content_block_delta\ndata: {"type": "content_block_delta", "index": \n\n'
    return replace(reply, fault=_broken(after, Ending.WHOLE, event))


def recorded(reply: Reply, body: Mapping[str, Any] | None = None) -> bytes:
    """Return all bytes of the stream, for tests that split it themselves."""
    return b"".join(step.data for step in steps(reply, body or {}) if isinstance(step, Step))


def _broken(
    after: str | int | None, ending: Ending, data: bytes = b""
) -> Callable[[Iterator[Step]], Iterator[Step | Ending]]:
    """Return what breaks a stream: after `after` (bytes, or a sent text; None: at once) come `data` and the ending."""

    def fault(whole: Iterator[Step]) -> Iterator[Step | Ending]:
        sent, said = 0, ""
        if after is not None:
            for step in whole:
                sent, said = sent + len(step.data), said + step.text
                if isinstance(after, int) and sent >= after:
                    is_whole = sent == after
                    kept = step.data[: len(step.data) - (sent - after)]
                    yield replace(step, data=kept, usage=step.usage if is_whole else None)
                    break
                yield step
                if isinstance(after, str) and after in said:
                    break
            else:
                yield Ending.WHOLE
                return
        if data:
            yield Step(data)
        yield ending

    return fault
