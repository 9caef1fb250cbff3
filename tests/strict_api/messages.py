"""The rules of messages: roles, empty content, and pairs of tool calls and results.

From the pages "Errors", "Handle tool calls" and "Working with messages", and from error texts that users of the API
have published. Messages of the same role in a row are allowed; the API reads them as one turn. Assumed: ids of tool
calls are unique in the whole request; text of white space alone is refused everywhere.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tests.strict_api.models import ModelRules
from tests.strict_api.parts import THINKING, blocks_of
from tests.strict_api.refusals import invalid

MESSAGES_MAX_COUNT = 100_000
IMAGE_MAX_CHARS = 10 * 1024 * 1024
IMAGES_MAX_COUNT = 600
_ID = re.compile(r"[a-zA-Z0-9_-]{1,64}")
ONLY_IN = {"tool_use": "assistant", "thinking": "assistant", "redacted_thinking": "assistant", "tool_result": "user"}


@dataclass
class RoleTurn:
    """Consecutive messages of one role, as the API reads them."""

    role: str
    # The index of its first message, and its blocks with their paths.
    index: int
    blocks: list[tuple[str, Mapping[str, Any]]] = field(default_factory=list)


def check_messages(body: Mapping[str, Any], facts: ModelRules, *, thinks: bool) -> None:
    """Raise RefusedError when the messages break a rule. `thinks`: whether the model thinks before it answers."""
    messages = body["messages"]
    if not messages:
        raise invalid("messages: at least one message is required")
    if len(messages) > MESSAGES_MAX_COUNT:
        raise invalid(f"messages: at most {MESSAGES_MAX_COUNT} messages are allowed")
    _check_system(body)
    _check_blocks(messages, facts)
    turns = _turns(messages)
    compacted = any(block["type"] == "compaction" for _, block in turns[0].blocks[:1]) if turns else False
    if not turns or (turns[0].role != "user" and not compacted):
        raise invalid('messages: first message must use the "user" role')
    compacting = body.get("compaction") is not None
    _check_pairs(turns, compacting=compacting)
    if turns[-1].role == "assistant" and not compacting:
        _check_prefill(turns[-1], facts)
    if thinks:
        _check_round(turns)


def _check_system(body: Mapping[str, Any]) -> None:
    if any(not block.get("text") for block in blocks_of(body.get("system") or [])):
        raise invalid("system: text content blocks must be non-empty")


def _check_blocks(messages: Sequence[Mapping[str, Any]], facts: ModelRules) -> None:
    images = 0
    for i, message in enumerate(messages):
        content = message.get("content")
        last = i == len(messages) - 1
        if message["role"] == "system":
            if not facts.system_messages or i == 0:
                raise invalid(f'messages.{i}.role: "system" is not allowed here. Use the top-level `system` parameter.')
        elif not content and not (last and message["role"] == "assistant"):
            raise invalid(
                f"messages.{i}: all messages must have non-empty content except for the optional final assistant "
                "message"
            )
        for j, block in enumerate(blocks_of(content or [])):
            _check_block(f"messages.{i}.content.{j}", message["role"], block)
            images += sum(each.get("type") == "image" for each in (block, *_inside(block)))
    if images > IMAGES_MAX_COUNT:
        raise invalid(f"messages: too many images: {images} > {IMAGES_MAX_COUNT}")


def _check_block(path: str, role: str, block: Mapping[str, Any]) -> None:
    kind = block["type"]
    if role != ONLY_IN.get(kind, role):
        raise invalid(f"{path}: `{kind}` blocks can only be specified in `{ONLY_IN[kind]}` messages")
    for each in (block, *_inside(block)):
        if each.get("type") == "text":
            if each["text"] and not each["text"].strip():
                raise invalid("messages: text content blocks must contain non-whitespace text")
            if not each["text"] and each.get("cache_control"):
                raise invalid(f"{path}: cache_control cannot be set for empty text blocks")
            if not each["text"]:
                raise invalid("messages: text content blocks must be non-empty")
        if each.get("type") == "image" and len(each["source"].get("data") or "") > IMAGE_MAX_CHARS:
            raise invalid(f"{path}.image.source.base64: image exceeds 10 MB maximum")
    if kind == "tool_result" and block.get("is_error") and not block.get("content"):
        raise invalid(f"{path}.tool_result: content cannot be empty if `is_error` is true")
    for name in ("id", "tool_use_id"):
        if name in block and not _ID.fullmatch(block[name]):
            raise invalid(f"{path}.{kind}.{name}: String should match pattern '^[a-zA-Z0-9_-]{{1,64}}$'")


def _inside(block: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """Yield the blocks inside the result of a tool."""
    if block["type"] == "tool_result" and isinstance(block.get("content"), list):
        yield from block["content"]


def _turns(messages: Sequence[Mapping[str, Any]]) -> list[RoleTurn]:
    turns: list[RoleTurn] = []
    for i, message in enumerate(messages):
        if message["role"] == "system":
            continue
        if not turns or turns[-1].role != message["role"]:
            turns.append(RoleTurn(message["role"], i))
        blocks = blocks_of(message.get("content") or [])
        turns[-1].blocks += [(f"messages.{i}.content.{j}", block) for j, block in enumerate(blocks)]
    return turns


def _check_pairs(turns: Sequence[RoleTurn], *, compacting: bool) -> None:
    seen: set[str] = set()
    calls: list[str] = []
    for turn in turns:
        if turn.role == "user":
            _check_results(turn, calls)
            calls = []
            continue
        calls = []
        for path, block in turn.blocks:
            if block["type"] == "tool_use":
                if block["id"] in seen:
                    raise invalid(f"{path}: `tool_use` ids must be unique")
                seen.add(block["id"])
                calls.append(block["id"])
        if turn.blocks and turn.blocks[-1][1]["type"] in THINKING:
            raise invalid(f"messages.{turn.index}: The final block in an assistant message cannot be `thinking`.")
    if calls:
        if compacting:
            raise invalid(
                "The compaction request ends on an `assistant` turn that is not finished.", "compaction_incomplete_turn"
            )
        raise invalid(_unanswered(turns[-1].index, calls))


def _check_results(turn: RoleTurn, calls: Sequence[str]) -> None:
    answered: list[str] = []
    others = False
    for path, block in turn.blocks:
        if block["type"] != "tool_result":
            others = True
            continue
        called = block["tool_use_id"]
        if called not in calls:
            raise invalid(
                f"{path}: unexpected `tool_use_id` found in `tool_result` blocks: {called}. Each `tool_result` block "
                "must have a corresponding `tool_use` block in the previous message."
            )
        if called in answered:
            raise invalid(
                f"{path}: each tool_use must have a single result. Found multiple `tool_result` blocks with id: "
                f"{called}"
            )
        # Results after other content do not count.
        if not others:
            answered.append(called)
    if left := [call for call in calls if call not in answered]:
        raise invalid(_unanswered(turn.index, left))


def _unanswered(index: int, calls: Sequence[str]) -> str:
    return (
        f"messages.{index}: `tool_use` ids were found without `tool_result` blocks immediately after: "
        f"{', '.join(calls)}. Each `tool_use` block must have a corresponding `tool_result` block in the next message."
    )


def _check_prefill(turn: RoleTurn, facts: ModelRules) -> None:
    if not facts.prefill:
        raise invalid(
            "This model does not support assistant message prefill. The conversation must end with a user message."
        )
    text = turn.blocks[-1][1].get("text", "") if turn.blocks else ""
    if text != text.rstrip():
        raise invalid("messages: final assistant content cannot end with trailing whitespace")


def _check_round(turns: Sequence[RoleTurn]) -> None:
    """Refuse a round of tools whose thinking was left out.

    Documented for thinking with a budget. For adaptive thinking the API requires the blocks of the round to come back,
    but does not say that it refuses their absence: assumed.
    """
    if len(turns) < 2 or not any(block["type"] == "tool_result" for _, block in turns[-1].blocks):
        return
    path, first = turns[-2].blocks[0]
    if first["type"] not in THINKING:
        raise invalid(
            f"{path}.type: Expected `thinking` or `redacted_thinking`, but found `{first['type']}`. When `thinking` is "
            "enabled, a final `assistant` message must start with a thinking block (preceeding the lastmost set of "
            "`tool_use` and `tool_result` blocks)."
        )
