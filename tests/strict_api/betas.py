"""Which parts of a body need which beta in the header `anthropic-beta`."""

import functools
from collections.abc import Iterator, Mapping
from typing import Any, get_args

from tests.strict_api.refusals import invalid

COMPACTION = "compact-2026-09-04"
THINKING_BINDING = "thinking-binding-controls-2026-08-01"

# The fields of the body, and the betas of which one allows each.
FIELDS = {
    "billing_policy": ("user-profiles-billing-2026-10-01",),
    "compaction": (COMPACTION,),
    "context_management": ("context-management-2025-06-27", "compact-2026-01-12"),
    "fallback_credit_token": ("fallback-credit-2026-07-01", "fallback-credit-2026-06-01"),
    "fallbacks": ("server-side-fallback-2026-07-01", "server-side-fallback-2026-06-01"),
    "mcp_servers": ("mcp-client-2026-09-15", "mcp-client-2025-11-20", "mcp-client-2025-04-04"),
    "thread": ("message-threads-2026-08-12",),
}
# The types of content blocks, likewise.
BLOCKS = {
    "compaction": (COMPACTION, "compact-2026-01-12"),
    "tool_addition": ("mid-conversation-tool-changes-2026-07-01", "inline-tools-2026-09-15"),
    "tool_removal": ("mid-conversation-tool-changes-2026-07-01", "inline-tools-2026-09-15"),
    "mcp_tool_use": FIELDS["mcp_servers"],
    "mcp_tool_result": FIELDS["mcp_servers"],
    "mcp_tool_listing": ("mcp-client-2026-09-15",),
    "advisor_tool_result": ("advisor-tool-2026-03-01",),
    "fallback": FIELDS["fallbacks"],
}
# Names that Claude Code sends beside those of the SDK's list: a server accepts and ignores them.
CLAUDE_CODE = frozenset(
    {
        *("claude-code-20250219", "oauth-2025-04-20", "effort-2025-11-24", "advanced-tool-use-2025-11-20"),
        *("prompt-caching-scope-2026-01-05", "mid-conversation-system-2026-04-07", "per-turn-control-2026-07-01"),
        *("fine-grained-tool-streaming-2025-05-14", "tool-search-tool-2025-10-19", "mcp-servers-2025-12-04"),
    }
)


def betas_of(headers: Mapping[str, str]) -> frozenset[str]:
    """Return the betas that the headers name. Raise RefusedError for one that does not exist."""
    named = frozenset(name for part in headers.get("anthropic-beta", "").split(",") if (name := part.strip()))
    unknown = sorted(named - CLAUDE_CODE - _known()) if named else []
    if unknown:
        values = ", ".join(f"`{name}`" for name in unknown)
        raise invalid(
            f"Unexpected value(s) {values} for the `anthropic-beta` header. Please consult our documentation at "
            "platform.claude.com/docs or try again without the header."
        )
    return named


def check_betas(body: Mapping[str, Any], betas: frozenset[str]) -> None:
    """Raise RefusedError when the body, whose shape is right, has a part of a beta that the header does not name."""
    for field, allowed in FIELDS.items():
        if field in body and not betas.intersection(allowed):
            raise invalid(f"{field}: Extra inputs are not permitted")
    for path, allowed in _parts(body):
        if not betas.intersection(allowed):
            raise invalid(path)


def _parts(body: Mapping[str, Any]) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yield the error and the betas of each part of the body that needs one."""
    thinking = body.get("thinking") or {}
    if "block_binding" in thinking:
        yield f"thinking.{thinking.get('type')}.block_binding: Extra inputs are not permitted", (THINKING_BINDING,)
    if thinking.get("display") == "updates":
        yield "thinking.display: Input should be 'summarized' or 'omitted'", ("thinking-display-updates-2026-08-18",)
    if "task_budget" in (body.get("output_config") or {}):
        yield "output_config.task_budget: Extra inputs are not permitted", ("task-budgets-2026-03-13",)
    for i, message in enumerate(body.get("messages") or ()):
        for field, beta in (
            ("clear_at", "mid-conversation-system-clear-at-2026-08-21"),
            ("output_config", "mid-conversation-output-config-2026-07-01"),
        ):
            if field in message:
                yield f"messages.{i}.{field}: Extra inputs are not permitted", (beta,)
        content = message.get("content")
        for j, block in enumerate(content if isinstance(content, list) else ()):
            if block.get("type") in BLOCKS:
                kind = block["type"]
                yield f"messages.{i}.content.{j}: '{kind}' is not one of the expected content block types", BLOCKS[kind]


@functools.cache
def _known() -> frozenset[str]:
    from anthropic.types import anthropic_beta_param

    return frozenset(name for each in get_args(anthropic_beta_param.AnthropicBetaParam) for name in get_args(each))
