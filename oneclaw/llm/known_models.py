"""What the provider's documentation says about each of its models. Pure.

From the pages "Models overview", "Thinking", "Effort", "Compaction", "Search results", "Structured outputs" and the
models' own pages (October 2026). Assumed:
the older tokenizer has 4 characters a token in scripts with words, and the one since Claude 4.7 has 3.1 (the pages say
"about 30 % more tokens"); Claude 3 is treated like 3.5 except for its shorter answers; the Mythos models are like the
Fable models of the same number; models that are newer than the list of "Search results" cite as well.
"""

import functools
import re
from dataclasses import dataclass, replace

ADAPTIVE, BETWEEN_TOOLS, DISABLED, ENABLED = "adaptive", "between_tools", "disabled", "enabled"
# In rising order.
EFFORTS = ("low", "medium", "high", "xhigh", "max")


@dataclass(frozen=True, slots=True)
class Facts:
    """What one model on one server accepts. The defaults are those of a model of which nothing is known."""

    window_tokens: int = 200_000
    max_output_tokens: int = 8_192
    # Of scripts with words; a character of Chinese, Japanese or Korean counts as a token.
    chars_per_token: float = 3.1
    # The accepted values of `thinking.type`. The old form `enabled` is sent only when a setting asks for it.
    thinking: frozenset[str] = frozenset({ENABLED})
    # Whether the model thinks when a request does not say.
    thinks: bool = False
    # Whether `thinking.display` is known.
    displays: bool = False
    # Whether the server checks that nothing before the model's thinking has changed.
    preserved_thinking: bool = False
    # The accepted levels of effort, in rising order.
    efforts: tuple[str, ...] = ()
    # Whether it summarises a conversation on demand, and counts tokens.
    compacts: bool = False
    counts: bool = True
    # Whether it accepts blocks of search results, and cites them by itself.
    cites: bool = False
    # Whether it can be held to the JSON schema of its answer.
    structures: bool = False
    # Whether it is sent the ids that it gave to its own calls of tools; otherwise ids that every server accepts.
    takes_own_ids: bool = True
    # Whether it accepts `cache_control`, its `ttl`, tools, and blocks as the system text.
    caches: bool = True
    caches_long: bool = True
    takes_tools: bool = True
    takes_tool_choice: bool = True
    takes_system_blocks: bool = True
    # Whether it knows the version of the API that the SDK names; otherwise only the first one.
    knows_version: bool = True


UNKNOWN = Facts()
# A model that is newer than this page: since Claude 5.1 all of them verify what stands before their thinking.
UNKNOWN_CLAUDE = replace(UNKNOWN, preserved_thinking=True)

_CLAUDE_3 = Facts(max_output_tokens=4_096, chars_per_token=4.0, thinking=frozenset())
_CLAUDE_4 = Facts(
    max_output_tokens=64_000, chars_per_token=4.0, thinking=frozenset({DISABLED, ENABLED}), displays=True, cites=True
)
_CLAUDE_4_5 = replace(_CLAUDE_4, structures=True)
_CLAUDE_4_6 = replace(
    _CLAUDE_4_5,
    window_tokens=1_000_000,
    max_output_tokens=128_000,
    thinking=frozenset({ADAPTIVE, DISABLED, ENABLED}),
    efforts=("low", "medium", "high", "max"),
    compacts=True,
)
_CLAUDE_4_7 = replace(_CLAUDE_4_6, chars_per_token=3.1, thinking=frozenset({ADAPTIVE, DISABLED}), efforts=EFFORTS)
_CLAUDE_5 = replace(_CLAUDE_4_7, thinks=True)
_ALWAYS_THINKING = replace(_CLAUDE_5, thinking=frozenset({ADAPTIVE}))
_PRESERVED = replace(_CLAUDE_5, preserved_thinking=True)

KNOWN_MODELS: dict[str, Facts] = {
    "claude-3-haiku": _CLAUDE_3,
    "claude-3-sonnet": _CLAUDE_3,
    "claude-3-opus": _CLAUDE_3,
    "claude-3-5-haiku": replace(_CLAUDE_3, max_output_tokens=8_192, cites=True),
    "claude-3-5-sonnet": replace(_CLAUDE_3, max_output_tokens=8_192),
    "claude-3-7-sonnet": _CLAUDE_4,
    "claude-opus-4": replace(_CLAUDE_4, max_output_tokens=32_000),
    "claude-opus-4-0": replace(_CLAUDE_4, max_output_tokens=32_000),
    "claude-opus-4-1": replace(_CLAUDE_4, max_output_tokens=32_000),
    "claude-sonnet-4": _CLAUDE_4,
    "claude-sonnet-4-0": _CLAUDE_4,
    "claude-sonnet-4-5": _CLAUDE_4_5,
    "claude-haiku-4-5": _CLAUDE_4_5,
    "claude-opus-4-5": replace(_CLAUDE_4_5, efforts=("low", "medium", "high")),
    "claude-opus-4-6": _CLAUDE_4_6,
    "claude-sonnet-4-6": _CLAUDE_4_6,
    "claude-opus-4-7": _CLAUDE_4_7,
    "claude-opus-4-8": _CLAUDE_4_7,
    "claude-sonnet-5": _CLAUDE_5,
    "claude-opus-5": _CLAUDE_5,
    "claude-fable-5": _ALWAYS_THINKING,
    "claude-mythos-5": _ALWAYS_THINKING,
    "claude-fable-5-1": replace(_ALWAYS_THINKING, preserved_thinking=True),
    "claude-mythos-5-1": replace(_ALWAYS_THINKING, preserved_thinking=True),
    "claude-fable-5-2": replace(_ALWAYS_THINKING, preserved_thinking=True),
    "claude-mythos-5-2": replace(_ALWAYS_THINKING, preserved_thinking=True),
    "claude-haiku-5-5": _PRESERVED,
    "claude-sonnet-5-5": replace(_PRESERVED, thinking=frozenset({ADAPTIVE, BETWEEN_TOOLS})),
    "claude-opus-5-5": replace(_ALWAYS_THINKING, preserved_thinking=True),
}
# What may follow: the date of a snapshot, "latest", a provider's version, or the mark of a long window.
_SUFFIX = re.compile(r"(-\d{8}|-latest)?([-@:]\S*v\d\S*|@\d{8})?(\[1m\])?")
# What gateways put before the name.
_PREFIX = re.compile(r"^(?:.*[/.])?(?=claude-)")


@functools.lru_cache(maxsize=1024)
def known_facts(model: str) -> Facts:
    """Return what is documented about `model`; cautious defaults when its name is not that of a documented model."""
    name = _PREFIX.sub("", model)
    starts = (start for start in KNOWN_MODELS if name.startswith(start) and _SUFFIX.fullmatch(name[len(start) :]))
    found = max(starts, key=len, default="")
    if found:
        return KNOWN_MODELS[found]
    return UNKNOWN_CLAUDE if name.startswith("claude-") else UNKNOWN


def is_documented(model: str) -> bool:
    """Return whether `model` is one of the documented models."""
    return known_facts(model) not in (UNKNOWN, UNKNOWN_CLAUDE)
