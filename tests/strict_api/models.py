"""The models of the strict server: what each accepts, and how the API describes it.

From the provider's pages "Thinking", "Errors", "Prompt caching" and the models' own pages: the kinds of thinking that a
model accepts and its default, windows and output limits, which models refuse forced tools, a prefilled answer and
sampling parameters, the least length of a cached prefix, the default effort, and whose thinking each reads. Haiku 5.5
takes forced tools, and does not think then. Assumed: what is not said of a Mythos model is what the Fable model of the
same number has.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

ALL_EFFORTS = ("low", "medium", "high", "xhigh", "max")
ADAPTIVE, BETWEEN_TOOLS, DISABLED, ENABLED = "adaptive", "between_tools", "disabled", "enabled"


@dataclass(frozen=True)
class ModelRules:
    """What one model accepts. The defaults are those of a model without a description: it does not think."""

    window_tokens: int = 1_000_000
    output_tokens: int = 128_000
    # The types of thinking that it accepts, and whether it thinks when a request does not say.
    thinking: frozenset[str] = frozenset({ADAPTIVE, DISABLED, ENABLED})
    thinks: bool = False
    # Whether the API checks that nothing before its thinking has changed.
    preserved: bool = False
    # Whether its answers bring the text of its thinking unless the request says otherwise.
    summarized: bool = False
    forced_tools: bool = True
    prefill: bool = False
    sampling: bool = True
    efforts: tuple[str, ...] = ALL_EFFORTS
    # The effort of a request that names none.
    effort: str = "high"
    # Further models whose thinking it reads, and so checks; its own it always reads.
    reads: frozenset[str] = frozenset()
    system_messages: bool = True
    compaction: bool = True
    cached_tokens: int = 1_024
    # Whether input and max_tokens together must fit into the window.
    reserves_output: bool = False
    described: bool = True


def _five(*thinking: str, thinks: bool = True, preserved: bool = True, **others: Any) -> ModelRules:
    return ModelRules(thinking=frozenset(thinking), thinks=thinks, preserved=preserved, **{"sampling": False, **others})


def _four(*thinking: str, **others: Any) -> ModelRules:
    return ModelRules(
        thinking=frozenset(thinking), summarized=True, **{"system_messages": False, "cached_tokens": 4_096, **others}
    )


_SMALL: dict[str, Any] = {
    "window_tokens": 200_000,
    "output_tokens": 64_000,
    "prefill": True,
    "compaction": False,
}

_OLDER = frozenset(
    {
        *("claude-sonnet-5", "claude-opus-4-8", "claude-opus-4-7", "claude-opus-4-6", "claude-sonnet-4-6"),
        *("claude-opus-4-5", "claude-sonnet-4-5", "claude-haiku-4-5", "claude-opus-4-1"),
    }
)
_UP_TO_FIVE = _OLDER | {"claude-opus-5", "claude-fable-5", "claude-mythos-5"}
_UP_TO_HAIKU = _OLDER | {"claude-haiku-5-5"}
_FABLE: dict[str, Any] = {"forced_tools": False, "cached_tokens": 512, "reads": _UP_TO_FIVE | {"claude-opus-5-5"}}

MODELS: dict[str, ModelRules] = {
    "claude-fable-5-2": _five(ADAPTIVE, **_FABLE),
    "claude-mythos-5-2": _five(ADAPTIVE, **_FABLE),
    "claude-fable-5-1": _five(ADAPTIVE, **_FABLE),
    "claude-mythos-5-1": _five(ADAPTIVE, **{**_FABLE, "reads": _FABLE["reads"] | {"claude-fable-5-1"}}),
    "claude-opus-5-5": _five(ADAPTIVE, forced_tools=False, cached_tokens=512, effort="medium", reads=_UP_TO_HAIKU),
    "claude-sonnet-5-5": _five(ADAPTIVE, BETWEEN_TOOLS, forced_tools=False, cached_tokens=512, reads=_UP_TO_HAIKU),
    "claude-haiku-5-5": _five(ADAPTIVE, DISABLED, cached_tokens=512, effort="medium"),
    "claude-fable-5": _five(ADAPTIVE, preserved=False, cached_tokens=512),
    "claude-mythos-5": _five(ADAPTIVE, preserved=False, cached_tokens=512),
    "claude-opus-5": _five(ADAPTIVE, DISABLED, preserved=False, cached_tokens=512),
    "claude-sonnet-5": _five(ADAPTIVE, DISABLED, preserved=False, system_messages=False),
    "claude-opus-4-8": _five(ADAPTIVE, DISABLED, thinks=False, preserved=False),
    "claude-opus-4-7": _five(
        ADAPTIVE, DISABLED, thinks=False, preserved=False, system_messages=False, cached_tokens=2_048
    ),
    "claude-opus-4-6": _four(ADAPTIVE, DISABLED, ENABLED),
    "claude-sonnet-4-6": _four(ADAPTIVE, DISABLED, ENABLED, cached_tokens=1_024),
    "claude-opus-4-5": _four(DISABLED, ENABLED, **_SMALL),
    "claude-sonnet-4-5": _four(DISABLED, ENABLED, **_SMALL, efforts=(), cached_tokens=1_024),
    "claude-haiku-4-5": _four(DISABLED, ENABLED, **_SMALL, efforts=()),
    "claude-opus-4-1": _four(
        DISABLED,
        ENABLED,
        **{**_SMALL, "output_tokens": 32_000},
        efforts=(),
        cached_tokens=1_024,
        reserves_output=True,
    ),
}

UNDESCRIBED = ModelRules(described=False)


def facts_of(name: str, models: Mapping[str, ModelRules] = MODELS) -> ModelRules:
    """Return the facts of the model `name`, which may end with the date of a snapshot."""
    if name in models:
        return models[name]
    undated, _, date = name.rpartition("-")
    return models.get(undated, UNDESCRIBED) if len(date) == 8 and date.isdigit() else UNDESCRIBED


def model_info(name: str, facts: ModelRules, *, plain: bool, compaction: bool) -> dict[str, Any]:
    """Return how the models endpoint describes a model. A plain server says its name only."""
    info: dict[str, Any] = {
        "type": "model",
        "id": name,
        "display_name": name,
        "created_at": "2026-01-01T00:00:00Z",
    }
    if plain:
        return info
    return {
        **info,
        "lifecycle": "active",
        "line": next((line for line in ("haiku", "sonnet", "opus", "fable", "mythos") if f"-{line}-" in name), None),
        "deprecated_at": None,
        "retires_at": None,
        "max_input_tokens": facts.window_tokens,
        "max_tokens": facts.output_tokens,
        "capabilities": _capabilities(facts, compaction),
    }


def _capabilities(facts: ModelRules, compaction: bool) -> dict[str, Any]:
    yes, no = {"supported": True}, {"supported": False}
    types = (ADAPTIVE, BETWEEN_TOOLS, DISABLED, ENABLED)
    capabilities: dict[str, Any] = {
        **dict.fromkeys(
            ("batch", "citations", "code_execution", "image_input", "pdf_input", "structured_outputs"), yes
        ),
        "context_management": {
            "supported": True,
            "clear_thinking_20251015": yes,
            "clear_tool_uses_20250919": yes,
            "compact_20260112": yes if facts.compaction else no,
        },
        "effort": _supported(ALL_EFFORTS, facts.efforts),
        "server_tools": _supported(("code_execution", "web_search"), ("code_execution", "web_search")),
        "thinking": {
            "supported": bool(facts.thinking - {DISABLED}),
            "types": {kind: yes if kind in facts.thinking else no for kind in types},
        },
    }
    if compaction:
        capabilities["compaction"] = _supported(("summarize",), ("summarize",) if facts.compaction else ())
    return capabilities


def _supported(names: Sequence[str], supported: Sequence[str]) -> dict[str, Any]:
    return {"supported": bool(supported), **{name: {"supported": name in supported} for name in names}}
