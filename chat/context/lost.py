"""Leave out what the owner of a conversation may not read any more, such as the memory of a space that they have left.

The rows keep what was sent: who is a member again is sent and shown it again. What is left out is decided for each
request from the addresses of the pieces (chat.extensions.ContextItem) and of the results of tools, and a sentence with
the count is in its place.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from chat import extensions
from chat.context import notices, per_message
from chat.context.results import ADDRESS
from chat.context.view import META_KEY, ViewRow
from chat.extensions import ContextItem
from chat.models import ChatSession, Head
from chat.models.heads import SECTION_BREAK
from oneclaw.llm import Block
from oneclaw.llm.citations import uncited

# The key in Message.meta of what was left out when the model was sent the message last: {"items": count,
# "calls": [tool_use id, …]}; in a row, of what is left out now, and WAS_KEY has what was left out before.
LOST_KEY, WAS_KEY = per_message.LOST_KEY, "lost_before"
# What a result that is shown of others is of its own: the shares and marks of what it was.
OF_RESULTS = ("results", "shares", "cited")


@dataclass(frozen=True)
class LostParts:
    """The addresses that may not be read, and the ids of the calls whose results name one of them."""

    addresses: frozenset[str] = frozenset()
    calls: frozenset[str] = frozenset()


def readable_rows(session: ChatSession, rows: Sequence[ViewRow]) -> list[ViewRow]:
    """Return `rows` of `session` without what its owner may not read any more."""
    lost = lost_parts(session, rows)
    if not lost.addresses and not any(row.meta.get(LOST_KEY) for row in rows):
        return list(rows)
    return [readable_row(row, lost) for row in rows]


def lost_parts(session: ChatSession, rows: Sequence[ViewRow]) -> LostParts:
    """Return what of `rows` the owner of `session` may not read. Queries only where something is not their own."""
    of_calls = dict(addresses_of_results(rows))
    items = {item["path"] for row in rows for item in items_in(row.meta)}
    named = items.union(*of_calls.values()) if of_calls else items
    lost = extensions.memory().lost_addresses(session, named)
    return LostParts(frozenset(lost), frozenset(call for call, found in of_calls.items() if found & lost))


def items_in(meta: Mapping[str, Any]) -> Iterator[ContextItem]:
    """Yield the pieces of all extensions in `meta`, a Message.meta."""
    for items in meta.get(per_message.META_KEY, {}).values():
        yield from items


def addresses_of_results(rows: Sequence[ViewRow]) -> Iterator[tuple[str, set[str]]]:
    """Yield the id of each call of a tool of memory in `rows`, with the addresses that its result names; a part of an
    earlier result also has those of the whole."""
    calls = {block["id"]: block for row in rows for block in row.content if block["type"] == "tool_use"}
    results = (block for row in rows for block in row.content if block["type"] == "tool_result")
    named: dict[str, set[str]] = {}
    for block in results:
        id = block["tool_use_id"]
        if id not in calls or not extensions.tool_named(calls[id]["name"]).about_memory:
            continue
        earlier = ADDRESS.fullmatch(str((calls[id].get("input") or {}).get("path")))
        found = extensions.memory().addresses_in(str(block.get("content", "")))
        named[id] = found | (named.get(earlier[1], set()) if earlier else set())
        if named[id]:
            yield id, named[id]


def readable_row(row: ViewRow, lost: LostParts) -> ViewRow:
    """Return `row` without what is `lost`, and with what is left out in its meta. Pure."""
    context = row.meta.get(per_message.META_KEY, {})
    kept = {name: [item for item in items if item["path"] not in lost.addresses] for name, items in context.items()}
    count = sum(len(items) for items in context.values()) - sum(len(items) for items in kept.values())
    calls = [block["tool_use_id"] for block in row.content if is_lost(block, lost)]
    now = {"items": count, "calls": calls} if count or calls else {}
    meta = {**row.meta, LOST_KEY: now, WAS_KEY: row.meta.get(LOST_KEY, {})}
    if count:
        meta[per_message.META_KEY] = kept
    if calls:
        sent = dict(row.meta.get(META_KEY, {}))
        for name in OF_RESULTS:
            if isinstance(sent.get(name), dict):
                sent[name] = {call: value for call, value in sent[name].items() if call not in calls}
        meta[META_KEY] = sent
    return replace(row, meta=meta, content=[readable_block(block, lost) for block in row.content])


def is_lost(block: Block, lost: LostParts) -> bool:
    """Return whether `block` is the result of a call that may not be read. Pure."""
    return block["type"] == "tool_result" and block["tool_use_id"] in lost.calls


def readable_block(block: Block, lost: LostParts) -> Block:
    """Return `block` without a citation, or a sentence in the place of a result that may not be read. Pure."""
    if is_lost(block, lost):
        return {"type": "tool_result", "tool_use_id": block["tool_use_id"], "content": notices.LOST_RESULT}
    return uncited(block) if lost.addresses else block


def changed_metas(rows: Sequence[ViewRow]) -> dict[int, dict[str, Any]]:
    """Return what is left out of those of `rows`, by number, of which something else was left out before. Pure."""
    changed = ((row.seq, row.meta.get(LOST_KEY, {})) for row in rows if WAS_KEY in row.meta)
    before = {row.seq: row.meta[WAS_KEY] for row in rows if WAS_KEY in row.meta}
    return {seq: now for seq, now in changed if now != before[seq]}


def readable_head(session: ChatSession, head: Head) -> Head:
    """Return `head`, or an unsaved one without the sections that quote what the owner may not read any more."""
    quoted = {name: {item["path"] for item in items} for name, items in head.context.items()}
    lost = extensions.memory().lost_addresses(session, set().union(*quoted.values()) if quoted else set())
    if not lost:
        return head
    holding = {name for name, paths in quoted.items() if paths & lost}
    count = sum(1 for items in head.context.values() for item in items if item["path"] in lost)
    sentence = notices.LOST_SECTION.format(count=count)
    owners = {
        section.name for each in extensions.installed() if each.name in holding for section in each.prompt_sections
    }
    texts = [(name, sentence if name in owners or not head.sections else text) for name, text in head.section_texts()]
    shown = Head(session=head.session, number=head.number, reason=head.reason, tools=head.tools, pk=head.pk)
    shown.system = SECTION_BREAK.join(text for _, text in texts)
    shown.sections = [[name, len(text)] for name, text in texts] if head.sections else []
    return shown
