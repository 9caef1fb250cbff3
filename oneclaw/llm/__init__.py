"""Talk to a server of the Messages API. `from oneclaw import llm` is all that other code needs.

client.py sends requests and is the only importer of the SDK; request.py and blocks.py have their parts; facts.py says
what a model accepts; events.py parses the stream of an answer; compaction.py asks for the summary of a conversation;
failures.py defines the failures.
"""

from oneclaw.llm.blocks import ApiMessage, Block, FileSource, ToolDefinition
from oneclaw.llm.budgets import refuse_if_used_up
from oneclaw.llm.client import complete, complete_sync, count_tokens, load, models, stream, warm_up
from oneclaw.llm.compaction import Compaction, compact, compact_sync
from oneclaw.llm.events import BlockFinished, BlockStarted, Event, Finished, Retrying, TextDelta, ThinkingDelta
from oneclaw.llm.facts import cached_facts, facts_of, prompt_chars
from oneclaw.llm.failures import (
    AddressRefusedError,
    AnswerRefusedError,
    AnswerTooLargeError,
    BadRequestError,
    BudgetUsedUpError,
    CompactionBlockError,
    CompactionRefusedError,
    CompactionUnavailableError,
    CompactionUnsupportedError,
    ContextTooLongError,
    CutOffError,
    EmptyAnswerError,
    KeyRefusedError,
    KeyUnreadableError,
    MemoryStaysHomeError,
    ModelRequestError,
    ModelTimeoutError,
    NoKeyError,
    OverloadedError,
    RateLimitedError,
    ServerFaultError,
    SpendLimitError,
    ThinkingBoundError,
    ToolsWithoutEndError,
    TruncatedAnswerError,
    TurnTimeoutError,
    UnknownModelError,
    UnreachableError,
    UnreadableAnswerError,
)
from oneclaw.llm.known_models import Facts
from oneclaw.llm.request import Request
from oneclaw.llm.server import DEMO_MODEL, is_demo
from oneclaw.llm.upstreams.access import may_use
from oneclaw.llm.upstreams.routes import answers_without_memory
from oneclaw.llm.upstreams.servers import further_labels, prices_on

__all__ = [
    "DEMO_MODEL",
    "AddressRefusedError",
    "AnswerRefusedError",
    "AnswerTooLargeError",
    "ApiMessage",
    "BadRequestError",
    "Block",
    "BlockFinished",
    "BlockStarted",
    "BudgetUsedUpError",
    "Compaction",
    "CompactionBlockError",
    "CompactionRefusedError",
    "CompactionUnavailableError",
    "CompactionUnsupportedError",
    "ContextTooLongError",
    "CutOffError",
    "EmptyAnswerError",
    "Event",
    "Facts",
    "FileSource",
    "Finished",
    "KeyRefusedError",
    "KeyUnreadableError",
    "MemoryStaysHomeError",
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
    "ThinkingBoundError",
    "ThinkingDelta",
    "ToolDefinition",
    "ToolsWithoutEndError",
    "TruncatedAnswerError",
    "TurnTimeoutError",
    "UnknownModelError",
    "UnreachableError",
    "UnreadableAnswerError",
    "answers_without_memory",
    "cached_facts",
    "compact",
    "compact_sync",
    "complete",
    "complete_sync",
    "count_tokens",
    "facts_of",
    "further_labels",
    "is_demo",
    "load",
    "may_use",
    "models",
    "prices_on",
    "prompt_chars",
    "refuse_if_used_up",
    "stream",
    "warm_up",
]
