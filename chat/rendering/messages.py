"""Pieces of the conversation as HTML: the same for the page and for the frames of the socket."""

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
from django.utils.html import escape, format_html
from django.utils.safestring import SafeString, mark_safe
from django.utils.translation import get_language
from django.utils.translation import gettext as _

from chat.conversations import versions
from chat.models import Message
from chat.rendering import incremental
from chat.rendering.actions import actions_html
from chat.rendering.attachments import attachments_html
from chat.rendering.cards import RUNNING_CARD, Card
from chat.turns.tools import Since, registry
from oneclaw.reasons import Reason

# What the HTML of a message is made of.
SHOWN_COLUMNS = (
    *("session", "parent", "role", "seq", "status", "content", "meta", "text", "html", "html_version", "stop_reason"),
    *("turn__status", "turn__error"),
)
# Messages that a page shows at once; behind every place.
PAGE = 50
END = 2**60
ARTICLE = (
    '<article id="message-{id}" class="message message--{role}" data-seq="{seq}" data-role="{role}"'
    ' data-status="{status}" aria-label="{name}" tabindex="-1">'
    '<div class="message__body{prose}" dir="auto">{body}</div>{ending}{actions}</article>'
)

# A card in the HTML of an answer. What stands in it is escaped, so that nothing in it ends it.
CARD = re.compile(r'<section class="card [^>]*?data-tool="([^"]*)".*?</section>', re.DOTALL)
# What a kept HTML has in place of the card of a failed call.
SLOT = '<section class="card card--failed" data-tool="{}"></section>'


def message_html(message: Message, results: Mapping[str, Card] | None = None) -> str:
    """One stored message as an article; "" for tool results, which the cards show.

    `results` are the cards of tool results by tool_use id (Message.meta["cards"] of the messages around it).
    """
    if message.role == Message.Role.TOOL:
        return ""
    by_person = message.role == Message.Role.USER
    # Joined here and not in a template: a page has many of them. Every part is a number, a word of ours, or safe HTML.
    return ARTICLE.format(
        id=message.pk,
        role=message.role,
        seq=message.seq,
        status=message.status,
        name=names(get_language())[not by_person],
        prose="" if by_person else " prose",
        body=body_html(message, results or message.closed_cards or {}),
        ending="" if by_person else ending_html(message),
        actions=actions_html(message),
    )


@functools.lru_cache
def names(language: str | None) -> tuple[str, str]:
    """What a message of a person, and an answer, are called in this language."""
    return _("You"), _("Answer")


def ending_html(message: Message) -> SafeString:
    """How an answer ended, when it is not simply whole, and what can be done about it."""
    status, error = message.status, None
    if status == Message.Status.RUNNING or (status == Message.Status.COMPLETE and message.stop_reason != "max_tokens"):
        return SafeString()
    if status == Message.Status.FAILED and message.turn is not None:
        error = message.turn.error
    context = {"id": message.pk, "status": status, "error": error, "text": message.text}
    return render_to_string("chat/_ending.html", context)


def newest_messages(session_id: uuid.UUID, csrf_token: str = "", before: int = END) -> list[SafeString]:
    """The last PAGE shown messages of a session with a place before `before`, in order, each as HTML; before them a way
    to earlier ones, if there are any.

    The page begins with what a person said, so that no answer stands without its question, no tool without its result.
    The forms of cards carry the token, here and below.
    """
    found = list(newest(session_id, before))[::-1]
    if len(found) <= PAGE:
        return articles(found, csrf_token)
    begins = (index for index, message in enumerate(found) if index and message.role == Message.Role.USER)
    return [earlier_html(found := found[next(begins, 1) :]), *articles(found, csrf_token)]


def messages_from(messages: QuerySet[Message], seq: int, csrf_token: str = "") -> list[SafeString]:
    """The same for all messages from place `seq` on, and what was said before the first of them."""
    by_person = messages.filter(role=Message.Role.USER, seq__lte=seq).order_by("-seq").values_list("seq", flat=True)
    found = loaded(messages.filter(seq__gte=by_person.first() or seq))
    shown = articles(found, csrf_token)
    return [earlier_html(found), *shown] if found and found[0].seq > 1 else shown


def earlier_html(listed: Sequence[Message]) -> SafeString:
    context = {"session_id": listed[0].session_id, "before": listed[0].seq}
    return render_to_string("chat/_earlier.html", context)


def page_messages(messages: QuerySet[Message], csrf_token: str = "") -> list[SafeString]:
    """The messages of a page, in order, each as HTML."""
    return articles(loaded(messages), csrf_token)


def loaded(messages: QuerySet[Message]) -> list[Message]:
    return list(as_shown(messages))


def newest(session_id: uuid.UUID, before: int) -> QuerySet[Message]:
    """A page of shown messages and one more, the newest first."""
    shown = Message.objects.shown().filter(session=session_id, seq__lt=before)
    return as_shown(shown.order_by("-seq")[: PAGE + 1])


def as_shown(messages: QuerySet[Message]) -> QuerySet[Message]:
    return versions.with_families(messages).select_related("turn").only(*SHOWN_COLUMNS)


def articles(listed: Sequence[Message], csrf_token: str = "") -> list[SafeString]:
    versions.mark(listed)
    results = cards_of(listed, csrf_token)
    return [mark_safe(message_html(message, results)) for message in listed]  # noqa: S308 - made of safe parts


def cards_of(messages: Iterable[Message], csrf_token: str = "") -> dict[str, Card]:
    """The cards of the tool results among these messages, by tool_use id, each with what became of it since. Sync."""
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
        for number, since in registry.since(name, list(ids), csrf_token).items():
            cards[ids[number]] = cards[ids[number]] | {"since": since}
    return cards


def card_again(answer: Message, tool_use_id: str, since: Since) -> str:
    """The card of one call of `answer` as it is now; "" while its result is not stored. Sync."""
    use = next(use for use in answer.tool_uses() if use["id"] == tool_use_id)
    for meta in Message.objects.filter(parent=answer, role=Message.Role.TOOL).values_list("meta", flat=True):
        if card := meta.get("cards", {}).get(tool_use_id):
            return card_html(use, card | {"since": since})
    return ""


def body_html(message: Message, results: Mapping[str, Card]) -> SafeString:
    """The display blocks of a message: a person's words as they are, an answer's Markdown and tool cards."""
    if message.role == Message.Role.USER:
        said = mark_safe(f'<div class="said">{escape(message.text)}</div>')  # noqa: S308 - escaped
        return attachments_html(message.content) + said
    if message.html_version == incremental.VERSION and is_in_our_words(message.html):
        return with_news(message, results)
    return rendered(message.content, results)


def is_in_our_words(html: str) -> bool:
    """Whether the words around cards and thoughts in a kept HTML, if there are any, are in the reader's language."""
    return 'data-words="' not in html or f'data-words="{get_language()}"' in html


def with_news(message: Message, results: Mapping[str, Card]) -> SafeString:
    """The answer's HTML as it was kept, with the cards that are made anew for each reader: those of failed calls, and
    those of which something became since."""
    uses = {use["id"]: use for use in message.tool_uses() if is_made_anew(results.get(use["id"], RUNNING_CARD))}

    def card(found: re.Match[str]) -> str:
        use = uses.get(unescape(found[1]))
        return card_html(use, results[use["id"]]) if use else found[0]

    html = CARD.sub(card, message.html) if uses else message.html
    return mark_safe(html)  # noqa: S308 - made below of safe parts


def is_made_anew(card: Card) -> bool:
    return bool(card["state"] == "failed" or card.get("since"))


def rendered(content: Sequence[Mapping[str, Any]], results: Mapping[str, Card], *, to_keep: bool = False) -> SafeString:
    """The display blocks of an answer's content; Message.html keeps them once the answer and its tools are done.

    `to_keep` leaves a slot in place of the card of a failed call, for `with_news` to fill."""
    parts: list[SafeString] = []
    for block in content:
        if block["type"] == "text":
            for html in incremental.blocks(block["text"]):  # sanitised there
                parts.append(block_html(len(parts), html))
        elif block["type"] == "thinking":
            parts.append(block_html(len(parts), thinking_html(block.get("thinking") or "")))
        elif block["type"] == "tool_use":
            card = results.get(block["id"], RUNNING_CARD)
            is_slot = to_keep and card["state"] == "failed"
            html = format_html(SLOT, block["id"]) if is_slot else card_html(block, card)
            parts.append(block_html(len(parts), html))
    return mark_safe("".join(parts))  # noqa: S308 - made of safe parts


def block_html(index: int, html: str) -> SafeString:
    return format_html(
        '<div class="block" data-index="{}">{}</div>',
        index,
        mark_safe(furnished(html)),  # noqa: S308 - sanitised
    )


# Lines of code above which a piece is folded.
LONG_CODE = 30
CODE = re.compile(r'<pre class="code".*?</pre>', re.DOTALL)


def furnished(html: str) -> str:
    """The HTML of a display block, each piece of code with its button, and a long one with a way to unfold it.

    The elements have no words of their own, so that they can be kept: static/js/code.js gives them those of the page.
    """
    return CODE.sub(_furnished, html) if '<pre class="code"' in html else html


def _furnished(found: re.Match[str]) -> str:
    lines = found[0].count("\n")
    fold = f"<details><summary><show-all>{lines}</show-all></summary></details>" if lines > LONG_CODE else ""
    return f'<div class="code-box"><copy-code></copy-code>{found[0]}{fold}</div>'


def thinking_html(text: str) -> str:
    """What a model thought, folded; "" for nothing."""
    if not text.strip():
        return ""
    return render_to_string("chat/_thinking.html", {"text": text.strip(), "words": get_language()})


def card_html(use: Mapping[str, Any], card: Card) -> str:
    """The card of a tool_use block."""
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
    since: Since | None = None,
    result: str = "",
    seconds: float | None = None,
) -> str:
    """The card of one tool call. `state` is running, done or failed; `lines` are what was saved or found; `undo` is the
    address where it can be taken back; `since` is what became of it, `result` what the model was told."""
    context = {
        "id": tool_use_id,
        "name": name,
        "state": state,
        "heading": (since and since["heading"]) or registry.heading(name, state),
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
