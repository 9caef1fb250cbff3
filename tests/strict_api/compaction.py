"""Compaction on demand: the checks of a request for a summary, the signed block, and its checks on later requests.

From the pages "Compaction on demand", "Compaction in the background" and "Compaction and preserved thinking", and from
the SDK's error types, which name the codes. Assumed: the words of the refusals of `task_budget`, of the threshold on a
request with a signed block, and of a signature under the beta of the threshold; `encrypted_content` is not returned
here, so it cannot be sent back; the server's own prompt has 500 tokens. Left out: the most tools that a block can
record, a number that is not documented.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from tests.strict_api.betas import COMPACTION
from tests.strict_api.models import ModelRules
from tests.strict_api.parts import Part
from tests.strict_api.refusals import invalid
from tests.strict_api.signatures import claims_of, short_hash, sign
from tests.strict_api.tokens import text_tokens

INSTRUCTIONS_MAX_CHARS = 16_384
OWN_PROMPT_TOKENS = 500
THRESHOLD_EDIT = "compact_20260112"


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
        "output_config.task_budget.remaining": _has_remaining_budget(body),
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


def check_block(body: Mapping[str, Any], parts: Sequence[Part], betas: frozenset[str]) -> None:
    """Raise RefusedError unless there is no signed block, or one, first, and as it was returned."""
    found = [part for part in parts if part.block.get("type") == "compaction" and part.block.get("content") is not None]
    for part in found:
        if not part.block["content"]:
            raise invalid(f"{part.path}.compaction.content: String should have at least 1 character")
        if "signature" in part.block and COMPACTION not in betas:
            raise invalid(f"{part.path}.compaction.signature: Extra inputs are not permitted")
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
        if part.block.get("tool_changes") is not None:
            raise invalid(
                f"{part.path}: The `compaction` block's `tool_changes` differs from what was returned with the block.",
                "compaction_tool_changes_mismatch",
            )
        if part.block.get("encrypted_content") is not None:
            raise invalid(
                f"{part.path}: The `compaction` block's `signature` does not verify.", "compaction_signature_invalid"
            )
        _check_together(body)


def _check_together(body: Mapping[str, Any]) -> None:
    """Raise RefusedError when the body has what cannot be sent with a signed block."""
    edits = (body.get("context_management") or {}).get("edits") or ()
    if any(edit.get("type") == THRESHOLD_EDIT for edit in edits):
        raise invalid(f"`{THRESHOLD_EDIT}` cannot be combined with a signed `compaction` block.")
    if _has_remaining_budget(body):
        raise invalid("`output_config.task_budget.remaining` cannot be combined with a `compaction` block.")


def _has_remaining_budget(body: Mapping[str, Any]) -> bool:
    return ((body.get("output_config") or {}).get("task_budget") or {}).get("remaining") is not None


def prompt_tokens(body: Mapping[str, Any]) -> int:
    """Return the tokens of the prompt for a summary; blank instructions count as absent."""
    instructions = body["compaction"].get("instructions") or ""
    return text_tokens(instructions) if instructions.strip() else OWN_PROMPT_TOKENS


def signed_block(
    summary: str,
    parts: Sequence[Part],
    facts: ModelRules,
    *,
    tools: str,
    system: str,
    messages: str,
    before: Sequence[str],
) -> dict[str, str]:
    """Return the block of a summary.

    `tools`, `system` and `messages` are the hashes of what it replaces, and `before` names the blocks that stood in its
    place one after the other.
    """
    claims = {
        "b": list(before),
        "c": short_hash(summary),
        "t": tools,
        "s": system,
        "d": messages,
        "r": parts[-1].role,
        "k": facts.preserved,
    }
    return {"type": "compaction", "content": summary, "signature": sign(claims)}


def names_up_to(block: Part) -> tuple[str, ...]:
    """Return the names of the blocks that stood in the place of this one, and its own. Thinking is bound to the block
    before it, and stays valid after those that replace that."""
    signature = str(block.block.get("signature") or "")
    claims = claims_of(signature)
    return () if claims is None or "c" not in claims else (*claims["b"], short_hash(signature))


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
