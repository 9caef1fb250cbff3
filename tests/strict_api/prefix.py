"""The check of what comes before signed thinking, and the signatures of new thinking.

From the pages "Preserved thinking" and "Prefix checks": `system`, `tools` without deferred ones, and every earlier
block must be byte-identical to what they were; marks of the cache, effort and max_tokens do not count, and a string is
the same as one block of text. A leading run of thinking may be left out; thinking between other thinking may not.
Thinking that the model cannot read is dropped silently (models.py says what each one reads). Assumed: blocks of the
answer that thinking is part of may come back with their keys in another order, because the server has sent no bytes of
its own order; from then on their bytes count as well.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tests.strict_api.betas import THINKING_BINDING
from tests.strict_api.compaction import names_up_to, start_of
from tests.strict_api.models import ModelRules, facts_of
from tests.strict_api.parts import Part, canonical
from tests.strict_api.refusals import RefusedError, invalid
from tests.strict_api.signatures import claims_of, short_hash, sign

START = short_hash("start")


@dataclass
class Prefix:
    """What a request says before its answer."""

    model: str
    tools: str
    system: str
    # The hash of all blocks of the messages but thinking, and the hash of the last thinking that was kept.
    messages: str = START
    thinking: str = ""
    # The same of the messages before the newest run of the assistant's, and of that run in canonical form.
    before_answer: str = START
    answer: str = START
    role: str = ""
    # The names of the compaction blocks that took the place of earlier messages one after the other; the last is there.
    compactions: tuple[str, ...] = ()
    # The tokens of the thinking that was kept, by its path.
    tokens: dict[str, int] = field(default_factory=dict)
    # The paths of thinking that the model is not shown, and what the answer says about that.
    dropped: set[str] = field(default_factory=set)
    transformations: list[dict[str, str]] = field(default_factory=list)

    def begin(self, role: str) -> None:
        """Note that a block of `role` comes now."""
        if role != self.role:
            self.role, self.before_answer, self.answer = role, self.messages, START

    def add(self, role: str, data: bytes, canonical: bytes) -> None:
        """Add a block that is not thinking."""
        self.begin(role)
        self.messages = short_hash(self.messages, role, data)
        self.answer = short_hash(self.answer, canonical)

    def sign(self, text: str, tokens: int) -> str:
        """Return the signature of thinking that comes now, and add it."""
        self.begin("assistant")
        claims = {"m": self.model, "t": self.tools, "s": self.system, "d": self.before_answer, "a": self.answer}
        claims["p"] = self.thinking
        compaction = self.compactions[-1] if self.compactions else ""
        signature = sign({**claims, "b": compaction, "n": tokens, "x": short_hash(text) if text else ""})
        self.thinking = short_hash(signature)
        return signature


def check_prefix(body: Mapping[str, Any], parts: Sequence[Part], facts: ModelRules, betas: frozenset[str]) -> Prefix:
    """Return the prefix of the answer. Raise RefusedError when thinking is bound to another one."""
    prefix = Prefix(body["model"], tools_hash(parts), system_hash(parts))
    drops = _drops_mismatches(body)
    for part in parts:
        if part.section != "messages":
            continue
        if part.block["type"] == "compaction":
            prefix.messages = start_of(part, parts, prefix.tools, prefix.system) or prefix.messages
            prefix.compactions = names_up_to(part) or prefix.compactions
            prefix.role = ""
        elif not part.is_thinking:
            prefix.add(part.role, part.data, part.canonical)
        elif facts.described:
            prefix.begin(part.role)
            _check_thinking(part, prefix, facts, betas, drops=drops)
    return prefix


def tools_hash(parts: Sequence[Part]) -> str:
    """Return the hash of the tools that are not deferred."""
    tools = (part for part in parts if part.section == "tools" and not part.block.get("defer_loading"))
    return short_hash(*(part.data for part in tools))


def system_hash(parts: Sequence[Part]) -> str:
    """Return the hash of the system prompt."""
    return short_hash(*(part.data for part in parts if part.section == "system"))


def advance(prefix: Prefix, blocks: Sequence[Mapping[str, Any]]) -> None:
    """Add blocks of an answer to its prefix."""
    for block in blocks:
        prefix.add("assistant", canonical(block), canonical(block))


def _check_thinking(part: Part, prefix: Prefix, facts: ModelRules, betas: frozenset[str], *, drops: bool) -> None:
    signature = str(part.block.get("signature") or part.block.get("data") or "")
    claims = claims_of(signature)
    if claims is None or "d" not in claims or not _has_own_words(part, claims):
        raise invalid(f"{part.path}: Invalid `signature` in `{part.block['type']}` block")
    if not _reads(prefix.model, claims["m"], facts):
        _drop(part, prefix, "model_binding_mismatch", reported=THINKING_BINDING in betas)
        # What counts is what was sent: another model reads it again.
        prefix.thinking = short_hash(signature)
        return
    changed = _changed(claims, prefix) if facts.preserved else ""
    if changed and not drops:
        raise _bound(part, changed, betas)
    if changed:
        _drop(part, prefix, "prefix_binding_mismatch", reported=True)
        return
    prefix.thinking = short_hash(signature)
    prefix.tokens[part.path] = claims["n"]


def _reads(model: str, maker: str, facts: ModelRules) -> bool:
    """Return whether `model` can read the thinking that `maker` has signed; a snapshot's date does not count."""
    return maker == model or any(facts_of(maker) is facts_of(name) for name in facts.reads)


def _has_own_words(part: Part, claims: Mapping[str, Any]) -> bool:
    """Return whether the text is the one that was signed. What is put into omitted thinking is ignored."""
    return not claims["x"] or claims["x"] == short_hash(part.block.get("thinking", ""))


def _changed(claims: Mapping[str, Any], prefix: Prefix) -> str:
    """Return what differs from the prefix that the thinking was made after; "" when nothing does."""
    if claims["t"] != prefix.tools:
        return "`tools`"
    if claims["s"] != prefix.system:
        return "`system`"
    if (claims["d"], claims["a"]) != (prefix.before_answer, prefix.answer) or claims.get("b", "") not in (
        "",
        *prefix.compactions,
    ):
        return "an earlier message"
    # Thinking before it may be missing from the start of the conversation, but not from the middle.
    if prefix.thinking and claims["p"] != prefix.thinking:
        return "an earlier thinking block"
    return ""


def _drop(part: Part, prefix: Prefix, reason: str, *, reported: bool) -> None:
    prefix.dropped.add(part.path)
    if reported:
        prefix.transformations.append({"type": "thinking_dropped", "path": part.path, "reason": reason})


def _bound(part: Part, changed: str, betas: frozenset[str]) -> RefusedError:
    header = (
        ""
        if THINKING_BINDING in betas
        else f" That setting requires the `{THINKING_BINDING}` value in the `anthropic-beta` header."
    )
    return invalid(
        f"{part.path}: Invalid `signature` in `{part.block['type']}` block. The block is bound to a different "
        "conversation. Remove the block, or set `thinking.block_binding.prefix_mismatch_behavior` to "
        f'"drop_block".{header} What changed: {changed}.'
    )


def _drops_mismatches(body: Mapping[str, Any]) -> bool:
    binding = (body.get("thinking") or {}).get("block_binding") or {}
    return binding.get("prefix_mismatch_behavior") == "drop_block"
