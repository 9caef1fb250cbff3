"""The row under a message: which version it is, and what can be done with it. Works without a script where it can.

The buttons belong to the page's form `act`, which holds the token against forgery; templates/chat/_act.html has it, and
the pictures.
"""

import functools

from django.utils.html import escape
from django.utils.safestring import SafeString, mark_safe
from django.utils.translation import get_language, pgettext
from django.utils.translation import gettext as _

from chat.models import Message

ICON = '<svg class="icon" aria-hidden="true" focusable="false"><use href="#icon-{icon}"/></svg>'
# By a script alone; an address; the form `act`. The word stands in the place of {0}.
SCRIPTED = (
    '<button type="button" class="act act--{do}" data-do="{do}" aria-label="{word}" title="{word}">{icon}</button>'
)
LINKED = (
    '<a class="act act--{do}" href="/messages/{{id}}/{do}" data-do="{do}" aria-label="{word}" title="{word}">{icon}</a>'
)
POSTED = (
    '<button class="act act--{do}" form="act" formaction="/messages/{{id}}/{do}"{action} aria-label="{word}"'
    ' title="{word}">{icon}</button>'
)
VERSIONS = (
    '<span class="versions" role="group" aria-label="{word}">{before}'
    '<span class="versions__place">{number} / {total}</span>{after}</span>'
)


def actions_html(message: Message) -> SafeString:
    """The row; "" while the message is being written."""
    if message.is_running:
        return SafeString()
    row = row_of(message.role, message.status == Message.Status.COMPLETE, get_language())
    # Every part is a number, a word of ours, or markup of ours.
    return mark_safe(row.format(id=message.pk, versions=versions_html(message)))  # noqa: S308


def versions_html(message: Message) -> str:
    """“‹ 2 / 3 ›”; "" when there is one version."""
    version = message.version
    if version is None:
        return ""
    before = turn(version.before, "before", _("Earlier version"))
    after = turn(version.after, "after", _("Later version"))
    return VERSIONS.format(
        word=escape(_("Versions")), before=before, number=version.number, total=version.total, after=after
    )


def turn(message_id: int | None, icon: str, word: str) -> str:
    """The button that shows the neighbour, or one that cannot be pressed."""
    where = (
        f'form="act" formaction="/messages/{message_id}/show" data-show="{message_id}"' if message_id else "disabled"
    )
    picture = ICON.format(icon=icon)
    return f'<button class="act" {where} aria-label="{escape(word)}" title="{escape(word)}">{picture}</button>'


@functools.lru_cache(maxsize=256)
def row_of(role: str, is_whole: bool, language: str | None) -> str:
    """The row of such a message, with places for {id} and {versions}. One for each language."""
    parts = [made(SCRIPTED, "copy", _("Copy"))]
    if role == Message.Role.USER:
        parts.append(made(LINKED, "edit", _("Edit")))
        # Only the last one of a fork stands without an answer.
        parts.append(made(POSTED, "retry", pgettext("button", "Answer"), ' data-do="retry"'))
    else:
        if is_whole:
            parts.append(made(POSTED, "retry", _("Regenerate"), ' data-do="retry"'))
        parts.append(made(LINKED, "raw", _("Show source")))
    parts.append(made(POSTED, "fork", _("Fork into a new conversation from here")))
    parts.append(made(LINKED, "details", _("Details")))
    name = escape(_("Message actions"))
    return f'<div class="message__actions" role="group" aria-label="{name}">{{versions}}{"".join(parts)}</div>'


def made(template: str, do: str, word: str, action: str = "") -> str:
    escaped = escape(word).replace("{", "{{").replace("}", "}}")
    return template.format(do=do, word=escaped, icon=ICON.format(icon=do), action=action)
