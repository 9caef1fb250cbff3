"""A request to the model, and its parts in the form in which one model on one server accepts it."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.conf import settings

from oneclaw.llm.blocks import ApiMessage, ApiTextMessage, Block, ToolDefinition
from oneclaw.llm.call_ids import with_ids_for
from oneclaw.llm.citations import without_citations
from oneclaw.llm.estimate import estimated_tokens
from oneclaw.llm.facts import REFUSABLE, Refusal
from oneclaw.llm.failures import (
    THOUSANDS,
    BadRequestError,
    CompactionBlockError,
    CompactionRefusedError,
    CompactionUnsupportedError,
    ContextTooLongError,
    ModelRequestError,
    ThinkingBoundError,
)
from oneclaw.llm.known_models import ADAPTIVE, BETWEEN_TOOLS, DISABLED, EFFORTS, ENABLED, UNKNOWN, Facts
from oneclaw.llm.plain import as_plain_messages, as_text, without_cache_marks, without_tools

# The least room for an answer that is asked for, also when the estimate says that the window is full: the server knows.
ANSWER_MIN_TOKENS = 256
# What a short answer is given in addition by a model whose thinking cannot be turned off.
THINKING_ROOM_TOKENS = 4_000
# The share of the window that is left free because the estimate may be too low.
SLACK_SHARE = 0.03
# Effort with which a server accepts that thinking is off.
EFFORT_WITHOUT_THINKING = "high"
# The beta of summaries on demand, for the header of each request that asks for one or sends one back.
COMPACTION_BETA = "compact-2026-09-04"
# The most characters of the instructions for a summary.
INSTRUCTIONS_MAX_CHARS = 16_384
OUTPUT_LIMIT = re.compile(
    r"max_tokens: \d+ > (\d+)|at most (\d+) (?:completion|output)|less than or equal to (\d+)|<= ?(\d+)|\[1, ?(\d+)\]"
)
# How servers say that they do not accept the form of a request, in the order in which it is looked for.
ABOUT_FORM = {
    "cache_ttl": re.compile(r"cache_control\S*ttl|\bttl\b.*cache_control"),
    # Not that there are too many marks, or one in a wrong place: that is a defect of one request.
    "cache": re.compile(r"cache_control(?!.{0,40}(?:may be provided|cannot be set))"),
    "version": re.compile(r"anthropic-version"),
    # Not that a call lacks its result, or a result its call.
    "call_ids": re.compile(
        r"(?:tool_use\W{1,4}id|tool_use_id|tool_call_id|tool call id)(?!s? were found|.{0,20}found in)"
    ),
    "tool_choice": re.compile(r"tool_choice.{0,60}(?:extra inputs|not |unsupported|invalid|should be)"),
    "tools": re.compile(
        r"(?:tools?|tool[ _](?:use|calls?|calling|choice)|function[ _]call(?:s|ing)?)\b.{0,40}"
        r"(?:not (?:supported|permitted|enabled|available|allowed)|unsupported|requires --enable)"
        r"|(?:not|n't) support (?:tool|function)|^tools: extra inputs"
    ),
    "system": re.compile(r"\bsystem\b(?!\S*cache).{0,60}\b(?:str|string)\b"),
}
# The version of the API that every server knows, in place of the one that the SDK names.
FIRST_VERSION = {"anthropic-version": "2023-06-01"}
# Failures that are about the conversation, not about a field.
ABOUT_MESSAGES = (ThinkingBoundError, CompactionBlockError, CompactionRefusedError)
# How a server says that it does not know compaction: it names the field, the header or the type of the block. What it
# says about the instructions is about their text.
ABOUT_COMPACTION = re.compile(r"\bbetas?\b|compaction(?!\.instructions)")


@dataclass(frozen=True)
class Request:
    """A request to the model; all parts in the API's own form, `cache_control` included."""

    model: str
    system: Sequence[Block]
    messages: Sequence[ApiMessage | ApiTextMessage]
    tools: Sequence[ToolDefinition] = ()
    # The most tokens of the answer with its thinking; None: what the model and its window allow.
    max_tokens: int | None = None
    # low, medium, high, xhigh or max; "": that of the settings, or the model's own.
    effort: str = ""
    # Whether the model may think before it answers. False turns thinking off as far as the model allows that.
    thinks: bool = True
    # Identifies system, tools and messages; kept with the answer, and not sent.
    digest: str = ""
    # Whether anything of a person's or a space's memory may be in it, which some servers must not be sent
    # (oneclaw/llm/upstreams). False only where the request was built without.
    holds_memory: bool = True
    # The JSON schema of the answer, where the model can be held to it; others answer as the prompt says.
    schema: Mapping[str, Any] | None = None
    # Instructions for a summary of `messages` that is asked for instead of an answer ("": those of the server), of
    # INSTRUCTIONS_MAX_CHARS at most; None: an answer.
    compaction: str | None = None
    # Whether the model must answer in words, although tools are offered.
    must_answer: bool = False
    # Whether it is sent as text alone, because the server has refused it in its own form.
    is_plain: bool = False
    # Identifies the server and the model that are asked, as they are known there; "" before it is known.
    server: str = ""
    # The label of the model that was chosen, in place of which `model` answers; "" when it is that. Not sent.
    instead_of: str = ""


def parts_of(request: Request, facts: Facts) -> dict[str, Any]:
    """Return the body of `request` with those optional fields that `facts` allow.

    `betas` among them are not of the body: the SDK sends them in a header. Raise CompactionUnsupportedError when the
    request asks for a compaction, or sends back the block of one, and `facts` do not allow that.

    Equal parts have the same bytes: the keys of every object are sorted. A head or message that has just been made has
    them in another order than the one that the database returns later, and servers compare bytes.
    """
    if request.is_plain:
        return _plain_parts(request, facts)
    messages = with_ids_for(request.messages, request.server if facts.takes_own_ids else "")
    if not facts.cites:
        messages = [without_citations(each) for each in messages]
    if not facts.takes_tools:
        messages = without_tools(messages)
    parts: dict[str, Any] = {"model": request.model, "messages": messages}
    if request.compaction is not None or has_compaction_block(request.messages):
        if not facts.compacts:
            raise CompactionUnsupportedError
        parts["betas"] = [COMPACTION_BETA]
    if not facts.knows_version:
        parts["extra_headers"] = FIRST_VERSION
    if request.compaction is not None:
        instructions = {"instructions": request.compaction} if request.compaction.strip() else {}
        parts["compaction"] = {"type": "summarize", **instructions}
    if request.system:
        parts["system"] = list(request.system) if facts.takes_system_blocks else as_text(request.system)
    if request.tools and facts.takes_tools:
        parts["tools"] = list(request.tools)
        if request.must_answer and facts.takes_tool_choice:
            parts["tool_choice"] = {"type": "none"}
    parts["max_tokens"] = _max_tokens(request, parts, facts)
    if thinking := _thinking(request, parts["max_tokens"], facts):
        parts["thinking"] = thinking
    if effort := _effort(request, thinking, facts):
        parts["output_config"] = {"effort": effort}
    if request.schema and facts.structures:
        form = {"type": "json_schema", "schema": dict(request.schema)}
        parts["output_config"] = {**parts.get("output_config", {}), "format": form}
    if not (facts.caches and facts.caches_long):
        marked = {name: parts[name] for name in ("system", "messages", "tools") if name in parts}
        parts |= {name: without_cache_marks(each, only_ttl=facts.caches) for name, each in marked.items()}
    return {name: with_sorted_keys(part) for name, part in parts.items()}


def with_sorted_keys(part: Any) -> Any:
    """Return JSON with the keys of each object sorted."""
    if isinstance(part, dict):
        return {name: with_sorted_keys(part[name]) for name in sorted(part)}
    if isinstance(part, list):
        return [with_sorted_keys(each) for each in part]
    return part


def _plain_parts(request: Request, facts: Facts) -> dict[str, Any]:
    """Return the body of `request` as the simplest server accepts it: text alone."""
    parts: dict[str, Any] = {"model": request.model, "messages": as_plain_messages(request.messages)}
    if not facts.knows_version:
        parts["extra_headers"] = FIRST_VERSION
    if system := as_text(request.system):
        parts["system"] = system
    return {**parts, "max_tokens": _max_tokens(request, parts, facts)}


def counted_parts_of(request: Request, facts: Facts) -> dict[str, Any]:
    """Return the body of a request to count the tokens of `request`."""
    parts = parts_of(request, facts)
    names = ("model", "messages", "system", "tools", "thinking", "betas", "extra_headers")
    return {name: parts[name] for name in names if name in parts}


def may_be_silent(parts: Mapping[str, Any], facts: Facts) -> bool:
    """Return whether the model may think, or write a summary unseen, before or while it answers these parts."""
    if "compaction" in parts:
        return True
    kind = (parts.get("thinking") or {}).get("type")
    return facts.thinks if kind is None else kind in (ADAPTIVE, ENABLED)


def refusal_in(failure: ModelRequestError, parts: Mapping[str, Any], facts: Facts) -> Refusal | None:
    """Return the optional field or the size among `parts` that `failure` names; None when it names none of them."""
    if isinstance(failure, ContextTooLongError):
        return Refusal("window", failure.limit) if failure.limit and failure.limit < facts.window_tokens else None
    if not isinstance(failure, BadRequestError) or isinstance(failure, ABOUT_MESSAGES):
        return None
    words = failure.explanation.lower()
    for feature, pattern in ABOUT_FORM.items():
        if getattr(facts, REFUSABLE[feature]) and pattern.search(words) and _has(parts, feature):
            return Refusal(feature)
    if "betas" in parts and ABOUT_COMPACTION.search(words):
        return Refusal("compacts")
    if facts.cites and ("search_result" in words or "citations" in words):
        return Refusal("cites")
    if words.startswith("messages."):
        # It is about the conversation, not about a field of ours.
        return None
    about_thinking = Refusal(f"thinking.{parts['thinking']['type']}") if "thinking" in parts else None
    if about_thinking and "display" in parts["thinking"] and "display" in words:
        return Refusal("display")
    if about_thinking and words.startswith(("thinking", '"thinking', "`thinking")):
        # Such a sentence may recommend an effort.
        return about_thinking
    if "format" in parts.get("output_config", {}) and re.search(r"output_config\.format|schema|\bstructured", words):
        return Refusal("structures")
    if "output_config" in parts and re.search(r"output_config|\beffort\b", words):
        return Refusal("effort" if "effort" in parts["output_config"] else "structures")
    if about_thinking and "thinking" in words:
        return about_thinking
    if "max_tokens" in words:
        limit = OUTPUT_LIMIT.search(THOUSANDS.sub("", words))
        said = int(next(filter(None, limit.groups()))) if limit else None
        allowed = said or min(UNKNOWN.max_output_tokens, parts.get("max_tokens", 0) // 2)
        return Refusal("max_output", allowed) if ANSWER_MIN_TOKENS <= allowed < parts.get("max_tokens", 0) else None
    return None


def _has(parts: Mapping[str, Any], feature: str) -> bool:
    """Return whether the body has what a refusal of `feature` is about."""
    match feature:
        case "tools" | "tool_choice":
            return feature in parts
        case "system":
            return isinstance(parts.get("system"), list)
        case "cache" | "cache_ttl":
            marked = [parts.get("system"), parts.get("tools"), parts["messages"]]
            return bool(without_cache_marks(marked, only_ttl=feature == "cache_ttl") != marked)
    return True


def has_compaction_block(messages: Sequence[ApiMessage | ApiTextMessage]) -> bool:
    """Return whether one of `messages` holds a summary that a server has signed."""
    contents = (message["content"] for message in messages)
    return any(
        block["type"] == "compaction" for content in contents if not isinstance(content, str) for block in content
    )


def _max_tokens(request: Request, parts: Mapping[str, Any], facts: Facts) -> int:
    allowed = facts.max_output_tokens
    asked = request.max_tokens or settings.MAX_OUTPUT_TOKENS or allowed
    if not request.thinks and facts.thinks and not _off(facts):
        asked += THINKING_ROOM_TOKENS
    most = min(asked, allowed)
    content = [parts.get("system", ""), parts.get("tools", ""), parts["messages"]]
    used = estimated_tokens(content, facts.chars_per_token)
    room = facts.window_tokens - used - int(facts.window_tokens * SLACK_SHARE)
    return min(most, max(room, ANSWER_MIN_TOKENS))


def _thinking(request: Request, max_tokens: int, facts: Facts) -> dict[str, Any] | None:
    """Return the field `thinking`; None to leave it out."""
    if request.thinks:
        display = {"display": "summarized"} if facts.displays else {}
        if ADAPTIVE in facts.thinking:
            return {"type": ADAPTIVE, **display}
        if ENABLED in facts.thinking and 0 < settings.THINKING < max_tokens:
            return {"type": ENABLED, "budget_tokens": settings.THINKING, **display}
        return None
    off = _off(facts)
    return {"type": off} if facts.thinks and off else None


def _off(facts: Facts) -> str:
    """Return the type that turns thinking off; "" when the model has none."""
    return next((kind for kind in (DISABLED, BETWEEN_TOOLS) if kind in facts.thinking), "")


def _effort(request: Request, thinking: Mapping[str, Any] | None, facts: Facts) -> str:
    """Return the highest level of effort up to the wanted one that the model accepts; "" to leave it out."""
    level = request.effort or (settings.EFFORT if request.thinks else "")
    if not request.thinks and facts.thinks:
        if thinking is None:
            # This model always thinks: as little as possible.
            level = EFFORTS[0]
        elif level in EFFORTS:
            level = min(level, EFFORT_WITHOUT_THINKING, key=EFFORTS.index)
    if level not in EFFORTS:
        return ""
    upto = EFFORTS[: EFFORTS.index(level) + 1]
    return next((each for each in reversed(upto) if each in facts.efforts), "")
