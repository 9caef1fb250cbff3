"""HTML of the messages of a conversation, for pages and for the frames of the socket."""

import datetime as dt
import functools
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from html import unescape
from itertools import zip_longest
from typing import Any

from django.template.loader import render_to_string
from django.urls import reverse
from django.utils.safestring import SafeString, mark_safe
from django.utils.translation import get_language, gettext

from chat import extensions
from chat.answering import INSTEAD_OF_KEY, PLAIN_KEY, WITHOUT_MEMORY_KEY, offered_models
from chat.models import Message, Version
from chat.rendering import citations, incremental, outgoing_links, thoughts
from chat.rendering.answer_lines import answer_lines
from chat.rendering.cards import RUNNING_CARD, Card
from chat.rendering.shown import ShownMessage
from oneclaw.llm import Block, ToolsWithoutEndError
from oneclaw.reasons import Reason
from oneclaw.text import file_size

# Placeholder of the message's id in a row of actions that is cached for all messages.
ID_SLOT = "-message-id-"
# Placeholder of its time.
TIME_SLOT = "-message-time-"

# The blocks of an answer, and of a message, that a page shows.
SHOWN_BLOCKS = ("thinking", "tool_use", "attachment")

# A card in the HTML of an answer. Its content is escaped, so that the first end tag is its own.
CARD = re.compile(r'<tool-card class="card [^>]*?data-tool="([^"]*)".*?</tool-card>', re.DOTALL)


def messages_html(messages: Iterable[ShownMessage], results: Mapping[str, Card]) -> SafeString:
    """Return stored messages as articles, without tool results, which the cards show, and notices to the model.

    `results` are the cards of tool results by tool_use id (Message.meta["cards"] of the messages around them).
    """
    articles = [article(each, results) for each in messages if each.message.is_said and not is_blank(each.message)]
    return render_to_string("chat/_messages.html", {"messages": articles}) if articles else SafeString()


def is_blank(message: Message) -> bool:
    """Return whether the message is an answer without anything to show, after which the model was asked once more."""
    return (
        message.status == Message.Status.COMPLETE
        and not message.text
        and not any(
            block["type"] in SHOWN_BLOCKS and (block.get("thinking") or block["type"] != "thinking")
            for block in message.content
        )
        and not any(block["type"] == "text" and thoughts.parted(block["text"])[0] for block in message.content)
    )


def article(shown: ShownMessage, results: Mapping[str, Card]) -> dict[str, Any]:
    """Return what chat/_messages.html shows of a message: strings, which need neither lookups nor a number format."""
    message = shown.message
    by_person, status = message.role == Message.Role.USER, message.status
    return {
        "id": str(message.pk),
        "seq": str(message.seq),
        "status": status,
        "text": message.text,
        # For the field in which its author edits it.
        "pasted": json.dumps(message.meta[message.PASTED_KEY]) if message.PASTED_KEY in message.meta else "",
        "by_person": by_person,
        "is_relayed": by_person and bool(message.origin_id),
        "origin": message.origin_id,
        "origin_title": shown.origin_title,
        "body": None if by_person else answer_html(shown, results),
        "files": [
            {**block, "shown_size": file_size(block["size"])}
            for block in (message.content if by_person else [])
            if block["type"] == "attachment"
        ],
        "remarks": [] if by_person else remarks(shown),
        "lines": [] if by_person or shown.hides_memory else answer_lines(message, results),
        "author": shown.author,
        "author_id": str(shown.author.id) if shown.author else "",
        "actions": actions_html(shown),
        "is_continued": message.meta.get("continued", False),
        "by_itself_at": message.meta.get("at", "") if message.meta.get("by") == "schedule" else "",
        "can_continue": bool(message.text) or (has_ending(message) and is_kept(message)),
        "said_url": reverse("message_said", args=[message.pk]) if message.meta.get(Message.SERVER_SAID_KEY) else "",
        "has_ending": not by_person and has_ending(message),
        "error": message.turn.error if status == Message.Status.FAILED and message.turn else None,
    }


def remarks(shown: ShownMessage) -> list[str]:
    """Return the sentences under an answer about the model that has given it."""
    message = shown.message
    found: list[str] = []
    if message.is_running or message.stop_reason == "tool_use":
        return found
    if wanted := message.meta.get(INSTEAD_OF_KEY):
        about = {"wanted": wanted, "model": offered_models().get(message.model, message.model)}
        found.append(not_available(shown) % about)
    if message.meta.get(WITHOUT_MEMORY_KEY):
        found.append(gettext("Answered without memory"))
    if message.meta.get(PLAIN_KEY):
        found.append(gettext("Sent as plain text, without tools and files: the model’s server accepts nothing else."))
    return found


def not_available(shown: ShownMessage) -> str:
    """Return the sentence about a model that the person who has asked may not use: each reader is sent the same."""
    if shown.is_for_several:
        return gettext("%(wanted)s is not available to the person who asked, so %(model)s has answered.")
    return gettext("%(wanted)s is not available to you, so %(model)s has answered.")


def others_may_read(message: Message, results: Mapping[str, Card]) -> SafeString:
    """Return the display blocks of an answer without its thoughts and the calls of personal tools."""
    shown = [
        {**block, "text": thoughts.parted(block["text"])[1]} if block["type"] == "text" else block
        for block in message.content
        if block["type"] == "text"
        or (block["type"] == "tool_use" and extensions.tool_named(block["name"]).is_for_others)
    ]
    return rendered(shown, results)


def actions_html(shown: ShownMessage) -> SafeString:
    """Return the row under a message: its versions and what can be done with it; "" while it is being written."""
    message = shown.message
    if message.is_running:
        return SafeString()
    # What a schedule sent answers nothing, so it cannot be answered anew.
    is_complete = message.status == Message.Status.COMPLETE and "by" not in message.meta
    if shown.version or shown.is_good is not None:
        id, time = str(message.pk), time_of(message)
        return render_actions(id, time, message.role, is_complete, shown.version, shown.is_good)
    # A page has many of them, which differ by the id and the time alone.
    row = row_of(message.role, is_complete, get_language())
    filled = row.replace(ID_SLOT, str(message.pk)).replace(TIME_SLOT, time_of(message))
    return mark_safe(filled)  # noqa: S308 - from a template


def time_of(message: Message) -> str:
    """Return when `message` was made, in ISO 8601 and UTC; the page writes it as the person reads it."""
    return message.created_at.astimezone(dt.UTC).isoformat(timespec="seconds")


@functools.lru_cache
def row_of(role: str, is_complete: bool, language: str | None) -> SafeString:
    return render_actions(ID_SLOT, TIME_SLOT, role, is_complete, None)


def render_actions(
    id: str, time: str, role: str, is_complete: bool, version: Version | None, rated: bool | None = None
) -> SafeString:
    """Return the row of a message; `rated` says whether its owner found it good, None: they have not said."""
    context = {
        "rated": rated,
        "id": id,
        "time": time,
        "by_person": role == Message.Role.USER,
        "is_complete": is_complete,
        "version": version,
    }
    return render_to_string("chat/_actions.html", context)


def is_kept(message: Message) -> bool:
    """Return whether an answer without text can be continued: its thinking took all the room, or it has failed because
    the model went on calling tools, of which what was found is kept."""
    turn = message.turn if message.status == Message.Status.FAILED else None
    return message.stop_reason in Message.CUT_ENDINGS or (
        turn is not None and turn.error_code == ToolsWithoutEndError.code
    )


def has_ending(message: Message) -> bool:
    """Return whether an answer ended in another way than regularly, which templates/chat/_ending.html says."""
    if message.status == Message.Status.COMPLETE:
        # Not in the middle of an answer, which goes on after its tools.
        return message.stop_reason in Message.CUT_ENDINGS and not message.tool_uses()
    return message.status != Message.Status.RUNNING


def answer_html(shown: ShownMessage, results: Mapping[str, Card]) -> SafeString:
    """Return the display blocks of an answer, from Message.html where that is current and in the reader's language."""
    message = shown.message
    if shown.hides_memory:
        html = others_may_read(message, results)
    elif message.html_version == incremental.HTML_VERSION and is_in_language(message.html):
        html = with_fresh_cards(message, results)
    else:
        html = rendered(message.content, results)
    html = mark_safe(outgoing_links.with_hosts(html, message.pk))  # noqa: S308 - escaped there
    sources = message.meta.get(citations.SOURCES_KEY)
    # What came from its owner's memory before the conversation was shared is not named to others.
    marks = citations.Marks(sources or {}, None if shown.hides_memory else message.pk)
    return mark_safe(marks.numbered(html)) if sources else html  # noqa: S308 - escaped


def is_in_language(html: str) -> bool:
    """Return whether the words of cards and thoughts in stored HTML, if there are any, are in the reader's language."""
    return 'data-words="' not in html or f'data-words="{get_language()}"' in html


def with_fresh_cards(message: Message, results: Mapping[str, Card]) -> SafeString:
    """Return the answer's stored HTML with the cards that are rendered for each reader: those of failed calls, and
    those with an update since."""
    uses = {use["id"]: use for use in message.tool_uses() if needs_fresh_card(results.get(use["id"], RUNNING_CARD))}

    def card(found: re.Match[str]) -> str:
        use = uses.get(unescape(found[1]))
        return card_html(use, results[use["id"]]) if use else found[0]

    html = CARD.sub(card, message.html) if uses else message.html
    return mark_safe(html)  # noqa: S308 - made below of safe parts


def needs_fresh_card(card: Card) -> bool:
    return bool(card["state"] == "failed" or card.get("since") or card.get("lost"))


def rendered(content: Sequence[Mapping[str, Any]], results: Mapping[str, Card], *, to_keep: bool = False) -> SafeString:
    """Return the display blocks of an answer; Message.html stores them once the answer and its tools are complete.

    With `to_keep` the card of a failed call is an empty slot, which `with_news` fills.
    """
    blocks: list[str] = []
    shown = citations.marked_texts(content)
    for index, block in enumerate(shown):
        if block["type"] == "text":
            thought, text = thoughts.parted(block["text"])
            blocks += [*filter(None, [thinking_html(thought)]), *incremental.blocks(text)]  # sanitised there
        elif is_said_before_call(shown, index):
            blocks += incremental.blocks(block["thinking"])
        elif block["type"] == "thinking":
            blocks += filter(None, [thinking_html(block.get("thinking") or "")])
        elif block["type"] == "tool_use":
            card = results.get(block["id"], RUNNING_CARD)
            is_slot = to_keep and card["state"] == "failed"
            blocks.append(slot_html(block["id"]) if is_slot else card_html(block, card))
    safe = [mark_safe(with_code_buttons(html)) for html in blocks]  # noqa: S308 - sanitised, or from a template
    return render_to_string("chat/_blocks.html", {"blocks": safe})


def is_said_before_call(content: Sequence[Mapping[str, Any]], index: int) -> bool:
    """Return whether this thinking is what the model tells the person between its calls. Newer models put it into a
    block of thinking of its own, right before the call; what they think about comes in a block before that."""
    calls = index + 1 < len(content) and content[index + 1]["type"] == "tool_use"
    return bool(index and calls and content[index]["type"] == "thinking" and content[index].get("thinking", "").strip())


def slot_html(tool_use_id: str) -> SafeString:
    """Return an empty card, which the stored HTML has in place of the card of a failed call."""
    return render_to_string("chat/_card_slot.html", {"id": tool_use_id})


# A longer piece of code is folded.
LONG_CODE_LINES = 30
CODE = re.compile(r'<pre class="code".*?</pre>', re.DOTALL)


def with_code_buttons(html: str) -> str:
    """Return the HTML of a display block, each piece of code with its button, and a long one with a way to unfold it.

    The elements have no words, so that they can be stored in any language: static/js/code.js adds those of the page.
    """
    return CODE.sub(_furnished, html) if '<pre class="code"' in html else html


def _furnished(found: re.Match[str]) -> str:
    lines = found[0].count("\n")
    code = mark_safe(found[0])  # noqa: S308 - sanitised
    return render_to_string("chat/_code.html", {"code": code, "lines": lines, "is_long": lines > LONG_CODE_LINES})


def thinking_html(text: str) -> str:
    """Return a thinking block, folded; "" for an empty one."""
    if not text.strip():
        return ""
    return render_to_string("chat/_thinking.html", {"text": text.strip(), "words": get_language()})


def card_html(use: Mapping[str, Any], card: Card) -> str:
    """Return the card of the tool_use block `use`."""
    state, since, name = card["state"], card.get("since"), use["name"]
    lines = [worded(line) for line in card["lines"]]
    # A reason, such as that it waits, says more than the line.
    names_line = bool(lines) and Reason.of(card["summary"]) is None and extensions.tool_named(name).shows_first_line
    summary = lines[0] if names_line else worded(card["summary"])
    context = {
        "id": use["id"],
        "state": state,
        "heading": (since and since["heading"]) or extensions.tool_heading(name, state, card["summary"]),
        "summary": summary,
        "lines": list(zip_longest(lines, card.get("addresses", [])[: len(lines)], fillvalue="")),
        "fields": fields_of(name, use["input"]),
        "outcome": fields_of(name, card.get("fields", {})),
        "undo": card.get("undo", "") if since is None or since["can_undo"] else "",
        "since": mark_safe(since["html"]) if since else "",  # noqa: S308 - the tool's own template made it
        "input": json.dumps(use["input"], ensure_ascii=False, indent=2) if use["input"] else "",
        "result": card.get("result", ""),
        "is_json": card.get("result", "").startswith(("{", "[")),
        "seconds": card.get("seconds"),
        "words": get_language(),
    }
    return render_to_string("chat/_tool_card.html", context)


def fields_of(tool: str, values: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Return label and text of each value, for a person; lists and objects are only in the details as JSON.

    What an app masks, such as a password, is masked in what a tool of memory was given.
    """
    named = [(name, readable(value)) for name, value in values.items()]
    if extensions.tool_named(tool).about_memory:
        named = [(name, extensions.memory().masked(text)) for name, text in named]
    return [(extensions.field_label(tool, name), text) for name, text in named if text]


def readable(value: object) -> str:
    """Return a text, number, truth value or list of such as it is read; "" for anything else."""
    match value:
        case bool():
            return gettext("Yes") if value else gettext("No")
        case str() | int() | float():
            return str(value).strip()
        case list() if value and all(isinstance(each, str | int | float) for each in value):
            return ", ".join(map(str, value))
    return ""


def worded(text: object) -> str:
    """Return a summary or line of a card in the reader's language: a Reason as JSON is worded, text is as it is."""
    reason = Reason.of(text)
    return str(text if reason is None else reason)


def html_columns(content: list[Block], cards: Mapping[str, Card]) -> dict[str, Any]:
    """Return the columns that cache an answer's HTML, so that a page does not render every message.

    The cards of failed calls are left out: they are worded for each reader.
    """
    return {"html": rendered(content, cards, to_keep=True), "html_version": incremental.HTML_VERSION}
