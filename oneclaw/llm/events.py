"""Parse and validate the stream of an answer into typed events."""

import json
import math
from dataclasses import dataclass, field
from typing import Any

from oneclaw.llm.blocks import Block
from oneclaw.llm.failures import (
    AnswerTooLargeError,
    CutOffError,
    ModelRequestError,
    UnreadableAnswerError,
    failure_of_response,
)
from oneclaw.llm.transport import sse
from oneclaw.text import replace_unstorable, replace_unstorable_in_json

# One answer with its thinking and the arguments of its tools. It is twice what 128,000 tokens, the most that can be
# requested, have in plain text, so only a faulty server sends more.
ANSWER_MAX_CHARS = 1_000_000


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


Event = BlockStarted | TextDelta | ThinkingDelta | BlockFinished | Retrying | Finished


@dataclass(slots=True)
class _Open:
    """A block that is not finished."""

    block: Block
    text: list[str] = field(default_factory=list)
    json: list[str] = field(default_factory=list)


class AnswerReader:
    """A parser of the bytes of one answer into events."""

    def __init__(self, model: str) -> None:
        self._parser = sse.EventParser()
        self._open: dict[int, _Open] = {}
        # What the server has said so far: which model answers, and the tokens; another mapping when it says more.
        self.model = model
        self.usage: dict[str, Any] = {}
        self._stop_reason: str | None = None
        self._size = 0
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
        events: list[Event] = []
        try:
            for name, payload in self._parser.feed(data):
                if self.finished or self.failure:
                    break
                self._take(name, payload, events)
        except sse.EventTooLargeError as error:
            self.failure = AnswerTooLargeError(str(error))
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            self.failure = UnreadableAnswerError(f"unreadable event: {error!r}")
        return events

    def close(self) -> None:
        """Note the end of the stream; set `failure` unless the answer is complete."""
        if not self.finished and not self.failure:
            self.failure = CutOffError("the stream ended early")

    def _take(self, name: str, payload: bytes, events: list[Event]) -> None:
        message = DECODER.decode(payload.decode("utf-8", "surrogatepass"))
        kind = message.get("type") or name
        self._size += _characters(kind, message)
        if self._size > ANSWER_MAX_CHARS:
            self.failure = AnswerTooLargeError(f"more than {ANSWER_MAX_CHARS:,} characters")
        elif kind == "content_block_delta":
            self._delta(message["index"], message["delta"], events)
        elif kind == "content_block_start":
            index, block = message["index"], message["content_block"]
            if index in self._open or not isinstance(index, int):
                raise ValueError(f"block {index} was started twice")
            self._open[index] = _Open(_checked(block))
            events.append(BlockStarted(index, _checked(block)))
        elif kind == "content_block_stop":
            events.append(_finish(message["index"], self._open.pop(message["index"])))
        elif kind == "message_start":
            self.model = message["message"].get("model") or self.model
            self.usage = {**self.usage, **(message["message"].get("usage") or {})}
        elif kind == "message_delta":
            self._stop_reason = message["delta"].get("stop_reason") or self._stop_reason
            more = {key: value for key, value in (message.get("usage") or {}).items() if value is not None}
            self.usage = {**self.usage, **more}
        elif kind == "message_stop":
            self._stop(events)
        elif kind == "error":
            self.failure = failure_of_response(200, message)
        # ping and unknown events are ignored.

    def _delta(self, index: int, delta: dict[str, Any], events: list[Event]) -> None:
        growing = self._open[index]
        kind = delta["type"]
        if kind == "text_delta":
            text = replace_unstorable(delta["text"])
            growing.text.append(text)
            last = events[-1] if events else None
            if isinstance(last, TextDelta) and last.index == index:
                events[-1] = TextDelta(index, last.text + text)
            else:
                events.append(TextDelta(index, text))
        elif kind == "input_json_delta":
            growing.json.append(delta["partial_json"])
        elif kind == "thinking_delta":
            growing.text.append(replace_unstorable(delta["thinking"]))
            events.append(ThinkingDelta(index, growing.text[-1]))
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

    def _stop(self, events: list[Event]) -> None:
        if self._open or not self._stop_reason:
            self.failure = CutOffError("the answer was closed before it was whole")
            return
        self.finished = True
        events.append(Finished(self._stop_reason, self.usage, self.model))


def _characters(kind: str, message: dict[str, Any]) -> int:
    """Return how many characters an event adds to the answer."""
    if kind == "content_block_delta":
        if message["delta"]["type"] == "text_delta":
            return len(message["delta"]["text"])
        contents = (part for name, part in message["delta"].items() if name != "type")
        return sum(len(part) if isinstance(part, str) else len(str(part)) for part in contents)
    return len(str(message["content_block"])) if kind == "content_block_start" else 0


def _finish(index: int, growing: _Open) -> BlockFinished:
    block, kind, error = growing.block, growing.block["type"], ""
    if kind == "text":
        block["text"] = (block.get("text") or "") + "".join(growing.text)
    elif kind == "thinking":
        block["thinking"] = (block.get("thinking") or "") + "".join(growing.text)
    elif growing.json:
        block["input"], error = _arguments("".join(growing.json))
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
    names = ("type", "id", "name") if block.get("type") == "tool_use" else ("type",)
    if not all(isinstance(block.get(name), str) for name in names):
        raise ValueError(f"a block without {' or '.join(names)}")
    if block["type"] != "tool_use":
        return block.copy()
    if not isinstance(block.get("input", {}), dict):
        raise ValueError("a tool call whose input is no object")
    return {"input": {}, **block}


def _no_constant(name: str) -> float:
    raise ValueError(f"{name} is not JSON")


def _finite(number: str) -> float:
    """Return the float of `number`. Raise ValueError when it is infinite, which PostgreSQL cannot store in JSON."""
    if not math.isfinite(value := float(number)):
        raise ValueError(f"{number} is too large")
    return value


DECODER = json.JSONDecoder(parse_float=_finite, parse_constant=_no_constant)
