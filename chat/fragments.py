"""Pieces of the conversation as HTML: the same for the page and for the frames of the socket."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from django.db.models import QuerySet
from django.template.loader import render_to_string
from django.utils.html import escape, format_html
from django.utils.safestring import SafeString, mark_safe
from django.utils.translation import gettext as _

from chat import rendering
from chat.models import Message
from chat.tools import registry

# What the HTML of a message is made of.
SHOWN_COLUMNS = (
    *("session", "role", "seq", "status", "content", "meta", "text", "html", "html_version", "stop_reason"),
    *("turn__status", "turn__error_text"),
)
# Messages that a page shows at once.
PAGE = 50
ARTICLE = (
    '<article id="message-{id}" class="message message--{role}" data-seq="{seq}" data-role="{role}"'
    ' data-status="{status}" aria-label="{name}"><div class="message__body{prose}" dir="auto">{body}</div>'
    "{ending}</article>"
)

RUNNING_CARD: Mapping[str, Any] = {"state": "running", "summary": "", "lines": []}


def message_html(message: Message, results: Mapping[str, dict[str, Any]] | None = None) -> str:
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
        name=_("You") if by_person else _("Answer"),
        prose="" if by_person else " prose",
        body=body_html(message, results or {}),
        ending="" if by_person else ending_html(message),
    )


def ending_html(message: Message) -> SafeString:
    """How an answer ended, when it is not simply whole, and what can be done about it."""
    status, error = message.status, ""
    if status == Message.Status.RUNNING or (status == Message.Status.COMPLETE and message.stop_reason != "max_tokens"):
        return SafeString()
    if status == Message.Status.FAILED and message.turn is not None:
        error = message.turn.error_text
    context = {"status": status, "error": error, "text": message.text}
    return render_to_string("chat/_ending.html", context)


def newest_messages(messages: QuerySet[Message]) -> list[SafeString]:
    """The last PAGE of the messages, in order, each as HTML; before them a way to earlier ones, if there are any.

    The page begins with what a person said, so that no answer stands without its question, no tool without its result.
    """
    found = loaded(messages.order_by("-seq")[: PAGE + 1])[::-1]
    if len(found) <= PAGE:
        return articles(found)
    begins = (index for index, message in enumerate(found) if index and message.role == Message.Role.USER)
    return [earlier_html(found := found[next(begins, 1) :]), *articles(found)]


def messages_from(messages: QuerySet[Message], seq: int) -> list[SafeString]:
    """The same for all messages from place `seq` on, and what was said before the first of them."""
    by_person = messages.filter(role=Message.Role.USER, seq__lte=seq).order_by("-seq").values_list("seq", flat=True)
    found = loaded(messages.filter(seq__gte=by_person.first() or seq))
    return [earlier_html(found), *articles(found)] if found and found[0].seq > 1 else articles(found)


def earlier_html(listed: Sequence[Message]) -> SafeString:
    context = {"session_id": listed[0].session_id, "before": listed[0].seq}
    return render_to_string("chat/_earlier.html", context)


def page_messages(messages: QuerySet[Message]) -> list[SafeString]:
    """The messages of a page, in order, each as HTML."""
    return articles(loaded(messages))


def loaded(messages: QuerySet[Message]) -> list[Message]:
    return list(messages.select_related("turn").only(*SHOWN_COLUMNS))


def articles(listed: Sequence[Message]) -> list[SafeString]:
    results: dict[str, dict[str, Any]] = {}
    for message in listed:
        results |= message.meta.get("cards", {})
    return [mark_safe(message_html(message, results)) for message in listed]  # noqa: S308 - made of safe parts


def body_html(message: Message, results: Mapping[str, dict[str, Any]]) -> SafeString:
    """The display blocks of a message: a person's words as they are, an answer's Markdown and tool cards."""
    if message.role == Message.Role.USER:
        return mark_safe(f'<div class="said">{escape(message.text)}</div>')  # noqa: S308 - escaped
    if message.html_version == rendering.VERSION:
        return mark_safe(message.html)  # noqa: S308 - kept as it was made below
    return rendered(message.content, results)


def rendered(content: Sequence[Mapping[str, Any]], results: Mapping[str, dict[str, Any]]) -> SafeString:
    """The display blocks of an answer's content; Message.html keeps them once the answer and its tools are done."""
    parts: list[SafeString] = []
    for block in content:
        if block["type"] == "text":
            for html in rendering.blocks(block["text"]):  # sanitised there
                parts.append(block_html(len(parts), html))
        elif block["type"] == "tool_use":
            card = results.get(block["id"], RUNNING_CARD)
            html = tool_card_html(
                block["id"],
                block["name"],
                card["state"],
                block["input"],
                card["summary"],
                card["lines"],
                card.get("undo", ""),
            )
            parts.append(block_html(len(parts), html))
    return mark_safe("".join(parts))  # noqa: S308 - made of safe parts


def block_html(index: int, html: str) -> SafeString:
    return format_html('<div class="block" data-index="{}">{}</div>', index, mark_safe(html))  # noqa: S308 - sanitised


def tool_card_html(
    tool_use_id: str,
    name: str,
    state: str,
    input: Mapping[str, Any],
    summary: str,
    lines: Sequence[str],
    undo: str = "",
) -> str:
    """The card of one tool call. `state` is running, done or failed; `lines` are what was saved or found; `undo` is the
    address where it can be taken back."""
    context = {
        "id": tool_use_id,
        "name": name,
        "state": state,
        "heading": registry.heading(name, state),
        "summary": summary,
        "lines": lines,
        "undo": undo,
        "input": json.dumps(input, ensure_ascii=False, indent=2) if input else "",
    }
    return render_to_string("chat/_tool_card.html", context)
