"""A scripted model behind real HTTP, for tests, benchmarks and experiments.

    with ScriptedModel() as model:
        model.script(answer("Hello."), rate_limited(retry_after=1), answer(tool_use("save_memory", {"content": "tea"})))
        …                                       # point ANTHROPIC_BASE_URL at model.url
        assert model.requests[0].body["model"] == "claude-sonnet-5-5"

`python -m tests.scripted --port 9000 --pace 0.02` runs it as a separate process.
"""

import argparse
import collections
import signal
import time
from collections.abc import Callable, Sequence
from typing import Any, Self

from oneclaw.demo.messages_server import MessagesServer, RecordedRequest
from tests.replies import (
    Reply,
    ReplyBlock,
    answer,
    bad_request,
    context_too_long,
    cut,
    ended,
    error,
    garbled,
    html,
    json_reply,
    key_refused,
    overloaded,
    rate_limited,
    recorded,
    reset,
    server_fault,
    spend_limit,
    stalled,
    text,
    thinking,
    tool_use,
    unknown_model,
    whole_block,
)
from tests.strict_api.api import StrictApi
from tests.strict_api.shape import load_shapes

__all__ = [
    "RecordedRequest",
    "Reply",
    "ReplyBlock",
    "ScriptedModel",
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

# The models of its list.
MODELS = ("scripted-large", "scripted-small")
STOP_SIGNALS = {signal.SIGINT, signal.SIGTERM}


def hello(body: dict[str, Any]) -> Reply:
    """Return the default answer when the script has ended."""
    return answer("Hello from the scripted model.")


class ScriptedModel(MessagesServer):
    """A server that answers with the replies of its script in order, and then with `default(body)`."""

    def __init__(
        self,
        *replies: Reply,
        default: Callable[[dict[str, Any]], Reply] = hello,
        port: int = 0,
        api: StrictApi | None = None,
    ) -> None:
        super().__init__(self._reply, port, record=True)
        self.api = api or StrictApi()
        self.default = default
        self._script = collections.deque(replies)

    def script(self, *replies: Reply) -> None:
        """Append replies to the script."""
        self._script.extend(replies)

    @property
    def messages(self) -> list[RecordedRequest]:
        """Return the requests that asked for an answer, oldest first."""
        return [request for request in self.requests if request.path.partition("?")[0] == "/v1/messages"]

    def wait_for(self, count: int, seconds: float = 10.0) -> list[RecordedRequest]:
        """Return the requests for an answer once there are `count`. Raise TimeoutError after `seconds`."""
        deadline = time.monotonic() + seconds
        while len(self.messages) < count:
            if time.monotonic() > deadline:
                raise TimeoutError(f"{len(self.messages)} of {count} requests came within {seconds:g} seconds.")
            time.sleep(0.01)
        return self.messages

    def _reply(self, request: RecordedRequest) -> Reply:
        match request.method, request.path.partition("?")[0].split("/")[1:]:
            case "POST", ["v1", "messages"]:
                return self.api.answer(request.body, request.headers, request.raw, self._next)
            case "POST", ["v1", "messages", "count_tokens"]:
                return self.api.count(request.body, request.headers, request.raw)
            case "GET", ["v1", "models"]:
                return self.api.models(MODELS, request.headers)
            case "GET", ["v1", "models", name]:
                return self.api.model(name, MODELS, request.headers)
        return error(404, "not_found_error", f"Not found: {request.path}")

    def _next(self, body: dict[str, Any]) -> Reply:
        try:
            return self._script.popleft()
        except IndexError:
            return self.default(body)

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *failure: object) -> None:
        self.stop()


def main(arguments: Sequence[str] | None = None) -> None:
    """Run a scripted model until SIGINT or SIGTERM, and print its URL."""
    parser = argparse.ArgumentParser(prog="python -m tests.scripted", description="A model that follows a script.")
    parser.add_argument("--port", type=int, default=0, help="0: a free one, which is printed")
    parser.add_argument("--pace", type=float, default=0.0, help="seconds before each delta")
    parser.add_argument("--first-byte", type=float, default=0.0, help="seconds before the first byte")
    parser.add_argument("--size", type=int, default=8, help="characters of a delta")
    parser.add_argument("--length", type=int, default=800, help="characters of an answer")
    chosen = parser.parse_args(arguments)
    words = ("The quick brown fox jumps over the lazy dog. " * (chosen.length // 45 + 1))[: chosen.length]

    def paced(body: dict[str, Any]) -> Reply:
        return answer(text(words, pace=chosen.pace, size=chosen.size), first_byte=chosen.first_byte)

    # Before the server's thread starts, which inherits the mask: only sigwait receives the signals.
    signal.pthread_sigmask(signal.SIG_BLOCK, STOP_SIGNALS)
    load_shapes()
    with ScriptedModel(default=paced, port=chosen.port) as model:
        print(model.url, flush=True)
        signal.sigwait(STOP_SIGNALS)


if __name__ == "__main__":
    main()
