"""Replies of a server of the Messages API: blocks, faults, and their bytes. Used by scripted.py and model.py.

answer(thinking("Let me see."), text("Hello.", pace=0.02), tool_use("save_memory", {"content": "tea"}))
reset(answer(text("Hello there.")), after="Hello")
rate_limited(retry_after=2)
"""

import enum
import json
import uuid
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

# Characters of one delta.
DELTA_CHARS = 8
REQUEST_ID = "req_scripted"


class Ending(enum.Enum):
    """How the body of a reply ends."""

    WHOLE = "the terminating chunk"
    CLOSED = "the connection is closed without it"
    RESET = "the connection is reset"
    STALLED = "nothing more comes, until the client leaves"


@dataclass(frozen=True)
class ReplyBlock:
    """One content block: its start, and its deltas with the seconds before each (`pace`; None: that of the reply)."""

    start: dict[str, Any]
    kind: str
    key: str
    deltas: Iterable[str]
    pace: float | None = None
    # What proves to the server that it made this block, when it is sent back.
    signature: str = "c2lnbmVk"
    # The sources of the search results that a text rests on, and the citations of them, which the server finds.
    cites: tuple[str, ...] = ()
    citations: tuple[Mapping[str, Any], ...] = ()


@dataclass(frozen=True)
class Fault:
    """A fault of a stream: after `after` (bytes, or a sent text; None: at once) come `data` and the ending."""

    after: str | int | None
    ending: Ending
    data: bytes = b""


@dataclass(frozen=True)
class Reply:
    """One reply of the server."""

    blocks: tuple[ReplyBlock, ...] = ()
    stop_reason: str = "end_turn"
    # What is said of the tokens at the end.
    usage: Mapping[str, Any] = field(default_factory=dict)
    # Seconds: before the first byte, and before each delta.
    first_byte: float = 0.0
    pace: float = 0.0
    fault: Fault | None = None
    # For a reply that is no stream, such as an error or a page.
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes | None = None
    # What is said of the tokens before the first block, and further fields of the message.
    input_usage: Mapping[str, Any] = field(default_factory=lambda: {"input_tokens": 1})
    fields: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Step:
    """A piece of the body, sent after `wait` seconds. `text` is the answer's text in it, `usage` what it says of the
    tokens."""

    data: bytes
    wait: float = 0.0
    text: str = ""
    usage: Mapping[str, Any] | None = None


# -- The vocabulary ------------------------------------------------------------------------------


def text(
    words: str | Iterable[str], *, pace: float | None = None, size: int = DELTA_CHARS, cites: Iterable[str] = ()
) -> ReplyBlock:
    """Return a text block, in deltas of `size` characters with `pace` seconds before each; or in the given deltas.

    It cites the search results of the request with the sources `cites`, as far as the request has them.
    """
    deltas = _cut(words, size) if isinstance(words, str) else words
    return ReplyBlock({"type": "text", "text": ""}, "text_delta", "text", deltas, pace, cites=tuple(cites))


def thinking(words: str, *, pace: float | None = None, size: int = DELTA_CHARS) -> ReplyBlock:
    """Return a thinking block, in deltas of `size` characters with `pace` seconds before each."""
    start = {"type": "thinking", "thinking": "", "signature": ""}
    return ReplyBlock(start, "thinking_delta", "thinking", _cut(words, size), pace)


def tool_use(
    name: str,
    input: Mapping[str, Any] | str,
    *,
    id: str = "",
    pace: float | None = None,
    size: int = DELTA_CHARS,
) -> ReplyBlock:
    """Return a tool call. A string as `input` is sent unchanged, for malformed arguments."""
    start = {"type": "tool_use", "id": id or f"toolu_{uuid.uuid4().hex[:24]}", "name": name, "input": {}}
    arguments = input if isinstance(input, str) else json.dumps(input, ensure_ascii=False)
    return ReplyBlock(start, "input_json_delta", "partial_json", _cut(arguments, size), pace)


def whole_block(block: dict[str, Any]) -> ReplyBlock:
    """Return a block that comes at once, without deltas."""
    return ReplyBlock(block, "", "", ())


def answer(
    *blocks: ReplyBlock | str,
    stop_reason: str = "",
    usage: Mapping[str, Any] | None = None,
    first_byte: float = 0.0,
    pace: float = 0.0,
) -> Reply:
    """Return a complete answer. A string is a text block; the stop reason follows from the blocks unless given."""
    content = tuple(text(block) if isinstance(block, str) else block for block in blocks)
    calls = any(block.start["type"] == "tool_use" for block in content)
    reason = stop_reason or ("tool_use" if calls else "end_turn")
    return Reply(content, reason, usage or {}, first_byte, pace)


def error(status: int, kind: str, message: str, *, details: Mapping[str, Any] | None = None, **headers: str) -> Reply:
    """Return an error response in the API's own form. A header is given as retry_after="2"."""
    names = {name.replace("_", "-"): value for name, value in headers.items()}
    headers = {"content-type": "application/json", **names}
    return Reply(status=status, headers=headers, body=_error(kind, message, details))


def json_reply(value: Mapping[str, Any]) -> Reply:
    """Return a response with JSON that is not a message."""
    return Reply(headers={"content-type": "application/json"}, body=json.dumps(value).encode())


def key_refused() -> Reply:
    """Return the error for an API key that is not valid."""
    return error(401, "authentication_error", "invalid x-api-key")


def rate_limited(retry_after: float | None = None) -> Reply:
    """Return the error for too many requests; `retry_after` is in seconds."""
    refused = error(429, "rate_limit_error", "This request would exceed your rate limit.")
    wait = {} if retry_after is None else {"retry-after": f"{retry_after:g}"}
    return replace(refused, headers={**refused.headers, **wait})


def server_fault(status: int = 500) -> Reply:
    """Return an error of the server itself."""
    return error(status, "api_error", "Internal server error")


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
    event = b"event: error\ndata: " + _error("overloaded_error", "Overloaded") + b"\n\n"
    return replace(reply, fault=Fault(after, Ending.WHOLE, event))


def stalled(reply: Reply, after: str | int | None = None) -> Reply:
    """Return the reply, stopped at `after` with its connection left open."""
    return replace(reply, fault=Fault(after, Ending.STALLED))


def reset(reply: Reply, after: str | int | None = None) -> Reply:
    """Return the reply with its connection reset at `after`."""
    return replace(reply, fault=Fault(after, Ending.RESET))


def ended(reply: Reply, after: str | int | None = None) -> Reply:
    """Return the reply with its body ended early at `after`, as a valid HTTP response."""
    return replace(reply, fault=Fault(after, Ending.WHOLE))


def cut(reply: Reply, after: str | int | None = None) -> Reply:
    """Return the reply with its connection closed at `after`, even inside an event."""
    return replace(reply, fault=Fault(after, Ending.CLOSED))


def garbled(reply: Reply, after: str | int | None = None) -> Reply:
    """Return the reply with an event of malformed JSON at `after`, which ends it."""
    event = b'event: content_block_delta\ndata: {"type": "content_block_delta", "index": \n\n'
    return replace(reply, fault=Fault(after, Ending.WHOLE, event))


# -- Its bytes -----------------------------------------------------------------------------------


def steps(reply: Reply, body: Mapping[str, Any]) -> Iterator[Step | Ending]:
    """Yield the stream of `reply` to the request `body`, piece by piece; the last is an Ending."""
    whole = _events(reply, body)
    if reply.fault is None:
        yield from whole
        yield Ending.WHOLE
    else:
        yield from _broken(whole, reply.fault)


def recorded(reply: Reply, body: Mapping[str, Any] | None = None) -> bytes:
    """Return all bytes of the stream, for tests that split it themselves."""
    return b"".join(step.data for step in steps(reply, body or {}) if isinstance(step, Step))


def message(reply: Reply, body: Mapping[str, Any]) -> dict[str, Any]:
    """Return the JSON of `reply` to the request `body`, which does not stream."""
    blocks = []
    for block in reply.blocks:
        words = "".join(block.deltas)
        if block.key == "partial_json":
            blocks.append({**block.start, "input": json.loads(words or "{}")})
        elif block.key == "thinking":
            blocks.append({**block.start, "thinking": words, "signature": block.signature})
        else:
            cited = {"citations": list(block.citations)} if block.citations else {}
            blocks.append({**block.start, block.key: words, **cited} if block.key else block.start)
    return {
        **_message_start(reply, body),
        "content": blocks,
        "stop_reason": reply.stop_reason,
        "usage": {**reply.input_usage, "output_tokens": max(1, len(str(blocks)) // 4), **reply.usage},
    }


def _events(reply: Reply, body: Mapping[str, Any]) -> Iterator[Step]:
    usage = {**reply.input_usage, "output_tokens": 1}
    start = {**_message_start(reply, body), "content": [], "stop_reason": None, "usage": usage}
    yield Step(_event("message_start", message=start), reply.first_byte, usage=usage)
    yield Step(_event("ping"))
    output = 0
    for index, block in enumerate(reply.blocks):
        pace = reply.pace if block.pace is None else block.pace
        yield Step(_event("content_block_start", index=index, content_block=block.start))
        for delta in block.deltas:
            output += len(delta)
            event = _event("content_block_delta", index=index, delta={"type": block.kind, block.key: delta})
            yield Step(event, pace, delta if block.key == "text" else "")
        for citation in block.citations:
            yield Step(
                _event("content_block_delta", index=index, delta={"type": "citations_delta", "citation": citation})
            )
        if block.key == "thinking":
            signature = {"type": "signature_delta", "signature": block.signature}
            yield Step(_event("content_block_delta", index=index, delta=signature))
        yield Step(_event("content_block_stop", index=index))
    usage = {"output_tokens": max(1, output // 4), **reply.usage}
    ending = {"stop_reason": reply.stop_reason, "stop_sequence": None}
    yield Step(_event("message_delta", delta=ending, usage=usage), usage=usage)
    yield Step(_event("message_stop"))


def _broken(whole: Iterator[Step], fault: Fault) -> Iterator[Step | Ending]:
    sent, said = 0, ""
    if fault.after is not None:
        for step in whole:
            sent, said = sent + len(step.data), said + step.text
            if isinstance(fault.after, int) and sent >= fault.after:
                is_whole = sent == fault.after
                cut = step.data[: len(step.data) - (sent - fault.after)]
                yield replace(step, data=cut, usage=step.usage if is_whole else None)
                break
            yield step
            if isinstance(fault.after, str) and fault.after in said:
                break
        else:
            yield Ending.WHOLE
            return
    if fault.data:
        yield Step(fault.data)
    yield fault.ending


def _event(kind: str, **fields: Any) -> bytes:
    payload = json.dumps({"type": kind, **fields}, ensure_ascii=False)
    return f"event: {kind}\ndata: {payload}\n\n".encode("utf-8", "surrogatepass")


def _message_start(reply: Reply, body: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "id": f"msg_{uuid.uuid4().hex[:24]}",
        "type": "message",
        "role": "assistant",
        "model": body.get("model", "scripted"),
        "stop_sequence": None,
        **reply.fields,
    }


def _error(kind: str, message: str, details: Mapping[str, Any] | None = None) -> bytes:
    said = {"type": kind, "message": message, **({"details": details} if details else {})}
    return json.dumps({"type": "error", "error": said, "request_id": REQUEST_ID}).encode()


def _cut(words: str, size: int) -> list[str]:
    return [words[start : start + size] for start in range(0, len(words), size)]
