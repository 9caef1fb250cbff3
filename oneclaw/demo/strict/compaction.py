"""Compaction on demand: the checks of a request for a summary, the signed block, and its checks on later requests.

From the pages "Compaction on demand" and "Keep thinking blocks valid", and from the SDK's error types, which name the
codes.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from oneclaw.demo.strict.models import ModelRules
from oneclaw.demo.strict.parts import Part
from oneclaw.demo.strict.refusals import invalid
from oneclaw.demo.strict.signatures import claims_of, short_hash, sign

INSTRUCTIONS_MAX_CHARS = 16_384


def check_compaction(body: Mapping[str, Any], facts: ModelRules) -> None:
    """Raise RefusedError when the body asks for a compaction that cannot be made."""
    if body.get("compaction") is None:
        return
    if not facts.compaction:
        raise invalid("compaction: The `compaction` parameter is not supported for this model.")
    together = {
        "context_management": body.get("context_management"),
        "stop_sequences": body.get("stop_sequences"),
        "output_config.format": (body.get("output_config") or {}).get("format"),
        "tool_choice": (body.get("tool_choice") or {}).get("type") in ("any", "tool"),
    }
    for name, value in together.items():
        if value:
            raise invalid(f"`{name}` cannot be combined with `compaction`.")
    if len(body["compaction"].get("instructions") or "") > INSTRUCTIONS_MAX_CHARS:
        raise invalid(f"compaction.instructions: String should have at most {INSTRUCTIONS_MAX_CHARS} characters")
    if not any(message["role"] in ("user", "assistant") and message.get("content") for message in body["messages"]):
        raise invalid(
            "`messages` holds no `user` or `assistant` content to summarize or adopt.",
            "compaction_nothing_to_summarize",
        )


def check_block(parts: Sequence[Part]) -> None:
    """Raise RefusedError unless there is no signed block, or one, first, and as it was returned."""
    found = [part for part in parts if part.block.get("type") == "compaction" and part.block.get("content") is not None]
    if len(found) > 1:
        raise invalid(
            "`messages` holds more than one `compaction` block with content. Send only the block the conversation "
            "returned last.",
            "compaction_block_ambiguous",
        )
    for part in found:
        if (part.i, part.j) != (0, 0) or part.role == "system":
            raise invalid(
                f"{part.path}: `compaction` block must be sent first, in place of the messages it summarizes; remove "
                "those messages",
                "compaction_block_misplaced",
            )
        claims = claims_of(part.block.get("signature") or "")
        if claims is None or "c" not in claims:
            raise invalid(
                f"{part.path}: The `compaction` block's `signature` does not verify.", "compaction_signature_invalid"
            )
        if claims["c"] != short_hash(part.block["content"]):
            raise invalid(
                f"{part.path}: The `compaction` block's `content` differs from the text its `signature` recorded.",
                "compaction_content_mismatch",
            )
        if part.block.get("tool_changes"):
            raise invalid(
                f"{part.path}: The `compaction` block's `tool_changes` differs from what was returned with the block.",
                "compaction_tool_changes_mismatch",
            )


def signed_block(
    summary: str, parts: Sequence[Part], facts: ModelRules, *, tools: str, system: str, messages: str
) -> dict[str, str]:
    """Return the block of a summary. `tools`, `system` and `messages` are the hashes of what it replaces."""
    claims = {
        "c": short_hash(summary),
        "t": tools,
        "s": system,
        "d": messages,
        "r": parts[-1].role,
        "k": facts.preserved,
    }
    return {"type": "compaction", "content": summary, "signature": sign(claims)}


def start_of(block: Part, parts: Sequence[Part], tools: str, system: str) -> str | None:
    """Return the hash of the messages that the block replaces, so that thinking after it stays valid.

    Return another one when a condition for that is not met: the same `system` and `tools`, a model with preserved
    thinking, and a first kept message of another role than the last one that was summarized.
    """
    claims = claims_of(str(block.block.get("signature") or ""))
    if claims is None or "c" not in claims:
        return None
    following = next((part.role for part in parts if part.section == "messages" and part.path != block.path), None)
    kept = (claims["t"], claims["s"]) == (tools, system) and claims["k"] and following not in (claims["r"], "system")
    return str(claims["d"]) if kept or following is None else short_hash("changed", claims["d"])
