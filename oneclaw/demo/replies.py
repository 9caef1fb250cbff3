"""Replies of a server of the Messages API: blocks, and their bytes.

answer(text("Hello.", pace=0.02), tool_use("save_memory", {"content": "tea"}))
"""

import enum
import json
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
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


@dataclass(frozen=True, slots=True)
class Step:
    """A piece of the body, sent after `wait` seconds. `text` is the answer's text in it, `usage` what it says of the
    tokens."""

    data: bytes
    wait: float = 0.0
    text: str = ""
    usage: Mapping[str, Any] | None = None


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
    # Breaks the stream: turns the pieces of a whole one into those that are sent, and the ending.
    fault: Callable[[Iterator[Step]], Iterator["Step | Ending"]] | None = None
    # For a reply that is no stream, such as an error or a page.
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes | None = None
    # What is said of the tokens before the first block, and further fields of the message.
    input_usage: Mapping[str, Any] = field(default_factory=lambda: {"input_tokens": 1})
    fields: Mapping[str, Any] = field(default_factory=dict)
    # What is said with the stop reason.
    ending: Mapping[str, Any] = field(default_factory=dict)


# -- The vocabulary ------------------------------------------------------------------------------


def text(
    words: str | Iterable[str], *, pace: float | None = None, size: int = DELTA_CHARS, cites: Iterable[str] = ()
) -> ReplyBlock:
    """Return a text block, in deltas of `size` characters with `pace` seconds before each; or in the given deltas.

    It cites the search results of the request with the sources `cites`, as far as the request has them.
    """
    deltas = pieces(words, size) if isinstance(words, str) else words
    return ReplyBlock({"type": "text", "text": ""}, "text_delta", "text", deltas, pace, cites=tuple(cites))


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
    return ReplyBlock(start, "input_json_delta", "partial_json", pieces(arguments, size), pace)


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


def server_fault(status: int = 500) -> Reply:
    """Return an error of the server itself."""
    return error(status, "api_error", "Internal server error")


# -- Its bytes -----------------------------------------------------------------------------------


def steps(reply: Reply, body: Mapping[str, Any]) -> Iterator[Step | Ending]:
    """Yield the stream of `reply` to the request `body`, piece by piece; the last is an Ending."""
    whole = _events(reply, body)
    if reply.fault is None:
        yield from whole
        yield Ending.WHOLE
    else:
        yield from reply.fault(whole)


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
    ending = {"stop_reason": reply.stop_reason, "stop_sequence": None, **reply.ending}
    yield Step(_event("message_delta", delta=ending, usage=usage), usage=usage)
    yield Step(_event("message_stop"))


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


def pieces(words: str, size: int) -> list[str]:
    """Return `words` in pieces of `size` characters."""
    return [words[start : start + size] for start in range(0, len(words), size)]
