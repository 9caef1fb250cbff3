"""Long results of tools: shortened when the model is sent them first; the rest is read by the address of the result.

The message keeps the whole result. What was sent of it is stored with it, and sent again.
"""

import json
import re
from collections.abc import Collection, Mapping, Sequence
from textwrap import TextWrapper
from typing import Any, NotRequired, TypedDict

from django.conf import settings
from django.utils.translation import gettext_lazy as _

from chat.context.rounds import text_of_result, with_text
from chat.extensions import (
    Extension,
    Tool,
    ToolCall,
    ToolError,
    ToolResult,
    installed,
    memory,
    reader_of_results,
    tool_named,
)
from chat.models import ChatSession, Message
from oneclaw.llm import Block
from oneclaw.llm.estimate import text_tokens
from oneclaw.reasons import Reason

# Above this, a part of a result is sent (docs/decisions/summaries.md): whole elements of its list or, where not one
# fits, its beginning and its end.
SENT_MAX_CHARS, SENT_EDGE_CHARS = 4_000, 1_500
# A result of a tool that sends its results whole.
WHOLE_MAX_CHARS = 20_000
# What one call of a reading tool shows: with its frame it is never shortened itself.
READ_MAX_CHARS = SENT_MAX_CHARS - 500
# A line of a result as it is read; a longer one is shown as several.
LINE_MAX_CHARS = 1_000
# What the words about the elements that are left out take.
LEFT_OUT_MAX_CHARS = 250
READ_RESULT = "read_result"
ADDRESS = re.compile(r"/results/([^/\s]+)")
# When the window is nearly full: the least that is sent of a long result, and what the words about the rest take.
FITTED_MIN_CHARS, FITTED_NOTE_CHARS = 400, 200

# {tool_use id: [characters of the beginning, of the end]} of results that earlier releases shortened.
EarlierShares = Mapping[str, Sequence[int]]


class ResultShare(TypedDict):
    """How much of a long result the model is sent: the first `kept` elements of its list, or the characters of its
    beginning and of its end (`edges`). It reads the rest with `tool`."""

    tool: str
    kept: NotRequired[int]
    edges: NotRequired[list[int]]


# By tool_use id.
ResultShares = dict[str, ResultShare]


def address_of(id: str) -> str:
    """Return the address of the result of the call `id`."""
    return f"/results/{id}"


def shares_of(content: Sequence[Block], calls: Sequence[Block], offered: Collection[str]) -> ResultShares:
    """Return how much of each result in `content` the model is sent; a result that is missing is sent whole.

    `calls` are the tool_use blocks, `offered` the names of the tools in the request: without one that reads results,
    everything is sent.
    """
    tool = reader_of_results(offered) if settings.COMPACT_RESULTS else ""
    if not tool:
        return {}
    names = {call["id"]: call["name"] for call in calls}
    shares: ResultShares = {}
    for block in content:
        if block["type"] != "tool_result" or not isinstance(block.get("content"), str):
            continue
        most = WHOLE_MAX_CHARS if tool_named(names.get(block["tool_use_id"], "")).whole else SENT_MAX_CHARS
        if len(block["content"]) <= most:
            continue
        edge = SENT_EDGE_CHARS * most // SENT_MAX_CHARS
        shares[block["tool_use_id"]] = share_within(block["content"], tool, most - LEFT_OUT_MAX_CHARS, [edge, edge])
    return shares


def share_within(text: str, tool: str, most: int, edges: list[int]) -> ResultShare:
    """Return how much of the result `text` is sent: the elements of its list that fit into `most` characters, or its
    `edges` where not one does."""
    if kept := elements_within(text, most):
        return {"tool": tool, "kept": kept}
    return {"tool": tool, "edges": edges}


def sent_results(content: Sequence[Block], sent: Mapping[str, Any]) -> list[Block]:
    """Return the blocks of the results of tools as they are sent; `sent` is what is stored with their message about
    that. Pure."""
    earlier: EarlierShares = sent.get("results") or {}
    shares: ResultShares = sent.get("shares") or {}
    return [_as_sent(block, earlier, shares) for block in content]


def fitted(
    content: Sequence[Block],
    shares: ResultShares,
    offered: Collection[str],
    room_tokens: int,
    chars_per_token: float,
) -> ResultShares:
    """Return `shares` with the longest results of `content` shortened further, so that all of them take `room_tokens`
    at most, or as little as they can; `offered` as in `shares_of`."""
    tool = reader_of_results(offered) or READ_RESULT
    sent = sent_results(content, {"shares": shares})
    texts = {block["tool_use_id"]: text_of_result(block) for block in sent if is_text(block)}
    sizes = {id: text_tokens(text, chars_per_token) for id, text in texts.items()}
    most = evenly_cut(list(sizes.values()), room_tokens)
    found = dict(shares)
    for block in content:
        id = block.get("tool_use_id", "")
        if sizes.get(id, 0) > most:
            chars = max(FITTED_MIN_CHARS, len(texts[id]) * most // sizes[id] - FITTED_NOTE_CHARS)
            if chars < len(texts[id]) - FITTED_NOTE_CHARS:
                found[id] = share_within(text_of_result(block), tool, chars, [chars - chars // 3, chars // 3])
    return found


def evenly_cut(sizes: Sequence[int], room: int) -> int:
    """Return the most that each of `sizes` may have, so that together they fit into `room`. Pure."""
    left, count = max(room, 0), len(sizes)
    for size in sorted(sizes):
        if size * count > left:
            return left // count
        left, count = left - size, count - 1
    return max(sizes, default=0)


def is_text(block: Block) -> bool:
    """Return whether `block` is the result of a tool that is only text."""
    return block["type"] == "tool_result" and isinstance(block.get("content"), str)


def _as_sent(block: Block, earlier: EarlierShares, shares: ResultShares) -> Block:
    id = block.get("tool_use_id") or ""
    if id in earlier:
        head, tail = earlier[id]
        return with_text(block, with_edges(block, head, tail, f'{READ_RESULT} with id "{id}" and from {head}'))
    if id in shares:
        return with_text(block, shortened_result(block, shares[id]))
    return block


def shortened_result(block: Block, share: ResultShare) -> str:
    """Return the part of a result that `share` says, with how to read the rest."""
    text, tool, id = text_of_result(block), share["tool"], block["tool_use_id"]
    if "edges" in share:
        head, tail = share["edges"]
        return with_edges(block, head, tail, way_to(tool, id, text, text[:head]))
    name, value = list_in(text) or ("", {})
    elements = value.get(name, [])
    kept = {**value, name: elements[: share["kept"]]}
    # Up to the line break before the next element.
    way = way_to(tool, id, text, json.dumps(kept, ensure_ascii=False, indent=1).rpartition("\n ]")[0] + "\n")
    return json.dumps(
        {**kept, "left_out": f"{len(elements) - share['kept']} more: {way} shows them"}, ensure_ascii=False
    )


def way_to(tool: str, id: str, text: str, before: str) -> str:
    """Return how `tool` reads the result of the call `id`, whose `text` is sent up to the end of `before`, from there
    on."""
    if tool == READ_RESULT:
        return f'{tool} with id "{id}" and from {len(before) if text.startswith(before) else 0}'
    line = len(lines_of_text(before))
    return f'{tool} with path "{address_of(id)}" and from_line {line}'


def with_edges(block: Block, head: int, tail: int, way: str) -> str:
    """Return the beginning and the end of a result, and between them how to read the rest."""
    text = text_of_result(block)
    left_out = len(text) - head - tail
    return f"{text[:head]}\n\n[… {left_out:,} characters are left out here; {way} shows them …]\n\n{text[-tail:]}"


def list_in(text: str) -> tuple[str, dict[str, Any]] | None:
    """Return the name of the list of objects in a result, and the JSON object that the result is; None when it is
    another thing, or has not exactly one list."""
    try:
        value: dict[str, Any] = json.loads(text) if text.startswith("{") else {}
    except ValueError:
        return None
    names = [name for name, part in value.items() if isinstance(part, list)]
    if len(names) != 1 or not all(isinstance(each, dict) for each in value[names[0]]):
        return None
    return names[0], value


def elements_within(text: str, most: int) -> int:
    """Return how many elements of the list in a result fit into `most` characters with the rest of it; 0 when it has no
    list."""
    name, value = list_in(text) or ("", {})
    left = most - len(json.dumps({**value, name: []}, ensure_ascii=False))
    for number, each in enumerate(value.get(name, [])):
        left -= len(json.dumps(each, ensure_ascii=False)) + 2
        if left < 0:
            return number
    return len(value.get(name, []))


def lines_of(text: str) -> list[str]:
    """Return the lines of a result as its address gives them: a JSON object with a list has one for each field."""
    found = list_in(text)
    return lines_of_text(json.dumps(found[1], ensure_ascii=False, indent=1) if found else text)


def lines_of_text(text: str) -> list[str]:
    """Return the lines of `text`; one that is longer than LINE_MAX_CHARS is several."""
    wrapper = TextWrapper(LINE_MAX_CHARS, expand_tabs=False, replace_whitespace=False, drop_whitespace=False)
    return [part for line in text.split("\n") for part in wrapper.wrap(line) or [""]]


def text_of_call(session: ChatSession, id: str) -> str:
    """Return the whole result of the call `id` of `session`. Raise ToolError when there is none, or none that its owner
    may still read."""
    rows = session.messages.shown().filter(role=Message.Role.TOOL, content__contains=[{"tool_use_id": id}])
    if session.is_shared:
        # Earlier ones may be from its owner's memory.
        rows = rows.filter(seq__gt=session.shared_seq)
    # The newest one: a server may give an id again once a summary has replaced the call that had it.
    row = rows.select_related("parent").order_by("seq").last()
    found = [text_of_result(block) for block in row.content if block.get("tool_use_id") == id] if row else []
    if row is None or not found or is_of_lost_memory(session, row, id, found[0]):
        message = f"There is no result of a call “{id}” in this conversation."
        raise ToolError("unknown_result", message, Reason("call.unknown_result"))
    return found[0]


def is_of_lost_memory(session: ChatSession, row: Message, id: str, text: str) -> bool:
    """Return whether `text`, the result of the call `id` in `row`, is of a memory that the owner of `session` may not
    read any more (chat/context/lost.py leaves it out of requests)."""
    uses = row.parent.tool_uses() if row.parent else []
    names = [use["name"] for use in uses if use["id"] == id]
    is_of_memory = not names or any(tool_named(name).about_memory for name in names)
    return is_of_memory and bool(memory().lost_addresses(session, memory().addresses_in(text)))


def read_result(call: ToolCall) -> ToolResult:
    """Return a part of an earlier result of a tool in this conversation. Raise ToolError when there is none."""
    id, start = str(call.input["id"]), int(call.input.get("from", 0))
    text = text_of_call(call.session, id)
    part = text[start : start + (READ_MAX_CHARS if settings.COMPACT_RESULTS else WHOLE_MAX_CHARS - 1_000)]
    following = start + len(part)
    content = {"text": part, "from": start, "total": len(text), "next": following if following < len(text) else None}
    return ToolResult(json.dumps(content, ensure_ascii=False), Reason("call.read_result", {"size": len(part)}))


def has_other_tools(session: ChatSession) -> bool:
    """Return whether an app brings a tool whose results `session` could read."""
    others = (tool for each in installed() for tool in each.tools if tool.name != READ_RESULT)
    return any(tool.for_spaces or not session.is_shared for tool in others)


CHAT = Extension(
    name="chat",
    tools=[
        # Where no tool of another app reads results.
        Tool(
            READ_RESULT,
            "Read on in a long result of a tool that this conversation has shown only in part.",
            {
                "type": "object",
                "properties": {
                    "id": {"type": "string", "minLength": 1, "description": "The id of the call."},
                    "from": {"type": "integer", "minimum": 0, "description": "The first character to show."},
                },
                "required": ["id"],
                "additionalProperties": False,
            },
            read_result,
            label=_("Read long results"),
            headings={
                "running": _("Reading the rest of a long result …"),
                "done": _("Read the rest of a long result"),
                "failed": _("Could not read the rest of a long result"),
            },
            for_spaces=True,
            offered=has_other_tools,
            reads_results=True,
            is_spare=True,
            only_reads=True,
        )
    ],
)
