"""Read our own export (docs/export.md), written by this or an earlier version.

The file may have been edited: content that is not valid in our tables is left out here.
"""

import math
import re
import uuid
from collections.abc import Callable, Mapping
from typing import Any

from chat.context import notices
from chat.models import Rating
from chat.transfer.importing.conversation import (
    Conversation,
    Said,
    attached,
    branch,
    listing,
    mapping,
    moment,
    newest,
    plain,
    spoken,
    words,
)
from chat.transfer.importing.reasons import NotImportableError
from chat.turns.tools import as_stored
from oneclaw.llm import Block
from oneclaw.reasons import Param, Reason, verbatim, wordings

FORMAT, VERSION = "oneclaw.conversation", 1
ROLES = {"user", "assistant", "tool", "notice"}
# A status of its own has only what is finished; what ran when it was exported ended there.
STATUSES = {"complete": "complete", "stopped": "stopped", "interrupted": "interrupted", "failed": "failed"}
MODES = {"agent": "agent", "chat": "chat", "temporary": "chat"}
# Outside of a space, nothing is left of the choice to read only its memory.
MEMORIES = {"own": "own", "space": "none", "none": "none"}
# What the model's server accepts as id and name of a tool call.
TOOL_ID, TOOL_NAME = re.compile(r"[\w-]{1,100}", re.ASCII), re.compile(r"[\w-]{1,64}", re.ASCII)
MAX_LINES = 100
# Parameters of a reason.
MAX_PARAMS = 10


# Returns the block for the file with an id and a name that came with the conversation; None when it did not.
FileBlock = Callable[[str, str], Block | None]


def no_file(id: str, name: str) -> None:
    """Return None: a conversation alone brings no files."""


def conversation(value: Mapping[str, Any], file_block: FileBlock = no_file) -> Conversation:
    """Return the conversation of `value`, the whole file. Raise NotImportableError when it is invalid."""
    if not isinstance(value.get("version"), int) or value["version"] > VERSION:
        raise NotImportableError("newer")
    listed = [each for each in listing(value.get("messages")) if mapping(each).get("role") in ROLES]
    messages: list[Said] = []
    indexes: dict[int, int | None] = {}
    shown: set[int] = set()
    # Indexes of messages that follow a person's message, and of those whose calls have their results.
    asked: set[int] = set()
    answered: set[int] = set()
    left_out = 0
    for each in listed:
        before = each.get("parent")
        parent = indexes.get(before) if isinstance(before, int) else None
        if each["role"] == "notice" and (parent is None or each.get("content") != [notices.CONTINUE]):
            # A file brings no other words of the server: what follows them follows the message before.
            indexes[number(each)] = parent
            continue
        said, left = message(each, parent, file_block)
        left_out += left
        if said.role == "tool":
            if parent is None or parent not in asked or parent in answered or not fits(messages[parent], said):
                # Results without their calls: what follows them follows what they would have followed.
                indexes[number(each)] = parent
                continue
            answered.add(parent)
        indexes[number(each)] = index = len(messages)
        if said.role == "user" or parent in asked:
            asked.add(index)
        if each.get("shown") is not False:
            shown.add(index)
        messages.append(said)
    drop_open_calls(messages, answered)
    last = max(shown, default=None)
    return Conversation(
        origin=origin(value),
        title=words(value.get("title")),
        messages=messages,
        shown=branch(messages, newest(messages) if last is None else last),
        created_at=moment(value.get("created_at")),
        active_at=moment(value.get("active_at")),
        archived=value.get("archived") is True,
        pinned=value.get("pinned") is True,
        folder=words(value.get("folder"), 60),
        agent=words(value.get("agent"), 80),
        mode=MODES.get(words(value.get("mode")), "agent"),
        memory=MEMORIES.get(words(value.get("memory")), "all"),
        left_out=left_out,
    )


def origin(value: Mapping[str, Any]) -> str:
    """Return the first origin of a conversation, which may have been imported before it was exported."""
    named = words(value.get("origin"))
    if named:
        return named
    try:
        return f"oneclaw:{uuid.UUID(words(value.get('id')))}"
    except ValueError:
        return "oneclaw:"


def number(value: Mapping[str, Any]) -> int:
    """Return the number of a message in the file; -1 when it has none."""
    seq = value.get("seq")
    return seq if isinstance(seq, int) else -1


def message(value: Mapping[str, Any], parent: int | None, file_block: FileBlock = no_file) -> tuple[Said, int]:
    """Return one message, and the number of files left out."""
    role, content, left_out = value["role"], [], 0
    for block in listing(value.get("content")):
        is_file = mapping(block).get("type") == "attachment"
        id, name = (words(mapping(block).get(key)) for key in ("id", "name"))
        file = file_block(id, name) if is_file and role == "user" and id else None
        content += [file] if file else block_of(mapping(block), role)
        left_out += is_file and not file
    error = mapping(value.get("error"))
    said = Said(
        role=role,
        parent=parent,
        content=content,
        created_at=moment(value.get("created_at")),
        finished_at=moment(value.get("finished_at")),
        status=STATUSES.get(words(value.get("status")), "interrupted") if role == "assistant" else "complete",
        model=words(value.get("model"), 100),
        stop_reason=words(value.get("stop_reason"), 40),
        usage=usage_of(mapping(value.get("usage"))),
        cards=cards_of(mapping(value.get("cards"))) if role == "tool" else {},
        error_code=words(error.get("code"), 40),
        error=reason_of(error.get("reason")) or verbatim(words(error.get("text"), 500)),
        rating=rating_of(mapping(value.get("rating"))) if role == "assistant" else None,
        apart=value.get("apart") is True,
    )
    return said, left_out


def rating_of(value: Mapping[str, Any]) -> tuple[bool, str] | None:
    good = value.get("good")
    return (good, plain(value.get("reason"))[: Rating.REASON_MAX_CHARS]) if isinstance(good, bool) else None


def usage_of(value: Mapping[str, Any]) -> dict[str, int] | None:
    return {key[:40]: count for key, count in list(value.items())[:20] if type(count) is int} or None


def block_of(block: Mapping[str, Any], role: str) -> list[Block]:
    """Return the block as it is stored; [] for one that is not allowed there, such as thoughts."""
    kind, identity = block.get("type"), block.get("tool_use_id" if role == "tool" else "id")
    if role == "tool":
        if kind != "tool_result" or not isinstance(identity, str) or not TOOL_ID.fullmatch(identity):
            return []
        result: Block = {"type": "tool_result", "tool_use_id": identity, "content": plain(block.get("content"))}
        return [result | {"is_error": True} if block.get("is_error") is True else result]
    if kind == "text":
        return spoken(plain(block.get("text")))
    if kind == "attachment":
        return spoken(attached(block.get("name")))
    name = block.get("name")
    if kind != "tool_use" or role != "assistant" or not isinstance(identity, str) or not isinstance(name, str):
        return []
    if not TOOL_ID.fullmatch(identity) or not TOOL_NAME.fullmatch(name):
        return []
    return [{"type": "tool_use", "id": identity, "name": name, "input": dict(mapping(block.get("input")))}]


def cards_of(value: Mapping[str, Any]) -> dict[str, Any]:
    """Return the cards of tool results, without undo, which belongs to the memory in which it was saved."""
    return {identity: card_of(card) for identity, card in value.items() if isinstance(card, dict)}


def card_of(card: Mapping[str, Any]) -> dict[str, Any]:
    seconds, said = card.get("seconds"), mapping(card.get("reasons")) or card
    return {
        "state": "failed" if card.get("state") == "failed" else "done",
        "summary": as_stored(reason_of(said.get("summary")) or words(said.get("summary"), 300)),
        "lines": [as_stored(reason_of(line) or plain(line)[:1000]) for line in listing(said.get("lines"))[:MAX_LINES]],
    } | ({"seconds": seconds} if isinstance(seconds, int | float) and math.isfinite(seconds) else {})


def reason_of(value: object) -> Reason | None:
    """Return the exported reason with the parameters that are allowed; None when there is none."""
    found = Reason.of(value)
    if found is None or found.code not in wordings or len(found.params) > MAX_PARAMS:
        return None
    return Reason(found.code, {name: param_of(param) for name, param in found.params.items()})


def param_of(value: object) -> Param:
    if isinstance(value, list):
        return [words(each) for each in value[:MAX_PARAMS]]
    if type(value) is int and abs(value) < 2**53:
        return value
    return plain(value)[:1000]


def fits(calling: Said, results: Said) -> bool:
    """Return whether `results` are those of exactly the calls of `calling`. Add a card where it is missing."""
    called = calling.tool_ids("tool_use", "id")
    brought = results.tool_ids("tool_result", "tool_use_id")
    if not called or sorted(called) != sorted(brought) or len(set(called)) != len(called):
        return False
    results.cards = {each: results.cards.get(each, {"state": "done", "summary": "", "lines": []}) for each in called}
    return True


def drop_open_calls(messages: list[Said], answered: set[int]) -> None:
    """Remove tool calls without a result from their messages."""
    for index, said in enumerate(messages):
        if index not in answered:
            said.content = [block for block in said.content if block["type"] != "tool_use"]
