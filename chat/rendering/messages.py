"""HTML of the messages of a conversation, for pages and for the frames of the socket."""

import functools
import json
import re
import uuid
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from html import unescape
from typing import Any

from django.db.models import QuerySet
from django.template.loader import render_to_string
from django.utils.safestring import SafeString, mark_safe
from django.utils.translation import get_language

from chat import extensions
from chat.conversations import versions
from chat.extensions import CallUpdate
from chat.models import Message, Version
from chat.rendering import incremental
from chat.rendering.cards import RUNNING_CARD, Card
from oneclaw.reasons import Reason

# The columns that the HTML of a message is made of.
SHOWN_COLUMNS = (
    *("session", "parent", "role", "seq", "status", "content", "meta", "text", "html", "html_version", "stop_reason"),
    *("turn__status", "turn__error"),
)
# Messages that a page shows at once.
PAGE = 50
# Above the sequence number of every message.
END = 2**60
# Stands for the message's id in a row of actions that is cached for all messages.
ID_SLOT = "-message-id-"

# A card in the HTML of an answer. Its content is escaped, so that the first end tag is its own.
CARD = re.compile(r'<section class="card [^>]*?data-tool="([^"]*)".*?</section>', re.DOTALL)


def message_html(message: Message, results: Mapping[str, Card] | None = None) -> SafeString:
    """Return one stored message as an article; "" for tool results, which the cards show.

    `results` are the cards of tool results by tool_use id (Message.meta["cards"] of the messages around it).
    """
    if message.role == Message.Role.TOOL:
        return SafeString()
    by_person, status = message.role == Message.Role.USER, message.status
    # Strings and no lookups in the template: a page has many of them.
    context: dict[str, Any] = {
        "id": str(message.pk),
        "seq": str(message.seq),
        "role": message.role,
        "status": status,
        "text": message.text,
        "by_person": by_person,
        "body": None if by_person else answer_html(message, results or message.closed_cards or {}),
        "files": [block for block in message.content if block["type"] == "attachment"] if by_person else [],
        "actions": actions_html(message),
    }
    if not by_person and has_ending(message):
        context |= {"has_ending": True, "turn": message.turn if status == Message.Status.FAILED else None}
    return render_to_string("chat/_message.html", context)


def actions_html(message: Message) -> SafeString:
    """Return the row under a message: its versions and what can be done with it; "" while it is being written."""
    if message.is_running:
        return SafeString()
    is_complete = message.status == Message.Status.COMPLETE
    if message.version:
        return render_actions(str(message.pk), message.role, is_complete, message.version)
    # A page has many of them, which differ by the id alone.
    row = row_of(message.role, is_complete, get_language())
    return mark_safe(row.replace(ID_SLOT, str(message.pk)))  # noqa: S308 - from a template


@functools.lru_cache
def row_of(role: str, is_complete: bool, language: str | None) -> SafeString:
    return render_actions(ID_SLOT, role, is_complete, None)


def render_actions(id: str, role: str, is_complete: bool, version: Version | None) -> SafeString:
    context = {"id": id, "by_person": role == Message.Role.USER, "is_complete": is_complete, "version": version}
    return render_to_string("chat/_actions.html", context)


def has_ending(message: Message) -> bool:
    """Return whether an answer ended in another way than regularly, which templates/chat/_ending.html says."""
    if message.status == Message.Status.COMPLETE:
        return message.stop_reason == "max_tokens"
    return message.status != Message.Status.RUNNING


def newest_messages(session_id: uuid.UUID, csrf_token: str = "", before: int = END) -> list[SafeString]:
    """Return the last PAGE shown messages of a session with a sequence number below `before`, in order, each as HTML;
    before them a link to earlier ones, if there are any.

    The page begins with a person's message, so that no answer is without its question and no tool call without its
    result. The forms of cards carry `csrf_token`.
    """
    found = list(newest(session_id, before))[::-1]
    if len(found) <= PAGE:
        return articles(found, csrf_token)
    begins = (index for index, message in enumerate(found) if index and message.role == Message.Role.USER)
    return [earlier_html(found := found[next(begins, 1) :]), *articles(found, csrf_token)]


def messages_from(messages: QuerySet[Message], seq: int, csrf_token: str = "") -> list[SafeString]:
    """Return all messages from sequence number `seq` on as HTML, with the person's message before the first of them.

    A link to earlier ones comes first, if there are any. The forms of cards carry `csrf_token`.
    """
    by_person = messages.filter(role=Message.Role.USER, seq__lte=seq).order_by("-seq").values_list("seq", flat=True)
    found = loaded(messages.filter(seq__gte=by_person.first() or seq))
    shown = articles(found, csrf_token)
    return [earlier_html(found), *shown] if found and found[0].seq > 1 else shown


def earlier_html(listed: Sequence[Message]) -> SafeString:
    context = {"session_id": listed[0].session_id, "before": listed[0].seq}
    return render_to_string("chat/_earlier.html", context)


def page_messages(messages: QuerySet[Message], csrf_token: str = "") -> list[SafeString]:
    """Return `messages` in order, each as HTML. The forms of cards carry `csrf_token`."""
    return articles(loaded(messages), csrf_token)


def loaded(messages: QuerySet[Message]) -> list[Message]:
    return list(as_shown(messages))


def newest(session_id: uuid.UUID, before: int) -> QuerySet[Message]:
    """Return a page of shown messages and one more, the newest first."""
    shown = Message.objects.shown().filter(session=session_id, seq__lt=before)
    return as_shown(shown.order_by("-seq")[: PAGE + 1])


def as_shown(messages: QuerySet[Message]) -> QuerySet[Message]:
    return versions.with_families(messages).select_related("turn").only(*SHOWN_COLUMNS)


def articles(listed: Sequence[Message], csrf_token: str = "") -> list[SafeString]:
    versions.mark(listed)
    results = cards_of(listed, csrf_token)
    return [message_html(message, results) for message in listed]


def cards_of(messages: Iterable[Message], csrf_token: str = "") -> dict[str, Card]:
    """Return the cards of the tool results among `messages`, by tool_use id, each with its tool's update. Sync."""
    cards: dict[str, Card] = {}
    names: dict[str, str] = {}
    for message in messages:
        cards |= message.meta.get("cards", {})
        names |= {use["id"]: use["name"] for use in message.tool_uses()}
    made: dict[str, dict[int, str]] = defaultdict(dict)
    for id, card in cards.items():
        if id in names and (number := card.get("made")) is not None:
            made[names[id]][number] = id
    for name, ids in made.items():
        for number, since in extensions.tool_updates(name, list(ids), csrf_token).items():
            cards[ids[number]] = cards[ids[number]] | {"since": since}
    return cards


def card_again(answer: Message, tool_use_id: str, since: CallUpdate) -> str:
    """Return the card of one call of `answer` as it is now; "" while its result is not stored. Sync."""
    use = next(use for use in answer.tool_uses() if use["id"] == tool_use_id)
    for meta in Message.objects.filter(parent=answer, role=Message.Role.TOOL).values_list("meta", flat=True):
        if card := meta.get("cards", {}).get(tool_use_id):
            return card_html(use, card | {"since": since})
    return ""


def answer_html(message: Message, results: Mapping[str, Card]) -> SafeString:
    """Return the display blocks of an answer, from Message.html where that is current and in the reader's language."""
    if message.html_version == incremental.VERSION and is_in_our_words(message.html):
        return with_news(message, results)
    return rendered(message.content, results)


def is_in_our_words(html: str) -> bool:
    """Return whether the words of cards and thoughts in stored HTML, if there are any, are in the reader's language."""
    return 'data-words="' not in html or f'data-words="{get_language()}"' in html


def with_news(message: Message, results: Mapping[str, Card]) -> SafeString:
    """Return the answer's stored HTML with the cards that are rendered for each reader: those of failed calls, and
    those with an update since."""
    uses = {use["id"]: use for use in message.tool_uses() if is_made_anew(results.get(use["id"], RUNNING_CARD))}

    def card(found: re.Match[str]) -> str:
        use = uses.get(unescape(found[1]))
        return card_html(use, results[use["id"]]) if use else found[0]

    html = CARD.sub(card, message.html) if uses else message.html
    return mark_safe(html)  # noqa: S308 - made below of safe parts


def is_made_anew(card: Card) -> bool:
    return bool(card["state"] == "failed" or card.get("since"))


def rendered(content: Sequence[Mapping[str, Any]], results: Mapping[str, Card], *, to_keep: bool = False) -> SafeString:
    """Return the display blocks of an answer; Message.html stores them once the answer and its tools are complete.

    With `to_keep` the card of a failed call is an empty slot, which `with_news` fills.
    """
    blocks: list[str] = []
    for block in content:
        if block["type"] == "text":
            blocks += incremental.blocks(block["text"])  # sanitised there
        elif block["type"] == "thinking":
            blocks.append(thinking_html(block.get("thinking") or ""))
        elif block["type"] == "tool_use":
            card = results.get(block["id"], RUNNING_CARD)
            is_slot = to_keep and card["state"] == "failed"
            blocks.append(slot_html(block["id"]) if is_slot else card_html(block, card))
    safe = [mark_safe(furnished(html)) for html in blocks]  # noqa: S308 - sanitised, or from a template
    return render_to_string("chat/_blocks.html", {"blocks": safe})


def slot_html(tool_use_id: str) -> SafeString:
    """Return an empty card, which the stored HTML has in place of the card of a failed call."""
    return render_to_string("chat/_card_slot.html", {"id": tool_use_id})


# A longer piece of code is folded.
LONG_CODE = 30
CODE = re.compile(r'<pre class="code".*?</pre>', re.DOTALL)


def furnished(html: str) -> str:
    """Return the HTML of a display block, each piece of code with its button, and a long one with a way to unfold it.

    The elements have no words, so that they can be stored in any language: static/js/code.js adds those of the page.
    """
    return CODE.sub(_furnished, html) if '<pre class="code"' in html else html


def _furnished(found: re.Match[str]) -> str:
    lines = found[0].count("\n")
    code = mark_safe(found[0])  # noqa: S308 - sanitised
    return render_to_string("chat/_code.html", {"code": code, "lines": lines, "is_long": lines > LONG_CODE})


def thinking_html(text: str) -> str:
    """Return a thinking block, folded; "" for an empty one."""
    if not text.strip():
        return ""
    return render_to_string("chat/_thinking.html", {"text": text.strip(), "words": get_language()})


def card_html(use: Mapping[str, Any], card: Card) -> str:
    """Return the card of the tool_use block `use`."""
    return tool_card_html(
        use["id"],
        use["name"],
        card["state"],
        use["input"],
        said(card["summary"]),
        [said(line) for line in card["lines"]],
        card.get("undo", ""),
        card.get("since"),
        card.get("result", ""),
        card.get("seconds"),
    )


def said(text: object) -> str:
    """Return a summary or line of a card in the reader's language: a Reason as JSON is worded, text is as it is."""
    reason = Reason.of(text)
    return str(text if reason is None else reason)


def tool_card_html(
    tool_use_id: str,
    name: str,
    state: str,
    input: Mapping[str, Any],
    summary: str,
    lines: Sequence[str],
    undo: str = "",
    since: CallUpdate | None = None,
    result: str = "",
    seconds: float | None = None,
) -> str:
    """Return the card of one tool call.

    `state` is running, done or failed; `lines` are what was saved or found; `undo` is the address where it can be
    undone; `since` is the tool's update; `result` is what the model got; `seconds` is how long the call took.
    """
    context = {
        "id": tool_use_id,
        "name": name,
        "state": state,
        "heading": (since and since["heading"]) or extensions.tool_heading(name, state),
        "summary": summary,
        "lines": lines,
        "undo": undo if since is None or since["can_undo"] else "",
        "since": mark_safe(since["html"]) if since else "",  # noqa: S308 - the tool's own template made it
        "input": json.dumps(input, ensure_ascii=False, indent=2) if input else "",
        "result": result,
        "seconds": seconds,
        "words": get_language(),
    }
    return render_to_string("chat/_tool_card.html", context)
