"""Blank forgotten lines in the text that memory put into conversations (recalled passages, tool calls and results,
prompts), in the summaries of their messages, and in the notes of scheduled turns.

The words of people and of the assistant stay: they belong to the conversation and are deleted with it.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any

from django.db.models import F, Func, Q, QuerySet, Value

from chat.context import per_message
from chat.context.heads import withhold_thinking
from chat.context.view import META_KEY
from chat.models import Attachment, Beat, ChatSession, ContextRound, Head, Message, MessageQuerySet, Turn
from chat.rendering.answer_lines import line_of, without_quote
from chat.rendering.messages import html_columns
from memory.forgetting import summaries
from memory.forgetting.eraser import Eraser, IsPrefix
from memory.policy.tombstones import BLANK, LineMatcher
from memory.prompt.items import NAME
from oneclaw.models import Space, SpaceMember

# Tools whose calls and results may quote memory, those that copy from other conversations included.
MEMORY_TOOLS = (
    "save_memory",
    "memory_search",
    "memory_get",
    "skill_read",
    "read_result",
    "sessions_history",
    "sessions_list",
    "sessions_send",
    "sessions_spawn",
)
# Messages in which a model has thought.
THINKING = Q(content__contains=[{"type": "thinking"}]) | Q(content__contains=[{"type": "redacted_thinking"}])
COLUMNS = ("id", "session_id", "seq", "role", "content", "meta", "text", "html_version")


@dataclass
class Matches:
    """Where forgotten lines were found.

    `heads` are the ids of the heads that hold them, `prompts` the sessions of these heads, `messages` the new columns
    by message id, `rounds` the new columns by the id of a round, `sessions` the sessions that change, and `said_in` the
    sessions in which a person or the assistant said the words.
    """

    heads: set[int] = field(default_factory=set)
    prompts: set[Any] = field(default_factory=set)
    messages: dict[int, dict[str, Any]] = field(default_factory=dict)
    rounds: dict[int, dict[str, Any]] = field(default_factory=dict)
    sessions: set[Any] = field(default_factory=set)
    said_in: set[Any] = field(default_factory=set)


def sessions_of(space: Space) -> QuerySet[ChatSession]:
    """Return the conversations that read `space`, or have read it as a shared space, deleted ones included."""
    if space.kind == Space.Kind.OWN:
        return ChatSession.objects.filter(owner=space.owner)
    if space.kind == Space.Kind.AGENT:
        return ChatSession.objects.filter(owner=space.owner, agent__memories__space=space)
    # One that has left the space keeps what it was sent there; its heads say where it was (memory/prompt/recall.py).
    made_there = Head.objects.filter(condition__regex=rf"(^|[ ,])(space|shared):{space.pk}([ ,]|$)")
    return ChatSession.objects.filter(Q(space=space) | Q(pk__in=made_there.values("session")))


def find(sessions: QuerySet[ChatSession], known: LineMatcher, is_prefix: IsPrefix = lambda line: False) -> Matches:
    """Return where the lines that `known` matches are in these conversations. Change nothing."""
    found = Matches()
    eraser = Eraser(known, is_prefix)
    with_items = Head.objects.filter(session__in=sessions, context__has_key=NAME)
    for pk, session_id, context in with_items.values_list("pk", "session", "context").iterator(chunk_size=200):
        if any(eraser.is_in_prompt(item) for item in context[NAME]):
            found.heads.add(pk)
            found.prompts.add(session_id)
            found.sessions.add(session_id)
    for row in ContextRound.objects.filter(session__in=sessions).iterator(chunk_size=100):
        if columns := summaries.changed_columns(row, eraser):
            found.rounds[row.pk] = columns
            found.sessions.add(row.session_id)
    rows: MessageQuerySet = Message.objects.filter(session__in=sessions).finished()
    ordered = rows.order_by("session_id", "seq").only(*COLUMNS).iterator(chunk_size=500)
    for session_id, messages in groupby(ordered, key=lambda message: message.session_id):
        _find_in(session_id, messages, eraser, found)
    return found


def blank(matches: Matches) -> None:
    """Store the changes that find() returned. The caller has locked the rows of the conversations."""
    # The next message gets a new head, from memory as it is then.
    ChatSession.objects.filter(head__in=matches.heads).update(head=None)
    Head.objects.filter(pk__in=matches.heads).update(system="", context={})
    for pk, columns in matches.messages.items():
        Message.objects.filter(pk=pk).update(**columns)
    summaries.blank(matches.rounds)
    rounds = ContextRound.objects.filter(session__in=matches.sessions)
    summaries.drop_blocks(rounds)
    summaries.restart(rounds)
    for session in ChatSession.objects.filter(pk__in=matches.sessions):
        remove_signatures(session)


def blank_notes(space: Space, known: LineMatcher) -> None:
    """Empty the notes of scheduled turns of the members of `space` that hold a line which `known` matches.

    They are kept longer than the hidden conversations of these turns.
    """
    members = SpaceMember.objects.filter(space=space).values("user")
    for beat in Beat.objects.filter(owner__in=members).exclude(note="").only("note"):
        if known.is_in_text(beat.note):
            Beat.objects.filter(pk=beat.pk).update(note="")


def remove_signatures_of(turns: QuerySet[Turn]) -> None:
    """Remove the encrypted thinking from the conversations of `turns`, if these have some.

    The caller has locked the rows of the conversations.
    """
    thinking = Message.objects.filter(THINKING, turn__in=turns).values_list("session", "content")
    encrypted = {"signature", "data"}
    found = {session_id for session_id, content in thinking if any(encrypted & block.keys() for block in content)}
    for session in ChatSession.objects.filter(pk__in=found):
        remove_signatures(session)


def remove_signatures(session: ChatSession) -> None:
    """Remove the encrypted thinking from the conversation, because it may hold the forgotten words, and do not send it
    any more; and the digests of its requests, by which such words could be guessed."""
    withhold_thinking(session, session.last_seq)
    without_digest = Func(F("meta"), Value("{sent,prefix}"), template="jsonb_delete_path(%(expressions)s::text[])")
    session.messages.filter(meta__sent__has_key="prefix").update(meta=without_digest)
    # A server may have quoted the conversation.
    without_words = Func(F("meta"), Value("{server_said}"), template="jsonb_delete_path(%(expressions)s::text[])")
    session.messages.filter(meta__has_key=Message.SERVER_SAID_KEY).update(meta=without_words)
    for message in session.messages.filter(THINKING).only("content"):
        kept = [block for block in message.content if block["type"] != "redacted_thinking"]
        message.content = [
            {name: value for name, value in block.items() if name != "signature" or block["type"] != "thinking"}
            for block in kept
        ]
        message.save(update_fields=["content"])


def _find_in(session_id: Any, messages: Iterable[Message], eraser: Eraser, found: Matches) -> None:
    calls: dict[str, Message] = {}
    shown: dict[int, Message] = {}
    cards: dict[str, Any] = {}
    for message in messages:
        if any(eraser.known.without_forgotten_words(text) != text for text in _texts_of(message)):
            found.said_in.add(session_id)
        columns = _columns(message, calls, eraser)
        cards |= message.meta.get("cards", {})
        calls |= {use["id"]: message for use in _uses(message)}
        if columns:
            found.messages[message.pk] = columns
            found.sessions.add(session_id)
            answers = [calls[block["tool_use_id"]] for block in _results(message) if block["tool_use_id"] in calls]
            shown |= {answer.pk: answer for answer in answers or [message] if answer.role == Message.Role.ASSISTANT}
    for answer in shown.values():
        if answer.html_version:
            found.messages.setdefault(answer.pk, {}).update(html_columns(answer.content, cards))


def _texts_of(message: Message) -> Iterator[str]:
    """Yield what a person or the assistant has said in `message`, and the texts of the files that are attached to
    it."""
    if message.is_said:
        yield message.text
    if ids := message.file_ids:
        yield from Attachment.objects.filter(pk__in=ids).values_list("text", flat=True)


def _columns(message: Message, calls: dict[str, Message], eraser: Eraser) -> dict[str, Any]:
    """Return the changed columns of `message`, and set them on `message` as well."""
    columns: dict[str, Any] = {}
    for name in message.meta.get(per_message.META_KEY, {}):
        items = per_message.items_of(message.meta, name)
        fresh_items = [eraser.item(item) for item in items]
        if fresh_items != items:
            message.meta = columns["meta"] = per_message.with_items(message.meta, name, fresh_items)
    sent = message.meta.get(META_KEY, {})
    if (notes := summaries.erased_value(sent.get("notes"), eraser)) != sent.get("notes"):
        message.meta = columns["meta"] = {**message.meta, META_KEY: {**sent, "notes": notes}}
    quote = line_of(message.meta).get("quote")
    if quote and eraser.text(quote["text"]) != quote["text"]:
        message.meta = columns["meta"] = without_quote(message.meta)
    for use in _uses(message):
        arguments = eraser.value(use["input"])
        if arguments != use["input"]:
            use["input"] = arguments
            columns["content"] = message.content
    for block in message.content:
        # What the model's server says that a text cites holds the text of memory.
        if block.get("citations") and (fresh_citations := eraser.value(block["citations"])) != block["citations"]:
            block["citations"] = fresh_citations
            columns["content"] = message.content
    cards = dict(message.meta.get("cards", {}))
    for block in _results(message):
        if block["tool_use_id"] not in calls:
            continue
        result, card = eraser.result(block.get("content")), cards.get(block["tool_use_id"], {})
        lines = eraser.value(card.get("lines", []))
        if result != block.get("content") or lines != card.get("lines", []):
            block["content"] = result
            columns["content"] = message.content
            # A line of a card may be cut anywhere.
            fresh = {"lines": [BLANK] if lines else [], "undo": "", "result": BLANK if card.get("result") else ""}
            fresh |= {name: type(card[name])() for name in ("addresses", "fields", "kept") if name in card}
            cards[block["tool_use_id"]] = {**card, **fresh}
            message.meta = columns["meta"] = {**message.meta, "cards": cards}
    return columns


def _uses(message: Message) -> Iterator[dict[str, Any]]:
    return (block for block in message.content if block["type"] == "tool_use" and block["name"] in MEMORY_TOOLS)


def _results(message: Message) -> Iterator[dict[str, Any]]:
    return (block for block in message.content if block["type"] == "tool_result" and "tool_use_id" in block)
