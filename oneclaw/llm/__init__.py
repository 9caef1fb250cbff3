"""Talk to a server of the Messages API. `from oneclaw import llm` is all that other code needs.

client.py sends requests and is the only importer of the SDK; blocks.py has the types of their content; events.py parses
the stream of an answer; failures.py defines the failures.
"""

from oneclaw.llm.blocks import ApiMessage, Block, FileSource, ToolDefinition
from oneclaw.llm.client import Request, complete, complete_sync, count_tokens, is_demo, load, models, stream, warm_up
from oneclaw.llm.events import BlockFinished, BlockStarted, Event, Finished, Retrying, TextDelta, ThinkingDelta
from oneclaw.llm.failures import (
    AnswerRefusedError,
    AnswerTooLargeError,
    BadRequestError,
    ContextTooLongError,
    CutOffError,
    KeyRefusedError,
    ModelRequestError,
    ModelTimeoutError,
    NoKeyError,
    OverloadedError,
    RateLimitedError,
    ServerFaultError,
    SpendLimitError,
    TurnTimeoutError,
    UnknownModelError,
    UnreachableError,
    UnreadableAnswerError,
)

__all__ = [
    "AnswerRefusedError",
    "AnswerTooLargeError",
    "ApiMessage",
    "BadRequestError",
    "Block",
    "BlockFinished",
    "BlockStarted",
    "ContextTooLongError",
    "CutOffError",
    "Event",
    "FileSource",
    "Finished",
    "KeyRefusedError",
    "ModelRequestError",
    "ModelTimeoutError",
    "NoKeyError",
    "OverloadedError",
    "RateLimitedError",
    "Request",
    "Retrying",
    "ServerFaultError",
    "SpendLimitError",
    "TextDelta",
    "ThinkingDelta",
    "ToolDefinition",
    "TurnTimeoutError",
    "UnknownModelError",
    "UnreachableError",
    "UnreadableAnswerError",
    "complete",
    "complete_sync",
    "count_tokens",
    "is_demo",
    "load",
    "models",
    "stream",
    "warm_up",
]
