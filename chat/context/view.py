"""The messages of a request: a projection of the shown rows that only ever grows at its end.

The provider's models sign their thinking together with everything before it, and refuse it when any of that has
changed. So each answer is stored with a digest of what it was made from, and a change is found here, before the
provider refuses the request.
"""

import datetime as dt
import json
import uuid
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Any

from chat.context import per_message
from chat.context.file_shares import Share
from chat.context.files import with_files
from chat.models import Attachment, Head, Message
from oneclaw.llm import ApiMessage, Block

# The blocks that a model signs together with everything before them.
THINKING = ("thinking", "redacted_thinking")
# The key in Message.meta for what of a message was sent first: {"files": [share, …]} of a person's message, and
# {"prefix": digest, "effort": level, if any} of an answer.
META_KEY = "sent"
# The size of a digest in bytes.
DIGEST_BYTES = 16


@dataclass(frozen=True)
class ViewRow:
    """The columns of a message that its part of a request is made of."""

    seq: int
    role: str
    content: list[Block]
    meta: dict[str, Any]
    created_at: dt.datetime
    finished_at: dt.datetime | None
    # The API's token counts of the request that an answer was made by.
    usage: Mapping[str, Any] | None = None

    def sent(self, name: str) -> Any:
        """Return what META_KEY holds under `name`; None when it holds nothing."""
        return self.meta.get(META_KEY, {}).get(name)


COLUMNS = ("seq", "role", "content", "meta", "created_at", "finished_at", "usage")


@dataclass
class View:
    """The messages in the API's form, roles in turn; `digest` identifies them together with the head."""

    messages: list[ApiMessage] = field(default_factory=list)
    digest: str = ""
    # Each row that is sent, with its blocks.
    sent: list[tuple[ViewRow, list[Block]]] = field(default_factory=list)
    # The number of the answer whose thinking was made from something else than what stands before it now; 0: none.
    drifted_seq: int = 0


def view_of(
    head: Head, rows: Iterable[ViewRow], files: Mapping[uuid.UUID, Attachment], thinking_after_seq: int
) -> View:
    """Return the messages for `rows`, the shown and finished ones in order.

    Thinking is sent of answers after `thinking_after_seq` that have a digest. Reads attached files from the disk.
    """
    view, prefix = View(), RequestDigest(head)
    for row in rows:
        role = "assistant" if row.role == Message.Role.ASSISTANT else "user"
        blocks = list(sendable(row, files))
        if role == "assistant" and any(block["type"] in THINKING for block in blocks):
            if not has_thinking_sent(row, thinking_after_seq):
                blocks = [block for block in blocks if block["type"] not in THINKING]
            elif row.sent("prefix") != prefix.digest():
                view.drifted_seq = row.seq
        # An answer that is nothing but thinking is left out.
        if all(block["type"] in THINKING for block in blocks):
            continue
        prefix.add(role, blocks)
        view.sent.append((row, blocks))
        if view.messages and view.messages[-1]["role"] == role:
            view.messages[-1]["content"] += blocks
        else:
            view.messages.append({"role": role, "content": list(blocks)})
    view.digest = prefix.digest()
    return view


def has_thinking_sent(row: ViewRow, thinking_after_seq: int) -> bool:
    """Return whether the thinking of an answer, if it has any, is sent."""
    return row.seq > thinking_after_seq and bool(row.sent("prefix"))


def sendable(row: ViewRow, files: Mapping[uuid.UUID, Attachment]) -> Iterable[Block]:
    """Yield the blocks of one message, without empty text and without thinking that has no signature."""
    if text := per_message.text_of(row.meta):
        yield {"type": "text", "text": text}
    shares: Sequence[Share] = row.sent("files") or ()
    for block in with_files(row.content, shares, files):
        is_unsigned = block["type"] == "thinking" and not block.get("signature")
        if not is_unsigned and (block["type"] != "text" or block["text"].strip()):
            yield block


class RequestDigest:
    """The running digest of a head and of the messages that follow it."""

    def __init__(self, head: Head) -> None:
        self._hash = blake2b(digest_size=DIGEST_BYTES)
        self._add([head.system, head.tools])

    def add(self, role: str, blocks: Sequence[Block]) -> None:
        """Add blocks at the end. Two messages of one role have the same digest as one with the blocks of both."""
        for block in blocks:
            self._add([role, block])

    def digest(self) -> str:
        """Return the digest of what was added so far, in hexadecimal."""
        return self._hash.hexdigest()

    def _add(self, value: object) -> None:
        self._hash.update(json.dumps(value, sort_keys=True, ensure_ascii=False, separators=(",", ":")).encode())
