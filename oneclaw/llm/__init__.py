"""Talk to a server of the Messages API. `from oneclaw import llm` is all that other code needs.

client.py sends requests and is the only importer of the SDK; events.py parses the stream of an answer; failures.py
defines the failures.
"""

from oneclaw.llm.client import Request, complete, complete_sync, count_tokens, is_demo, load, models, stream, warm
from oneclaw.llm.events import BlockFinished, BlockStarted, Event, Finished, Retrying, TextDelta, ThinkingDelta
from oneclaw.llm.failures import (
    AnswerTooLarge,
    BadRequest,
    ContextTooLong,
    CutOff,
    KeyRefused,
    ModelError,
    ModelFailure,
    NoKey,
    Overloaded,
    RateLimited,
    Refused,
    ServerFault,
    SpendLimit,
    TimedOut,
    TookTooLong,
    UnknownModel,
    Unreachable,
)

__all__ = [
    "AnswerTooLarge",
    "BadRequest",
    "BlockFinished",
    "BlockStarted",
    "ContextTooLong",
    "CutOff",
    "Event",
    "Finished",
    "KeyRefused",
    "ModelError",
    "ModelFailure",
    "NoKey",
    "Overloaded",
    "RateLimited",
    "Refused",
    "Request",
    "Retrying",
    "ServerFault",
    "SpendLimit",
    "TextDelta",
    "ThinkingDelta",
    "TimedOut",
    "TookTooLong",
    "UnknownModel",
    "Unreachable",
    "complete",
    "complete_sync",
    "count_tokens",
    "is_demo",
    "load",
    "models",
    "stream",
    "warm",
]
