"""The rules of parameters: thinking, effort, sampling, tools, and marks of the cache.

From the pages "Errors", "Thinking", "Effort", "Define tools" and "Prompt caching". Assumed: "between_tools" exists on
Sonnet 5.5 only.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from tests.strict_api.models import ADAPTIVE, BETWEEN_TOOLS, DISABLED, ENABLED, ModelRules
from tests.strict_api.parts import Part
from tests.strict_api.refusals import invalid

BUDGET_MIN_TOKENS = 1_024
MARKS_MAX_COUNT = 4
_TOOL_NAME = re.compile(r"[a-zA-Z0-9_-]{1,128}")
_ADVICE = 'Use "thinking.type.adaptive" and "output_config.effort" to control thinking behavior.'


def thinks(body: Mapping[str, Any], facts: ModelRules) -> bool:
    """Return whether the model thinks before it answers this request."""
    kind = (body.get("thinking") or {}).get("type")
    if kind != ENABLED and facts.forced_tools and (body.get("tool_choice") or {}).get("type") in ("any", "tool"):
        return False
    return facts.thinks if kind is None else kind in (ADAPTIVE, ENABLED)


def check_parameters(body: Mapping[str, Any], facts: ModelRules) -> None:
    """Raise RefusedError when a parameter breaks a rule of the model. The shape of the body is right."""
    _check_max_tokens(body, facts)
    _check_thinking(body, facts)
    _check_effort(body, facts)
    _check_sampling(body, facts)
    _check_tools(body.get("tools") or ())
    _check_tool_choice(body, facts)
    if any(not sequence.strip() for sequence in body.get("stop_sequences") or ()):
        raise invalid("stop_sequences: each stop sequence must contain non-whitespace")


def check_marks(parts: Sequence[Part], body: Mapping[str, Any]) -> None:
    """Raise RefusedError for too many marks of the cache, or a long one after a short one."""
    marks = [mark for part in parts for mark in part.marks()]
    if automatic := body.get("cache_control"):
        marks.append(("cache_control", automatic.get("ttl") or "5m"))
    if len(marks) > MARKS_MAX_COUNT:
        raise invalid(f"A maximum of {MARKS_MAX_COUNT} blocks with cache_control may be provided. Found {len(marks)}.")
    short = False
    for path, ttl in marks:
        if short and ttl == "1h":
            raise invalid(
                f"{path}.ttl: a ttl='1h' cache_control block must not come after a ttl='5m' cache_control block. Note "
                "that blocks are processed in the following order: `tools`, `system`, `messages`."
            )
        short = short or ttl == "5m"


def _check_max_tokens(body: Mapping[str, Any], facts: ModelRules) -> None:
    if "max_tokens" not in body:
        return
    asked = body["max_tokens"]
    if asked < 0:
        raise invalid("max_tokens: Input should be greater than or equal to 0")
    if asked > facts.output_tokens:
        raise invalid(
            f"max_tokens: {asked} > {facts.output_tokens}, which is the maximum allowed number of output tokens for "
            f"{body['model']}"
        )


def _check_thinking(body: Mapping[str, Any], facts: ModelRules) -> None:
    thinking = body.get("thinking") or {}
    kind = thinking.get("type")
    if kind is None:
        return
    if kind not in facts.thinking:
        raise invalid(_unsupported(kind, facts))
    if kind == ENABLED:
        budget = thinking["budget_tokens"]
        if budget < BUDGET_MIN_TOKENS:
            raise invalid(
                f"thinking.enabled.budget_tokens: Input should be greater than or equal to {BUDGET_MIN_TOKENS}"
            )
        if "max_tokens" in body and body["max_tokens"] <= budget:
            raise invalid("`max_tokens` must be greater than `thinking.budget_tokens`.")


def _unsupported(kind: str, facts: ModelRules) -> str:
    start = f'"thinking.type.{kind}" is not supported for this model.'
    if kind == ADAPTIVE:
        return "adaptive thinking is not supported on this model"
    if kind == DISABLED and BETWEEN_TOOLS in facts.thinking:
        return f'{start} Use "thinking.type.between_tools" for the lowest thinking setting, or {_ADVICE[4:]}'
    return start if kind == BETWEEN_TOOLS else f"{start} {_ADVICE}"


def _check_effort(body: Mapping[str, Any], facts: ModelRules) -> None:
    effort = (body.get("output_config") or {}).get("effort")
    if effort is None:
        return
    if not facts.efforts:
        raise invalid("This model does not support the effort parameter.")
    kind = (body.get("thinking") or {}).get("type")
    if effort in ("xhigh", "max") and facts.thinks and kind in (DISABLED, BETWEEN_TOOLS):
        raise invalid(
            f"output_config.effort '{effort}' is not supported when thinking is disabled on this model. Use effort "
            "'high' or below, or enable thinking."
        )


def _check_sampling(body: Mapping[str, Any], facts: ModelRules) -> None:
    usual = {"temperature": 1, "top_p": None, "top_k": None}
    changed = [name for name, default in usual.items() if body.get(name, default) != default]
    if changed and not facts.sampling:
        raise invalid(f"`{changed[0]}` is deprecated for this model.")
    if not 0 <= body.get("temperature", 1) <= 1:
        raise invalid("temperature: range: 0..1")
    if thinks(body, facts):
        if "temperature" in changed or "top_k" in changed:
            raise invalid(f"`{changed[0]}` may not be changed when thinking is enabled.")
        if not 0.95 <= body.get("top_p", 1) <= 1:
            raise invalid("`top_p` must be greater than or equal to 0.95 when thinking is enabled.")


def _check_tools(tools: Sequence[Mapping[str, Any]]) -> None:
    names: set[str] = set()
    for j, tool in enumerate(tools):
        if tool.get("type") in (None, "custom"):
            if not _TOOL_NAME.fullmatch(tool["name"]):
                raise invalid(f"tools.{j}.custom.name: String should match pattern '^[a-zA-Z0-9_-]{{1,128}}$'")
            if tool["input_schema"].get("type") != "object":
                raise invalid(f"tools.{j}.custom.input_schema.type: Input should be 'object'")
        if tool.get("name") in names:
            raise invalid("tools: Tool names must be unique.")
        names.add(tool.get("name", ""))


def _check_tool_choice(body: Mapping[str, Any], facts: ModelRules) -> None:
    choice = body.get("tool_choice")
    if choice is None:
        return
    tools = body.get("tools") or ()
    if not tools:
        raise invalid("tool_choice: `tool_choice` may only be specified while providing `tools`.")
    if choice["type"] not in ("any", "tool"):
        return
    manual = (body.get("thinking") or {}).get("type") == ENABLED
    if manual:
        raise invalid("Thinking may not be enabled when tool_choice forces tool use.")
    if not facts.forced_tools:
        raise invalid('tool_choice: type "tool" and "any" are not supported for this model.')
    if choice["type"] == "tool" and choice["name"] not in {tool.get("name") for tool in tools}:
        raise invalid(f"tool_choice.name: Tool '{choice['name']}' not found in provided tools")
