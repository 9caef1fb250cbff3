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
from itertools import chain
from typing import Any

from chat.context import notices, per_message
from chat.context.file_shares import Share
from chat.context.files import with_files
from chat.context.passages import with_search_results
from chat.context.results import sent_results
from chat.context.rounds import NO_ROUNDS, RoundsInView
from chat.models import Attachment, Head, Message
from oneclaw.llm import ApiMessage, Block

# The blocks that a model signs together with everything before them.
THINKING = ("thinking", "redacted_thinking")
# The blocks of an answer that a request may hold: no server accepts others that another one has made up.
ANSWER_BLOCKS = (*THINKING, "text", "tool_use", "compaction")
# The key in Message.meta for what of a message was sent first: {"files": [share, …]} of a person's message, and
# {"notes": [text, …], "day": text} with words of the server before it; of the results of tools {"shares": those of
# chat/context/results.py, "results": those of earlier releases, "cited": the calls whose results are sent as search
# results}; and of an answer {"prefix": digest}, with {"effort": level}
# if there was one, {"thinks": False} if thinking was turned off, and {"rounds": [number, …]} if there were any.
META_KEY = "sent"
# There, of an answer: the lifetime that its request gave to entries of the provider's cache.
CACHE_KEY = "cache"
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
        return self.all_sent.get(name)

    @property
    def all_sent(self) -> Mapping[str, Any]:
        """Return all that META_KEY holds."""
        sent: Mapping[str, Any] = self.meta.get(META_KEY, {})
        return sent


COLUMNS = ("seq", "role", "content", "meta", "created_at", "finished_at", "usage")


@dataclass
class View:
    """The messages in the API's form, roles in turn; `digest` identifies them together with the head."""

    messages: list[ApiMessage] = field(default_factory=list)
    digest: str = ""
    # Each row that is sent, with its blocks.
    sent: list[tuple[ViewRow, list[Block]]] = field(default_factory=list)
    # The number of the answer whose thinking was made from something else than precedes it now; 0: none.
    drifted_seq: int = 0
    # Whether the messages end with results of calls that are sent without the thinking before them. A request to think
    # about them would be refused, as a model that thinks has thought before it calls.
    lacks_thinking: bool = False
    # Whether anything of a memory may be in the messages or in the head.
    holds_memory: bool = True


def view_of(
    head: Head,
    rows: Iterable[ViewRow],
    files: Mapping[uuid.UUID, Attachment],
    thinking_after_seq: int,
    rounds: RoundsInView = NO_ROUNDS,
) -> View:
    """Return the messages for `rows`, the shown and finished ones in order, after those that `rounds` replace.

    Thinking is sent of answers after `thinking_after_seq` that have a digest. Reads attached files from the disk.
    """
    view, prefix = View(), RequestDigest(head)

    def add(role: str, blocks: list[Block]) -> None:
        prefix.add(role, blocks)
        if view.messages and view.messages[-1]["role"] == role:
            view.messages[-1]["content"] += blocks
        else:
            view.messages.append({"role": role, "content": list(blocks)})

    for message in rounds.replacement():
        add(message["role"], message["content"])
    # The last answer, if it is sent without thinking.
    thoughtless: ViewRow | None = None
    for row in rows:
        role = "assistant" if row.role == Message.Role.ASSISTANT else "user"
        blocks = rounds.pruned(list(sendable(row, files, rounds.decisions)))
        if role == "assistant":
            blocks = without_last_thinking(blocks)
            if any(is_thinking(block) for block in blocks):
                if not has_thinking_sent(row, thinking_after_seq):
                    blocks = [block for block in blocks if not is_thinking(block)]
                elif row.seq > rounds.trusted_seq and row.sent("prefix") != prefix.digest():
                    view.drifted_seq = row.seq
        if not blocks:
            continue
        if role == "assistant":
            if not view.messages:
                # As in an imported conversation; the API wants a person's message first.
                add("user", [notices.NO_QUESTION])
            thoughtless, view.lacks_thinking = (None if is_thinking(blocks[0]) else row), False
        elif row.role == Message.Role.TOOL:
            view.lacks_thinking = thoughtless is not None and not thought_nothing(thoughtless)
        elif thoughtless is not None and ends_with_results(view.messages):
            add("assistant", [notices.NO_ANSWER])
            view.lacks_thinking = False
        add(role, blocks)
        view.sent.append((row, blocks))
    view.digest = prefix.digest()
    return view


def has_thinking_sent(row: ViewRow, thinking_after_seq: int) -> bool:
    """Return whether the thinking of an answer, if it has any, is sent."""
    return row.seq > thinking_after_seq and bool(row.sent("prefix"))


def ends_with_results(messages: Sequence[ApiMessage]) -> bool:
    """Return whether the last of `messages` brings the results of calls."""
    return bool(messages) and any(block["type"] == "tool_result" for block in messages[-1]["content"])


def sendable(
    row: ViewRow, files: Mapping[uuid.UUID, Attachment], pruned: Mapping[str, str] | None = None
) -> Iterable[Block]:
    """Yield the blocks of one message, without empty text, and without thinking that has no signature or follows empty
    text or a block of an unknown type: it is signed together with what no request may hold. The results `pruned` are
    shortened afterwards."""
    for note in row.sent("notes") or ():
        yield {"type": "text", "text": note}
    if day := row.sent("day"):
        yield {"type": "text", "text": day}
    if text := per_message.text_of(row.meta):
        yield {"type": "text", "text": text}
    shares: Sequence[Share] = row.sent("files") or ()
    content = sent_results(row.content, row.all_sent) if row.role == Message.Role.TOOL else row.content
    if cited := row.sent("cited"):
        content = with_search_results(content, {id: cited[id] for id in cited if id not in (pruned or ())})
    shown = with_files(content, shares, files, per_message.names_in(row.meta))
    yield from sendable_blocks(shown, is_of_answer=row.role == Message.Role.ASSISTANT)


def sendable_blocks(blocks: Iterable[Block], *, is_of_answer: bool) -> Iterable[Block]:
    """Yield those of `blocks` that a request may hold, as `sendable` says."""
    after_empty = False
    for block in blocks:
        is_unknown = is_of_answer and block["type"] not in ANSWER_BLOCKS
        if is_unknown or (block["type"] == "text" and not block["text"].strip()):
            after_empty = True
        elif not is_thinking(block) or not (after_empty or is_unsigned(block)):
            yield block


def without_last_thinking(blocks: list[Block]) -> list[Block]:
    """Return the blocks of an answer up to the last one that is not thinking: the API refuses thinking at the end."""
    while blocks and is_thinking(blocks[-1]):
        blocks = blocks[:-1]
    return blocks


def is_thinking(block: Block) -> bool:
    """Return whether a model has signed `block` together with everything before it."""
    return block["type"] in THINKING


def is_unsigned(block: Block) -> bool:
    """Return whether `block` is thinking that was cut off, or whose signature was removed."""
    return block["type"] == "thinking" and not block.get("signature")


def thought_nothing(row: ViewRow) -> bool:
    """Return whether the model chose not to think before this answer, although the request allowed it."""
    allowed = row.sent("prefix") and row.sent("thinks") is not False
    return bool(allowed) and not any(is_thinking(block) for block in row.content)


class RequestDigest:
    """The running digest of a head and of the messages that follow it."""

    def __init__(self, head: Head) -> None:
        self._hash = blake2b(digest_size=DIGEST_BYTES)
        self._add(head.system, as_json(head.tools))

    def add(self, role: str, blocks: Sequence[Block]) -> None:
        """Add blocks at the end. Two messages of one role have the same digest as one with the blocks of both."""
        for block in blocks:
            texts = {name: value for name, value in block.items() if isinstance(value, str)}
            if len(texts) == len(block):
                # Faster than JSON, which counts in long conversations.
                self._add(role, str(len(block)), *chain.from_iterable(sorted(texts.items())))
            else:
                self._add(role, "json", as_json(block))

    def digest(self) -> str:
        """Return the digest of what was added so far, in hexadecimal."""
        return self._hash.hexdigest()

    def _add(self, *parts: str) -> None:
        # No part has the separator: the database stores no text with it.
        self._hash.update("\0".join((*parts, "")).encode())


def as_json(value: object) -> str:
    """Return `value` as JSON that is the same for equal values."""
    return json.dumps(value, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
