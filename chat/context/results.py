"""Long results of tools: shortened when the model is sent them first; the rest is read with the tool read_result.

The message keeps the whole result. What was sent of it is stored with it, and sent again.
"""

import json
from collections.abc import Collection, Mapping, Sequence

from django.conf import settings
from django.utils.translation import gettext_lazy as _

from chat.context.rounds import text_of_result, with_text
from chat.extensions import Extension, Tool, ToolCall, ToolError, ToolResult, installed, tool_sends_whole
from chat.models import ChatSession, Message
from oneclaw.llm import Block
from oneclaw.llm.estimate import text_tokens
from oneclaw.reasons import Reason

# Above this, the beginning and the end of a result are sent (docs/decisions/context.md).
SENT_MAX_CHARS, SENT_EDGE_CHARS = 4_000, 1_500
# A result of a tool that sends its results whole, and what one call of read_result shows.
WHOLE_MAX_CHARS = 20_000
READ_RESULT = "read_result"
# When the window is nearly full: the least that is sent of a long result, and what the words about the rest take.
FITTED_MIN_CHARS, FITTED_NOTE_CHARS = 400, 200

# {tool_use id: [characters of the beginning, of the end]} of shortened results.
ResultShares = dict[str, list[int]]


def shares_of(content: Sequence[Block], calls: Sequence[Block], offered: Collection[str]) -> ResultShares:
    """Return how much of each result in `content` the model is sent; a result that is missing is sent whole.

    `calls` are the tool_use blocks, `offered` the names of the tools in the request: without read_result, everything is
    sent.
    """
    if not settings.COMPACT_RESULTS or READ_RESULT not in offered:
        return {}
    names = {call["id"]: call["name"] for call in calls}
    shares: ResultShares = {}
    for block in content:
        if block["type"] != "tool_result" or not isinstance(block.get("content"), str):
            continue
        most = WHOLE_MAX_CHARS if tool_sends_whole(names.get(block["tool_use_id"], "")) else SENT_MAX_CHARS
        if len(block["content"]) > most:
            edge = SENT_EDGE_CHARS * most // SENT_MAX_CHARS
            shares[block["tool_use_id"]] = [edge, edge]
    return shares


def fitted(content: Sequence[Block], shares: ResultShares, room_tokens: int, chars_per_token: float) -> ResultShares:
    """Return `shares` with the longest results of `content` shortened further, so that all of them take `room_tokens`
    at most, or as little as they can. Pure."""
    texts = {block["tool_use_id"]: text_of_result(block) for block in sent_results(content, shares) if is_text(block)}
    sizes = {id: text_tokens(text, chars_per_token) for id, text in texts.items()}
    most = evenly_cut(list(sizes.values()), room_tokens)
    found = dict(shares)
    for block in content:
        id = block.get("tool_use_id", "")
        if sizes.get(id, 0) > most:
            chars = max(FITTED_MIN_CHARS, len(texts[id]) * most // sizes[id] - FITTED_NOTE_CHARS)
            if chars < len(texts[id]) - FITTED_NOTE_CHARS:
                found[id] = [chars - chars // 3, chars // 3]
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


def sent_results(content: Sequence[Block], shares: Mapping[str, Sequence[int]]) -> list[Block]:
    """Return the blocks of the results of tools as they are sent. Pure."""
    return [
        with_text(block, shortened_result(block, *shares[block["tool_use_id"]]))
        if block.get("tool_use_id") in shares
        else block
        for block in content
    ]


def shortened_result(block: Block, head: int, tail: int) -> str:
    """Return the beginning and the end of a result, and between them how to read the rest."""
    text, id = text_of_result(block), block["tool_use_id"]
    left_out = len(text) - head - tail
    way = f'{READ_RESULT} with id "{id}" and from {head} shows them'
    return f"{text[:head]}\n\n[… {left_out:,} characters are left out here; {way} …]\n\n{text[-tail:]}"


def read_result(call: ToolCall) -> ToolResult:
    """Return a part of an earlier result of a tool in this conversation. Raise ToolError when there is none."""
    id, start = str(call.input["id"]), int(call.input.get("from", 0))
    rows = call.session.messages.shown().filter(role=Message.Role.TOOL, content__contains=[{"tool_use_id": id}])
    if call.session.is_shared:
        # Earlier ones may be from its owner's memory.
        rows = rows.filter(seq__gt=call.session.shared_seq)
    row = rows.values_list("content", flat=True).first()
    block = next((each for each in row or () if each.get("tool_use_id") == id), None)
    if block is None:
        message = f"There is no result of a call “{id}” in this conversation."
        raise ToolError("unknown_result", message, Reason("call.unknown_result"))
    text = text_of_result(block)
    part = text[start : start + WHOLE_MAX_CHARS - 1_000]
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
            whole=True,
            for_spaces=True,
            offered=has_other_tools,
        )
    ],
)
