"""The ids of tool calls. A result names its call by the id, so each call of a conversation needs one of its own.

The provider accepts CALL_ID, and no id twice; other servers give numbers, the same id in each answer, long ids that
hold signatures, or none. So a call whose id would not be accepted everywhere gets one of ours, and the server's is kept
with it (Block.server_id), for later requests to that server. Pure.
"""

import re
import uuid
from collections.abc import Iterable, Sequence
from hashlib import blake2b
from typing import Any, cast

from oneclaw.llm.blocks import ApiMessage, ApiTextMessage, Block
from oneclaw.llm.events import BlockFinished, BlockStarted, Event

CALL_ID = re.compile(r"[a-zA-Z0-9_-]{1,64}")
# The size of what identifies a call that was stored with an id that is not accepted.
DIGEST_BYTES = 12

Messages = Sequence[ApiMessage | ApiTextMessage]


class OwnIds:
    """The ids of the calls in one answer to a request with `messages`; `server` identifies the server and the model
    that answer."""

    def __init__(self, messages: Messages, server: str) -> None:
        self._server = server
        self._taken = {block.get("id") for block in _blocks_of(messages) if block["type"] == "tool_use"}
        self._ids: dict[int, str] = {}

    def event(self, event: Event) -> Event:
        """Return `event` with the id of its own that its call has in the conversation."""
        if not isinstance(event, BlockStarted | BlockFinished) or event.block["type"] != "tool_use":
            return event
        received: Any = event.block.get("id")
        if event.index not in self._ids or isinstance(event, BlockStarted):
            self._ids[event.index] = self._own(received)
        own = self._ids[event.index]
        block: Block = {**event.block, "id": own}
        if received != own and isinstance(received, str | int) and received != "":
            block["server_id"] = {"id": received, "server": self._server}
        if isinstance(event, BlockStarted):
            return BlockStarted(event.index, block)
        del self._ids[event.index]
        return BlockFinished(event.index, block, event.error)

    def _own(self, received: object) -> str:
        is_good = isinstance(received, str) and CALL_ID.fullmatch(received) and received not in self._taken
        own = str(received) if is_good else f"toolu_{uuid.uuid4().hex}"
        self._taken.add(own)
        return own


def with_ids_for(messages: Messages, server: str) -> list[ApiMessage | ApiTextMessage]:
    """Return `messages` with the ids by which `server` knows its own calls, and for the others with ids that every
    server accepts; "": no server's own ids are sent. An id that a server gave to several calls is sent for the first
    one."""
    sent = _SentIds(server)
    return [_with_ids(message, sent) for message in messages]


class _SentIds:
    """The ids that the calls of a request are sent with; each call depends only on those before it, so that the next
    request begins with the same bytes."""

    def __init__(self, server: str) -> None:
        self._server = server
        self._sent: set[object] = set()
        self._by_own: dict[str, Any] = {}

    def of_call(self, block: Block) -> Any:
        """Return the id that the next call is sent with."""
        own, theirs = block["id"], block.get("server_id")
        ids: list[Any] = [theirs["id"]] if theirs and self._server and theirs["server"] == self._server else []
        ids += [own] if CALL_ID.fullmatch(own) else []
        free = next((id for id in ids if id not in self._sent), None)
        found = _made_of(own, len(self._sent)) if free is None else free
        self._sent.add(found)
        self._by_own[own] = found
        return found

    def of_result(self, block: Block) -> Any:
        """Return the id of the call that a result is of."""
        own = block["tool_use_id"]
        return self._by_own.get(own) or (own if CALL_ID.fullmatch(own) else _made_of(own, 0))


def _with_ids(message: ApiMessage | ApiTextMessage, sent: _SentIds) -> ApiMessage | ApiTextMessage:
    content = message["content"]
    if isinstance(content, str) or not any(block["type"] in ("tool_use", "tool_result") for block in content):
        return message
    changed: list[Block] = []
    for block in content:
        if block["type"] == "tool_use":
            kept = {name: value for name, value in block.items() if name != "server_id"}
            block = cast(Block, {**kept, "id": sent.of_call(block)})
        elif block["type"] == "tool_result":
            block = cast(Block, {**block, "tool_use_id": sent.of_result(block)})
        changed.append(block)
    return {"role": message["role"], "content": changed}


def _made_of(id: str, count: int) -> str:
    """Return an id that every server accepts for a call that was stored with `id`, the one after `count` others."""
    return "toolu_" + blake2b(f"{id} {count}".encode(errors="replace"), digest_size=DIGEST_BYTES).hexdigest()


def _blocks_of(messages: Messages) -> Iterable[Block]:
    for message in messages:
        if not isinstance(message["content"], str):
            yield from message["content"]
