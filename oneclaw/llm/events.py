"""Parse and validate the stream of an answer into typed events."""

import json
import math
import re
from dataclasses import dataclass, field
from typing import Any, cast

from oneclaw.llm.blocks import Block
from oneclaw.llm.failures import (
    AnswerTooLargeError,
    CutOffError,
    ModelRequestError,
    UnreadableAnswerError,
    failure_of_response,
)
from oneclaw.llm.transport import sse
from oneclaw.spend.usage import INPUT_NAMES, is_counted, read_usage
from oneclaw.text import replace_unstorable, replace_unstorable_in_json

# One answer with its thinking and the arguments of its tools. It is twice what 128,000 tokens, the most that can be
# requested, have in plain text, so only a faulty server sends more.
ANSWER_MAX_CHARS = 1_000_000
# The most bytes of an answer that comes as one JSON document, and of what stands before its first event.
DOCUMENT_MAX_BYTES = 4 * ANSWER_MAX_CHARS
# The end of a stream, as servers of another API say it.
DONE = b"[DONE]"
BYTE_ORDER_MARK = b"\xef\xbb\xbf"
# The fields of blocks that are sent back; a server may add others that no server accepts. Of other types everything is
# kept.
KEPT_FIELDS = {
    "thinking": ("type", "thinking", "signature"),
    "redacted_thinking": ("type", "data"),
    "tool_use": ("type", "id", "name", "input", "caller"),
}
# The two halves of one character in UTF-16, which a server may put into two deltas.
SPLIT_CHARACTER = re.compile("[\ud800-\udbff][\udc00-\udfff]")
EXPLANATION_MAX_CHARS = 300
# The blocks that grow, and the field that does.
GROWING_FIELDS = {"text": "text", "thinking": "thinking"}
UNREADABLE = (ValueError, KeyError, TypeError, AttributeError, RecursionError)
FIRST_HALF = re.compile("[\ud800-\udbff]\\Z")


@dataclass(frozen=True, slots=True)
class BlockStarted:
    """The start of a block: text, thinking, tool_use, … `block` is as the API opened it, without content."""

    index: int
    block: Block


@dataclass(frozen=True, slots=True)
class TextDelta:
    """Further text of the block `index`."""

    index: int
    text: str


@dataclass(frozen=True, slots=True)
class ThinkingDelta:
    """Further thinking of the block `index`."""

    index: int
    text: str


@dataclass(frozen=True, slots=True)
class BlockFinished:
    """The end of a block, with its whole content. Malformed arguments of a tool_use become {}, explained in `error`."""

    index: int
    block: Block
    error: str = ""


@dataclass(frozen=True, slots=True)
class Retrying:
    """A failed attempt before any other event; the request is sent again after `seconds`."""

    failure: ModelRequestError
    seconds: float


@dataclass(frozen=True, slots=True)
class Finished:
    """The end of a complete answer; always the last event."""

    stop_reason: str
    usage: dict[str, Any]
    model: str
    # The name of the server in ONECLAW_UPSTREAMS that has answered; "": the first one.
    upstream: str = ""
    # Why the model declined to answer, in words of its server; "" if it did not say.
    explanation: str = ""


Event = BlockStarted | TextDelta | ThinkingDelta | BlockFinished | Retrying | Finished


@dataclass(slots=True)
class _Open:
    """A block that is not finished."""

    block: Block
    text: list[str] = field(default_factory=list)
    json: list[str] = field(default_factory=list)
    # The first half of a character whose second half has not arrived.
    half: str = ""


class AnswerReader:
    """A parser of the bytes of one answer into events.

    It is lenient with what servers of the Messages API do in other ways, as long as the answer is known to be whole:
    they leave out the start of a block, the last event or the ids of calls, end with "[DONE]", or send one JSON
    document instead of a stream.
    """

    def __init__(self, model: str) -> None:
        self._parser = sse.EventParser()
        self._open: dict[int, _Open] = {}
        # What the server has said so far: which model answers, and the tokens; another mapping when it says more.
        self.model = model
        self.usage: dict[str, Any] = {}
        self._stop_reason: str | None = None
        self._explanation = ""
        # The stop reason of an answer with such blocks, when the server says none.
        self._likely_reason = ""
        self._size = 0
        # The first bytes, until they show what comes; and whether it is one JSON document.
        self._begun = b""
        self._is_document: bool | None = None
        # Whether any event has come, and whether any was one of the Messages API.
        self._has_events = self._is_known = False
        # Whether the answer is complete, or failed. Events before a failure in the same chunk are still valid.
        self.finished = False
        self.failure: ModelRequestError | None = None

    @property
    def is_writing(self) -> bool:
        """Return whether a text is growing, whose deltas follow one another quickly."""
        return any(growing.block["type"] == "text" for growing in self._open.values())

    def feed(self, data: bytes) -> list[Event]:
        """Return the events that `data` completes; the text of one block in `data` becomes one delta.

        Malformed data sets `failure`, after which no more is parsed.
        """
        if self._is_document is not False:
            data = self._begin(data)
        events: list[Event] = []
        try:
            for name, payload in self._parser.feed(data):
                if self.finished or self.failure:
                    break
                self._take(name, payload, events)
        except sse.EventTooLargeError as error:
            self.failure = AnswerTooLargeError(str(error))
        except UNREADABLE as error:
            self.failure = UnreadableAnswerError(f"unreadable event: {error!r}")
        return events

    def close(self) -> list[Event]:
        """Return the events that the end of the body completes; set `failure` unless the answer is complete."""
        events: list[Event] = []
        if self._is_document and not self.failure:
            try:
                self._take_document(events)
            except UNREADABLE as error:
                self.failure = UnreadableAnswerError(f"unreadable document: {error!r}")
        if self.finished or self.failure:
            return events
        if self._stop_reason and not self._open:
            # Only the event after the last one is missing.
            self._stop(events)
        elif self._has_events and not self._is_known:
            self.failure = UnreadableAnswerError("no event of the Messages API came")
        else:
            self.failure = CutOffError("the stream ended early")
        return events

    def _begin(self, data: bytes) -> bytes:
        """Return what of the first bytes the parser of events reads: nothing while these are a JSON document, or may
        be."""
        self._begun += data
        start = self._begun.removeprefix(BYTE_ORDER_MARK).lstrip()
        if len(self._begun) > DOCUMENT_MAX_BYTES:
            self.failure = AnswerTooLargeError(f"more than {DOCUMENT_MAX_BYTES:,} bytes")
            return b""
        if self._is_document or not start:
            return b""
        self._is_document = start.startswith(b"{")
        return b"" if self._is_document else self._begun

    def _take_document(self, events: list[Event]) -> None:
        """Read an answer that came whole, although a stream was asked for."""
        message = DECODER.decode(self._begun.decode("utf-8-sig", "surrogatepass"))
        if "content" not in message:
            self.failure = _failure_in(message) or UnreadableAnswerError("a JSON document that is no message")
            return
        start = {**message, "content": [], "stop_reason": None}
        self._take_event({"type": "message_start", "message": start}, events)
        content = message["content"]
        blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
        for index, block in enumerate(blocks):
            self._take_event({"type": "content_block_start", "index": index, "content_block": block}, events)
            self._take_event({"type": "content_block_stop", "index": index}, events)
        self._take_event({"type": "message_delta", "delta": message}, events)
        self._take_event({"type": "message_stop"}, events)

    def _take(self, name: str, payload: bytes, events: list[Event]) -> None:
        self._has_events = True
        if payload.strip() == DONE:
            if self._is_known:
                self._take_event({"type": "message_stop"}, events)
            return
        message = DECODER.decode(payload.decode("utf-8", "surrogatepass"))
        self._take_event({"type": name, **{key: value for key, value in message.items() if value is not None}}, events)

    def _take_event(self, message: dict[str, Any], events: list[Event]) -> None:
        kind = message["type"]
        self._size += _characters(kind, message)
        if self._size > ANSWER_MAX_CHARS:
            self.failure = AnswerTooLargeError(f"more than {ANSWER_MAX_CHARS:,} characters")
            return
        self._is_known |= kind.startswith(("content_block_", "message_", "ping"))
        if kind == "content_block_delta":
            self._delta(message.get("index", 0), message["delta"], events)
        elif kind == "content_block_start":
            self._start(message.get("index", 0), message["content_block"], events)
        elif kind == "content_block_stop":
            self._close(message.get("index", 0), events)
        elif kind == "message_start":
            self.model = message["message"].get("model") or self.model
            self.usage = {**self.usage, **read_usage(message["message"].get("usage"))}
        elif kind == "message_delta":
            self._end(message)
        elif kind == "message_stop":
            self._stop(events)
        elif kind == "error" or "error" in message:
            self.failure = _failure_in(message)
        # ping and unknown events are ignored.

    def _start(self, index: int, block: Block, events: list[Event]) -> None:
        if index in self._open or not isinstance(index, int):
            raise ValueError(f"block {index} was started twice")
        block = _checked(block)
        name = GROWING_FIELDS.get(block["type"], "")
        begun = block.get(name) or ""
        if name:
            # What a server sends with the start is a delta like the others.
            block = {**block, name: ""}  # type: ignore[misc]
        self._open[index] = _Open(block)
        self._likely_reason = "tool_use" if "tool_use" in (block["type"], self._likely_reason) else "end_turn"
        events.append(BlockStarted(index, block.copy()))
        if begun:
            self._delta(index, {"type": f"{name}_delta", name: begun}, events)

    def _end(self, message: dict[str, Any]) -> None:
        delta = message.get("delta") or {}
        self._stop_reason = delta.get("stop_reason") or self._stop_reason
        details = delta.get("stop_details")
        if isinstance(details, dict):
            words = details.get("explanation") or details.get("category") or ""
            self._explanation = replace_unstorable(str(words))[:EXPLANATION_MAX_CHARS]
        self.usage = {**self.usage, **read_usage(message.get("usage") or delta.get("usage"))}

    def _delta(self, index: int, delta: dict[str, Any], events: list[Event]) -> None:
        kind = delta["type"]
        if index not in self._open and kind in ("text_delta", "thinking_delta"):
            name = kind.removesuffix("_delta")
            self._start(index, {"type": name, name: ""}, events)  # type: ignore[misc]
        growing = self._open[index]
        if kind == "text_delta":
            text = _joined(growing, delta["text"])
            if not text:
                return
            last = events[-1] if events else None
            if isinstance(last, TextDelta) and last.index == index:
                events[-1] = TextDelta(index, last.text + text)
            else:
                events.append(TextDelta(index, text))
        elif kind == "input_json_delta":
            growing.json.append(delta["partial_json"])
        elif kind == "thinking_delta":
            if text := _joined(growing, delta["thinking"]):
                events.append(ThinkingDelta(index, text))
        elif kind == "signature_delta":
            growing.block["signature"] = delta["signature"]
        elif kind == "compaction_delta":
            # Summaries on demand arrive whole, in the start of their block; other summaries come in one delta.
            if "content" in delta:
                growing.block["content"] = delta["content"]
            if "encrypted_content" in delta:
                growing.block["encrypted_content"] = delta["encrypted_content"]
        elif kind == "citations_delta":
            growing.block["citations"] = [*(growing.block.get("citations") or []), delta["citation"]]

    def _close(self, index: int, events: list[Event]) -> BlockFinished:
        """End the block `index`, and return what is said about it."""
        growing = self._open.pop(index)
        if growing.half:
            lost = replace_unstorable(growing.half)
            growing.text.append(lost)
            events.append((TextDelta if growing.block["type"] == "text" else ThinkingDelta)(index, lost))
        finished = _finish(index, growing)
        events.append(finished)
        return finished

    def _stop(self, events: list[Event]) -> None:
        """End the answer, because the server says so."""
        for index in list(self._open):
            # Its end was left out; the arguments of a call may be cut off.
            if self._close(index, events).error:
                self.failure = CutOffError("the answer was closed before it was whole")
                return
        reason = self._stop_reason or self._likely_reason
        if not reason:
            self.failure = CutOffError("the answer was closed before it began")
            return
        usage = self.usage if is_counted(self.usage) else _without_input(self.usage)
        self.finished = True
        events.append(Finished(reason, usage, self.model, explanation=self._explanation))


def _characters(kind: str, message: dict[str, Any]) -> int:
    """Return how many characters an event adds to the answer."""
    if kind == "content_block_delta":
        if message["delta"]["type"] == "text_delta":
            return len(message["delta"]["text"])
        contents = (part for name, part in message["delta"].items() if name != "type")
        return sum(len(part) if isinstance(part, str) else len(str(part)) for part in contents)
    return len(str(message["content_block"])) if kind == "content_block_start" else 0


def _joined(growing: _Open, text: str) -> str:
    """Add `text` to a growing block, and return what of it can be shown: not the first half of a character, until the
    second one arrives."""
    text = growing.half + text
    found = FIRST_HALF.search(text)
    growing.half = found[0] if found else ""
    text = replace_unstorable(_whole_characters(text.removesuffix(growing.half)))
    growing.text.append(text)
    return text


def _whole_characters(text: str) -> str:
    """Return `text` with one character in place of its two halves in UTF-16."""
    return SPLIT_CHARACTER.sub(lambda found: found[0].encode("utf-16", "surrogatepass").decode("utf-16"), text)


def _failure_in(message: dict[str, Any]) -> ModelRequestError | None:
    """Return the failure that a server says in place of an answer; None when it says none."""
    is_failure = bool(message.get("error")) or message.get("type") == "error" or message.get("object") == "error"
    return failure_of_response(200, message) if is_failure else None


def _without_input(usage: dict[str, Any]) -> dict[str, Any]:
    """Return a usage that does not say what the request had, as some servers send zeros there."""
    return {name: value for name, value in usage.items() if name not in INPUT_NAMES}


def _finish(index: int, growing: _Open) -> BlockFinished:
    block, kind, error = growing.block, growing.block["type"], ""
    if kind == "text":
        block["text"] = (block.get("text") or "") + "".join(growing.text)
    elif kind == "thinking":
        block["thinking"] = (block.get("thinking") or "") + "".join(growing.text)
    elif growing.json:
        block["input"], error = _arguments(_whole_characters("".join(growing.json)))
    kept = KEPT_FIELDS.get(kind)
    if kept:
        block = cast(Block, {name: value for name, value in block.items() if name in kept})
    return BlockFinished(index, block, error)


def _arguments(text: str) -> tuple[dict[str, Any], str]:
    """Return the arguments of a tool call and ""; or {} and what is wrong with them."""
    try:
        arguments = replace_unstorable_in_json(DECODER.decode(text))
    except ValueError as error:
        return {}, f"The arguments are not valid JSON: {error}"
    except RecursionError:
        return {}, "The arguments are nested too deeply."
    if not isinstance(arguments, dict):
        return {}, "The arguments are not a JSON object."
    return arguments, ""


def _checked(block: Block) -> Block:
    """Return a copy of a block at its start. Raise ValueError when a required field is missing."""
    names = ("type", "name") if block.get("type") == "tool_use" else ("type",)
    if not all(isinstance(block.get(name), str) for name in names):
        raise ValueError(f"a block without {' or '.join(names)}")
    if block["type"] != "tool_use":
        return block.copy()
    arguments = block.get("input") or {}
    if not isinstance(arguments, dict):
        raise ValueError("a tool call whose input is no object")
    return {**block, "input": arguments}


def _no_constant(name: str) -> float:
    raise ValueError(f"{name} is not JSON")


def _finite(number: str) -> float:
    """Return the float of `number`. Raise ValueError when it is infinite, which PostgreSQL cannot store in JSON."""
    if not math.isfinite(value := float(number)):
        raise ValueError(f"{number} is too large")
    return value


DECODER = json.JSONDecoder(parse_float=_finite, parse_constant=_no_constant)
