"""Export a conversation piece by piece: as JSON with everything (docs/export.md), or as Markdown for reading."""

import datetime as dt
import json
import re
import unicodedata
from collections.abc import Iterator
from typing import Any

from django.db.models import QuerySet
from django.utils import timezone, translation

from chat import extensions
from chat.conversations.shown import read_with_authors
from chat.models import ChatSession, MemoryChoice, Message
from chat.rendering import citations, thoughts
from chat.rendering.shown import ShownMessage
from chat.transfer import link_copies
from chat.transfer.importing.own import FORMAT, VERSION
from oneclaw.reasons import Reason

# Messages of one piece.
PIECE_MESSAGES = 50
# Characters of a file's name without its ending.
NAME_MAX_CHARS = 80
# Characters that Windows, macOS or Linux does not allow in a name.
NOT_IN_NAMES = re.compile(r'[<>:"/\\|?*]')
# Unicode categories: control characters, marks that change the direction of text, and unassigned characters.
INVISIBLE = {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}

Pieces = Iterator[str]


def paged(messages: QuerySet[Message]) -> Iterator[ShownMessage]:
    """Yield the messages in order, each page of them from its own query."""
    listed, after = messages.select_related("turn", "parent", "rating").order_by("seq"), 0
    while found := read_with_authors(listed.filter(seq__gt=after)[:PIECE_MESSAGES]):
        yield from map(for_readers, found)
        after = found[-1].message.seq


def for_readers(shown: ShownMessage) -> ShownMessage:
    """Return a message as everybody who sees it may read it: without what came from a memory before it was shared."""
    message = shown.message
    if shown.hides_memory:
        sources = message.meta.get(citations.SOURCES_KEY) or {}
        message.content = [uncited(block, sources) for block in message.content if not is_hidden(block)]
        calls, cards = {use["id"] for use in message.tool_uses()}, message.meta.get("cards", {})
        shown_cards = {id: card for id, card in cards.items() if id in calls}
        message.meta = {**message.meta, "cards": shown_cards, citations.SOURCES_KEY: {}}
    return shown


def uncited(block: dict[str, Any], sources: citations.Sources) -> dict[str, Any]:
    """Return a block without what it cites of a memory, and without the thoughts in a text."""
    if block["type"] != "text":
        return block
    return {"type": "text", "text": citations.without_marks(thoughts.parted(block["text"])[1], sources)}


def is_hidden(block: dict[str, Any]) -> bool:
    """Return whether `block` may hold something of its owner's memory."""
    if block["type"] == "tool_use":
        return not extensions.tool_named(block["name"]).is_for_others
    return block["type"] in ("thinking", "redacted_thinking", "tool_result", "compaction")


def as_json(session: ChatSession, *, with_file_ids: bool = False) -> Pieces:
    """Yield the JSON of a conversation: all branches, statuses, ratings and tool calls, without the context from
    memory. `with_file_ids`: files keep their ids, because the archive of an account has the files too."""
    head = {
        "format": FORMAT,
        "version": VERSION,
        "exported_at": written(timezone.now()),
        "id": str(session.pk),
        "origin": session.origin or f"oneclaw:{session.pk}",
        "title": session.title,
        "mode": session.mode,
        **({"memory": session.memory} if session.memory != MemoryChoice.ALL else {}),
        "agent": session.agent.name,
        "folder": session.folder.name if session.folder and not session.is_shared else None,
        "archived": session.archived_at is not None and not session.is_shared,
        "pinned": session.pinned_at is not None and not session.is_shared,
        "created_at": written(session.created_at),
        "active_at": written(session.active_at),
    }
    yield json.dumps(head, ensure_ascii=False, indent=1)[: -len("\n}")] + ',\n "messages": ['
    separator = "\n"
    for shown in paged(session.messages.all()):
        # What its owner thinks of an answer is not for the other members.
        is_rating_shown = with_file_ids or not session.is_shared
        exported = message_of(shown, with_file_ids=with_file_ids, is_rating_shown=is_rating_shown)
        yield separator + json.dumps(exported, ensure_ascii=False)
        separator = ",\n"
    yield "\n]}\n"


def message_of(shown: ShownMessage, *, with_file_ids: bool, is_rating_shown: bool) -> dict[str, Any]:
    """Return one message as docs/export.md describes it. Empty values are left out."""
    message = shown.message
    exported: dict[str, Any] = {
        "seq": message.seq,
        "parent": message.parent.seq if message.parent else None,
        "shown": message.active,
        "role": message.role,
        "status": message.status,
        "created_at": written(message.created_at),
        "content": message.content if with_file_ids else [block_of(block) for block in message.content],
    }
    if message.is_apart:
        exported["apart"] = True
    if shown.author:
        exported["author"] = shown.author.name
    if message.finished_at:
        exported["finished_at"] = written(message.finished_at)
    if cards := message.meta.get("cards"):
        exported["cards"] = {identity: card_of(card) for identity, card in cards.items()}
    for name in ("model", "stop_reason", "usage"):
        if value := getattr(message, name):
            exported[name] = value
    rating = getattr(message, "rating", None)
    if rating and is_rating_shown:
        exported["rating"] = {"good": rating.is_good, "reason": rating.reason}
    if message.status == Message.Status.FAILED and message.turn:
        reason = message.turn.error
        exported["error"] = {"code": message.turn.error_code, "text": reason.in_english if reason else ""}
        if reason:
            exported["error"]["reason"] = reason.as_json
    return exported


def block_of(block: dict[str, Any]) -> dict[str, Any]:
    """Return the block for the export; a file has only its name, because its id has no meaning outside."""
    return {name: value for name, value in block.items() if name != "id"} if block["type"] == "attachment" else block


def card_of(card: dict[str, Any]) -> dict[str, Any]:
    """Return the card without its undo, which leads into the memory of this person. The words are English; a reason has
    its code too, so that it can be shown in another language."""
    exported: dict[str, Any] = {name: card[name] for name in ("state", "seconds") if name in card}
    summary, lines = card.get("summary", ""), card.get("lines", [])
    exported |= {"summary": said(summary), "lines": [said(line) for line in lines]}
    if any(Reason.of(text) for text in (summary, *lines)):
        exported["reasons"] = {"summary": summary, "lines": lines}
    return exported


def said(text: object) -> str:
    """Return a summary or line of a card in English."""
    reason = Reason.of(text)
    return str(text) if reason is None else reason.in_english


def as_markdown(session: ChatSession) -> Pieces:
    """Yield the shown messages as Markdown: one section for each message, one line for each tool call."""
    local = session.owner.local
    begun, last = local(session.created_at), local(session.active_at)
    yield f"# {one_line(session.name)}\n\n"
    times = f"{begun:%Y-%m-%d %H:%M} to {last:%Y-%m-%d %H:%M} ({session.owner.zone.key})"
    yield f"*With {one_line(session.agent.name)}, {times}*\n"
    hidden = session.messages.said().filter(active=False).count()
    if hidden:
        yield f"\n*{hidden} more messages stand on other branches; the export as JSON has them.*\n"
    cards: dict[str, Any] = {}
    waiting: list[ShownMessage] = []
    for shown in paged(session.messages.shown()):
        message = shown.message
        # The results of an answer's calls come with the message after it.
        if message.role == Message.Role.TOOL:
            cards = message.meta.get("cards", {})
        if not message.is_said:
            continue
        yield from (section(before, session, cards) for before in waiting)
        waiting, cards = [shown], {}
    yield from (section(before, session, cards) for before in waiting)


def section(shown: ShownMessage, session: ChatSession, cards: dict[str, Any]) -> str:
    message = shown.message
    by_person = message.role == Message.Role.USER
    name = "You" if by_person else one_line(session.agent.name)
    if shown.author:
        name = one_line(shown.author.name)
    is_relayed = by_person and not message.is_by_person
    if is_relayed:
        name = "Another conversation" if message.origin_id else "By itself"
        if message.meta["by"] == link_copies.BY_COPY:
            name = "Another person"
    parts = [f"\n## {name}, {session.owner.local(message.created_at):%Y-%m-%d %H:%M}\n"]
    marks = citations.Marks(message.meta.get(citations.SOURCES_KEY) or {}, None)
    content = [{"type": "text", "text": message.text}] if is_relayed else message.content
    for block in content if by_person else citations.marked_texts(content):
        if block["type"] == "text":
            parts.append(f"\n{block['text'] if by_person else marks.as_footnotes(block['text'], message.seq)}\n")
        elif block["type"] == "attachment":
            parts.append(f"\n*Attached: {one_line(block.get('name', ''))}*\n")
        elif block["type"] == "tool_use":
            parts.append(f"\n{tool_line(dict(block), cards.get(block['id'], {}))}\n")
    with translation.override("en"):
        notes = [f"[^{message.seq}-{number}]: {one_line(title)}\n" for number, title in marks.titles.items()]
    if notes:
        parts.append("\n" + "".join(notes))
    if not by_person and message.status != Message.Status.COMPLETE:
        reason = message.turn.error if message.turn else None
        error = reason.in_english if reason else ""
        parts.append(f"\n*({message.status}{': ' + one_line(error) if error else ''})*\n")
    return "".join(parts)


def tool_line(block: dict[str, Any], card: dict[str, Any]) -> str:
    # An exported file is in English, like the words around it.
    with translation.override("en"):
        heading = extensions.tool_heading(block["name"], card.get("state", "done"), card.get("summary", ""))
    first, *more = [one_line(said(each)) for each in (card.get("summary", ""), *card.get("lines", [])) if each] or [""]
    return "\n".join([f"> **{one_line(heading)}** {first}".rstrip(), *(f"> - {line}" for line in more)])


def written(at: dt.datetime) -> str:
    return at.astimezone(dt.UTC).isoformat()


def one_line(text: str) -> str:
    return " ".join(text.split())


def file_name(session: ChatSession, ending: str) -> str:
    """Return a file name: the person's day of the last message, and the title without characters not allowed there."""
    title = NOT_IN_NAMES.sub(" ", one_line(session.name))
    title = "".join(sign for sign in title if sign == " " or unicodedata.category(sign) not in INVISIBLE)
    title = one_line(title)[:NAME_MAX_CHARS].strip(". ") or "Conversation"
    return f"{session.owner.day(session.active_at)} {title}.{ending}"
