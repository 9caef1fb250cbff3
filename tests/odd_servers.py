"""Servers of the Messages API as they are found: each way that one differs from the API, as bytes that it sends.

A way is a function of a request (body, headers) and of the reply that a well-behaved server would give; it returns that
reply changed, or an error.
"""

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from tests.scripted import Reply, ReplyBlock, answer, error, recorded, text, thinking

Body = dict[str, Any]
Headers = Mapping[str, str]
Way = Callable[[Body, Headers, Reply], Reply]

JSON, EVENTS = "application/json", "text/event-stream"


class AnyApi:
    """An API that refuses nothing and knows no other paths; `way` changes each answer."""

    def __init__(self, way: Way) -> None:
        self.way = way

    def answer(self, body: Body, headers: Headers, raw: object, respond: Callable[[Body], Reply]) -> Reply:
        return self.way(body, headers, respond(body))

    def count(self, *_: object) -> Reply:
        return error(404, "not_found_error", "Not Found")

    models = model = count


# -- What a stream is made of ----------------------------------------------------------------------


def events_of(reply: Reply, body: Body) -> list[dict[str, Any]]:
    """Return the events of the stream of `reply` as JSON values."""
    lines = recorded(reply, body).split(b"\n")
    return [json.loads(line.removeprefix(b"data: ")) for line in lines if line.startswith(b"data: ")]


def stream(events: list[dict[str, Any]], kind: str = EVENTS) -> Reply:
    """Return a reply with these events, in the form of the API."""
    return as_bytes(b"".join(framed(event) for event in events), kind)


def framed(event: dict[str, Any]) -> bytes:
    # Half a character is sent as the escape that it is in JSON.
    return f"event: {event.get('type', 'message')}\ndata: {json.dumps(event)}\n\n".encode()


def as_bytes(data: bytes, kind: str = EVENTS) -> Reply:
    return Reply(headers={"content-type": kind}, body=data)


def plain(body: Body, headers: Headers, reply: Reply) -> Reply:
    return reply


def on_events(change: Callable[[list[dict[str, Any]]], list[dict[str, Any]]]) -> Way:
    return lambda body, headers, reply: stream(change(events_of(reply, body)))


def on_each(change: Callable[[dict[str, Any]], dict[str, Any] | None]) -> Way:
    return on_events(lambda events: [found for event in events if (found := change(event)) is not None])


def on_bytes(change: Callable[[bytes], bytes], kind: str = EVENTS) -> Way:
    return lambda body, headers, reply: as_bytes(change(recorded(reply, body)), kind)


def without(*kinds: str) -> Way:
    return on_each(lambda event: None if event["type"] in kinds else event)


def with_usage(usage: object) -> Way:
    def changed(event: dict[str, Any]) -> dict[str, Any]:
        if event["type"] == "message_start":
            return {**event, "message": {**event["message"], "usage": usage}}
        return {**event, "usage": usage} if event["type"] == "message_delta" else event

    return on_each(changed)


def with_block(change: Callable[[dict[str, Any]], dict[str, Any]], kind: str = "tool_use") -> Way:
    def changed(event: dict[str, Any]) -> dict[str, Any]:
        if event["type"] != "content_block_start" or event["content_block"]["type"] != kind:
            return event
        return {**event, "content_block": change(event["content_block"])}

    return on_each(changed)


def with_id(id_of: Callable[[], object]) -> Way:
    return with_block(lambda block: {**block, "id": id_of()})


def before(*blocks: ReplyBlock) -> Way:
    return lambda body, headers, reply: replace(reply, blocks=(*blocks, *reply.blocks))


def ending(**fields: Any) -> Way:
    return on_each(
        lambda event: {**event, "delta": {**event["delta"], **fields}} if event["type"] == "message_delta" else event
    )


def numbered(index_of: Callable[[int], int]) -> Way:
    return on_each(lambda event: {**event, "index": index_of(event["index"])} if "index" in event else event)


def input_at_once(*, left_out: bool = False) -> Way:
    def changed(body: Body, headers: Headers, reply: Reply) -> Reply:
        blocks = []
        for block in reply.blocks:
            if block.start["type"] == "tool_use" and not left_out:
                whole = {**block.start, "input": json.loads("".join(block.deltas) or "{}")}
                block = ReplyBlock(whole, "", "", ())
            blocks.append(block)
        changed = replace(reply, blocks=tuple(blocks))
        if not left_out:
            return changed
        drop = with_block(lambda block: {name: value for name, value in block.items() if name != "input"})
        return drop(body, headers, changed)

    return changed


def as_json(body: Body, headers: Headers, reply: Reply) -> Reply:
    from oneclaw.demo.replies import message

    return as_bytes(json.dumps(message(reply, body)).encode(), JSON)


def half_a_character(body: Body, headers: Headers, reply: Reply) -> Reply:
    found = []
    for event in events_of(reply, body):
        found.append(event)
        if event["type"] == "content_block_start" and event["content_block"]["type"] == "text":
            for half in ("\ud83d", "\ude42"):
                delta = {"type": "text_delta", "text": half}
                found.append({"type": "content_block_delta", "index": event["index"], "delta": delta})
    return stream(found)


def text_in_the_start(body: Body, headers: Headers, reply: Reply) -> Reply:
    blocks = tuple(
        ReplyBlock({"type": "text", "text": "".join(block.deltas)}, "", "", ()) if block.key == "text" else block
        for block in reply.blocks
    )
    return replace(reply, blocks=blocks)


def text_inside_a_call(events: list[dict[str, Any]]) -> list[dict[str, Any]]:
    found = []
    for event in events:
        found.append(event)
        if event["type"] == "content_block_start" and event["content_block"]["type"] == "tool_use":
            delta = {"type": "text_delta", "text": "\n"}
            found.append({"type": "content_block_delta", "index": event["index"], "delta": delta})
    return found


def ending_in_done(body: Body, headers: Headers, reply: Reply) -> Reply:
    events = [event for event in events_of(reply, body) if event["type"] != "message_stop"]
    return as_bytes(b"".join(map(framed, events)) + b"data: [DONE]\n\n")


# -- Refusals of what is sent ----------------------------------------------------------------------


def refused(words: str, status: int = 400, kind: str = "invalid_request_error", **fields: Any) -> Reply:
    said = {"type": "error", "error": {"type": kind, "message": words, **fields}}
    return Reply(status=status, headers={"content-type": JSON}, body=json.dumps(said).encode())


def refusing(is_wrong: Callable[[Body, Headers], bool], refusal: Reply) -> Way:
    return lambda body, headers, reply: refusal if is_wrong(body, headers) else reply


def holds(body: object, name: str) -> bool:
    return f'"{name}"' in json.dumps(body)


def tokens_of(body: Body) -> int:
    return len(json.dumps([body.get("system"), body.get("tools"), body["messages"]])) // 3


def window(words: Callable[[int, int], Reply], size: int, *, counts_answer: bool = True) -> Way:
    def way(body: Body, headers: Headers, reply: Reply) -> Reply:
        used, wanted = tokens_of(body), body["max_tokens"] if counts_answer else 1
        return words(used, wanted) if used + wanted > size else reply

    return way


def of_vllm(used: int, wanted: int) -> Reply:
    return refused(
        f"'max_tokens' or 'max_completion_tokens' is too large: {wanted}. This model's maximum context length is 8192 "
        f"tokens and your request has {used} input tokens ({wanted} > 8192 - {used}).",
        kind="BadRequestError",
    )


def of_vllm_without_numbers(used: int, wanted: int) -> Reply:
    return refused("max_tokens too large: the maximum context length is 8,192", kind="BadRequestError")


def of_openai(used: int, wanted: int) -> Reply:
    return refused(
        f"This model's maximum context length is 8192 tokens. However, you requested {used + wanted} tokens ({used} in "
        f"the messages, {wanted} in the completion). Please reduce the length of the messages or completion.",
        code="context_length_exceeded",
    )


def of_llama_cpp(used: int, wanted: int) -> Reply:
    return refused(
        "the request exceeds the available context size, try increasing it",
        kind="exceed_context_size_error",
        n_prompt_tokens=used,
        n_ctx=4096,
    )


def takes_only_text(body: Body, headers: Headers) -> bool:
    return "tools" in body or any(not isinstance(each["content"], str) for each in body["messages"])


def raised(most: int) -> Way:
    words = f"max_tokens: {most + 1} > {most}, which is the maximum allowed number of output tokens"
    return refusing(lambda body, headers: body["max_tokens"] > most, refused(words))


def extra(name: str, *, path: str = "") -> Way:
    words = f"{path or name}: Extra inputs are not permitted"
    return refusing(lambda body, headers: holds(body, name), refused(words))


@dataclass(frozen=True)
class Odd:
    """One way; `saves`: whether a memory can be saved there, which needs tools. `says`: what the text begins with.
    `is_healed`: whether another server refuses the thinking of this one, after which it is sent without."""

    way: Way
    saves: bool = True
    says: str = ""
    is_healed: bool = False


_numbers = iter(range(10_000))
_FOREIGN = ReplyBlock(
    {"type": "thinking", "thinking": "", "signature": ""},
    "thinking_delta",
    "thinking",
    ("Hm.",),
    signature="Zm9yZWlnbg==",
)
_REDACTED = ReplyBlock({"type": "redacted_thinking", "data": "c2VjcmV0"}, "", "", ())
_UNKNOWN = ReplyBlock({"type": "hologram", "x": [1]}, "", "", ())

# Those whose answers can be read.
ANSWERING: dict[str, Odd] = {
    "as the API": Odd(plain),
    "crlf": Odd(on_bytes(lambda data: data.replace(b"\n", b"\r\n"))),
    "lone cr": Odd(on_bytes(lambda data: data.replace(b"\n", b"\r"))),
    "no event lines": Odd(on_bytes(lambda data: re.sub(rb"event: \w+\n", b"", data))),
    "no space after data": Odd(on_bytes(lambda data: data.replace(b"data: ", b"data:"))),
    "byte order mark": Odd(on_bytes(lambda data: b"\xef\xbb\xbf" + data)),
    "comments": Odd(on_bytes(lambda data: b": hello\n\n" + data.replace(b"\n\n", b"\n\n: still here\n\n"))),
    "no usage": Odd(with_usage({})),
    "null usage": Odd(with_usage(None)),
    "zero usage": Odd(with_usage({"input_tokens": 0, "output_tokens": 0})),
    "usage of OpenAI": Odd(with_usage({"prompt_tokens": 9, "completion_tokens": 3, "total_tokens": 12})),
    "huge usage": Odd(with_usage({"input_tokens": 2**40, "output_tokens": 2**63, "cache_read_input_tokens": 10**30})),
    "usage in words": Odd(with_usage({"input_tokens": "many", "output_tokens": "few"})),
    "usage with wrong types": Odd(with_usage({"input_tokens": [1], "output_tokens": -5, "iterations": "x"})),
    "no message_start": Odd(without("message_start", "ping")),
    "two message_starts": Odd(on_events(lambda events: [events[0], *events])),
    "indexes from 1": Odd(numbered(lambda index: index + 1)),
    "indexes all 0": Odd(numbered(lambda index: 0)),
    "no block starts of texts": Odd(
        on_each(lambda event: None if event.get("content_block", {}).get("type") == "text" else event)
    ),
    "text in the start": Odd(text_in_the_start),
    "thinking without signature": Odd(
        lambda body, headers, reply: on_each(
            lambda event: None if event.get("delta", {}).get("type") == "signature_delta" else event
        )(body, headers, before(thinking("Hm."))(body, headers, reply))
    ),
    "thinking with a foreign signature": Odd(before(_FOREIGN), is_healed=True),
    "redacted thinking": Odd(before(_REDACTED), is_healed=True),
    "empty leading text": Odd(before(text(""))),
    "blocks of an unknown type": Odd(before(_UNKNOWN)),
    "unknown fields in calls": Odd(with_block(lambda block: {**block, "index": 0, "extra": {"a": 1}})),
    "end_turn with a call": Odd(ending(stop_reason="end_turn")),
    "text inside a call": Odd(on_events(text_inside_a_call)),
    "arguments in the start": Odd(input_at_once()),
    "no input field": Odd(input_at_once(left_out=True)),
    "input as an empty list": Odd(with_block(lambda block: {**block, "input": []})),
    "ids with other characters": Odd(with_id(lambda: f"call_{next(_numbers)}+/=.a")),
    "ids that are too long": Odd(with_id(lambda: f"call_{next(_numbers)}_" + "x" * 300)),
    "the same id in each answer": Odd(with_id(lambda: "call_0")),
    "empty ids": Odd(with_id(lambda: "")),
    "numbers as ids": Odd(with_id(lambda: 7)),
    "null as ids": Odd(with_id(lambda: None)),
    "no ids": Odd(with_block(lambda block: {name: value for name, value in block.items() if name != "id"})),
    "[DONE] after the end": Odd(on_bytes(lambda data: data + b"data: [DONE]\n\n")),
    "an error after the end": Odd(on_bytes(lambda data: data + b'data: {"type": "error", "error": {}}\n\n')),
    "no message_stop": Odd(without("message_stop")),
    "no message_delta": Odd(without("message_delta")),
    "stop reason null": Odd(ending(stop_reason=None)),
    "[DONE] in place of message_stop": Odd(ending_in_done),
    "one JSON document": Odd(as_json),
    "octet-stream": Odd(on_bytes(lambda data: data, "application/octet-stream")),
    "text/plain": Odd(on_bytes(lambda data: data, "text/plain; charset=utf-8")),
    "half a character in two deltas": Odd(half_a_character, says="🙂"),
    "no thinking field": Odd(extra("thinking")),
    "no effort": Odd(extra("output_config")),
    "small answers": Odd(raised(4_000)),
    "no cache_control": Odd(extra("cache_control", path="system.0.cache_control")),
    "no lifetime of the cache": Odd(extra("ttl", path="messages.0.content.0.text.cache_control.ephemeral.ttl")),
    "only the first version": Odd(
        refusing(
            lambda body, headers: headers.get("anthropic-version") != "2023-06-01",
            refused("anthropic-version: 2026-10-21 is not a valid version"),
        )
    ),
    "no tools (Ollama)": Odd(
        refusing(lambda body, headers: "tools" in body, refused('"llama3" does not support tools', kind="api_error")),
        saves=False,
    ),
    "no tools (vLLM)": Odd(
        refusing(
            lambda body, headers: "tools" in body,
            refused('"auto" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set'),
        ),
        saves=False,
    ),
    "system text only as a string": Odd(
        refusing(
            lambda body, headers: isinstance(body.get("system"), list),
            refused("system: Input should be a valid string"),
        )
    ),
    "window of 8,192 (vLLM)": Odd(window(of_vllm, 8_192)),
    "window of 8,192 without numbers (vLLM)": Odd(window(of_vllm_without_numbers, 8_192)),
    "window of 8,192 (OpenAI)": Odd(window(of_openai, 8_192)),
    "only plain text": Odd(refusing(takes_only_text, refused("content: str type expected, got list")), saves=False),
}


def always(reply: Reply) -> Way:
    return lambda body, headers, given: reply


def http(status: int, body: str, kind: str = JSON) -> Reply:
    return Reply(status=status, headers={"content-type": kind}, body=body.encode())


HTML = "<html><body><h1>502 Bad Gateway</h1></body></html>"
# Those that give no answer: the code of the failure, and a part of its sentence.
FAILING: dict[str, tuple[Way, str, str]] = {
    "a page of a proxy": (always(http(503, HTML, "text/html")), "overloaded", "is overloaded"),
    "a page with 529": (always(http(529, HTML, "text/html")), "overloaded", "is overloaded"),
    "a page with 200": (always(http(200, HTML, "text/html")), "model_error", "no answer that can be read"),
    "a page without its type": (always(http(200, HTML, EVENTS)), "unreachable", "cannot be reached"),
    "loading (llama.cpp)": (
        always(http(503, '{"error": {"code": 503, "message": "Loading model", "type": "unavailable_error"}}')),
        "overloaded",
        "is overloaded",
    ),
    "unknown model (Ollama)": (
        always(refused('model "claude" not found, try pulling it first', 404, "not_found_error")),
        "unknown_model",
        "does not know this model",
    ),
    "unknown model (vLLM)": (
        always(refused("The model `claude` does not exist.", 404, "NotFoundError")),
        "unknown_model",
        "does not know this model",
    ),
    "no such address": (always(http(404, '{"detail": "Not Found"}')), "unreachable", "cannot be reached"),
    "refused key (LiteLLM)": (
        always(refused("Authentication Error, Invalid proxy server token", 401, "auth_error")),
        "key_refused",
        "refused the API key",
    ),
    "rate limit (LiteLLM)": (always(refused("Rate limit", 429, "None")), "rate_limited", "takes no more requests"),
    "redirect": (always(http(307, "")), "unreachable", "cannot be reached"),
    "an error first, without its type": (
        always(as_bytes(b'data: {"error": {"message": "CUDA out of memory"}}\n\n')),
        "model_error",
        "had an internal error",
    ),
    "an error first, as a string": (
        always(as_bytes(b'data: {"error": "CUDA out of memory"}\n\n')),
        "model_error",
        "had an internal error",
    ),
    "an error as a document": (
        always(as_bytes(b'{"error": {"message": "CUDA out of memory"}}', JSON)),
        "model_error",
        "had an internal error",
    ),
    "answers of another API": (
        always(as_bytes(b'data: {"choices": [{"delta": {"content": "Hi"}}]}\n\ndata: [DONE]\n\n')),
        "model_error",
        "no answer that can be read",
    ),
    "a document of another API": (
        always(as_bytes(b'{"choices": [{"message": {"content": "Hi"}}]}', JSON)),
        "model_error",
        "no answer that can be read",
    ),
    "no body": (always(as_bytes(b"")), "unreachable", "cannot be reached"),
    "noise": (always(as_bytes(b"data: \x00\xff\x01\n\n")), "model_error", "no answer that can be read"),
    "a refusal of everything": (
        always(refused("something about this is wrong")),
        "bad_request",
        "not even as plain text",
    ),
    "no credit": (always(refused("Your credit balance is too low")), "spend_limit", "spending limit"),
    "a window that is too small (llama.cpp)": (
        always(of_llama_cpp(9_000, 1)),
        "context_too_long",
        "no longer fits into the model’s window",
    ),
    "an answer without a word": (always(answer()), "empty_answer", "answered without text"),
    "an answer that stops in its middle": (
        lambda body, headers, reply: stream(events_of(reply, body)[:4]),
        "cut_off",
        "ended before the model's server said that it was whole",
    ),
}
