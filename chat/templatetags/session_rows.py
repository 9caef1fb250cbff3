"""Rows of the list of conversations, joined here and not in a template: a page has a hundred of them."""

import functools
import uuid
from collections.abc import Iterable
from html import escape

from django import template
from django.template.loader import render_to_string
from django.utils.safestring import SafeString, mark_safe
from django.utils.translation import get_language
from django.utils.translation import gettext as _

from chat.models import ChatSession

register = template.Library()

ROW = (
    '<li class="session{{current}}" id="session-{{id}}">'
    '<a class="session__link" href="/c/{{id}}"{{here}}>{{name}}</a>{{unread}}'
    '<a class="button button--bare session__more" href="/c/{{id}}/menu" hx-get="/c/{{id}}/menu"'
    ' hx-target="#session-menu" title="{more}" aria-label="{more_for}">{icon}</a></li>\n'
)
UNREAD = '<span class="session__unread"><span class="visually-hidden">{unread}</span></span>'


@register.simple_tag
def session_rows(sessions: Iterable[ChatSession], shown: uuid.UUID | None) -> SafeString:
    """Each as a list item with its menu; `shown` is the one that the page shows."""
    row, unread = words_of(get_language())
    rows = []
    for session in sessions:
        is_shown = session.pk == shown
        rows.append(
            row.format(
                id=str(session.pk),
                name=escape(session.name),
                current=" session--current" if is_shown else "",
                here=' aria-current="page"' if is_shown else "",
                unread=unread if session.is_unread and not is_shown else "",
            )
        )
    # Every part is an id, escaped, or markup of ours.
    return mark_safe("".join(rows))  # noqa: S308


@functools.lru_cache
def words_of(language: str | None) -> tuple[str, str]:
    """A row with places for {id}, {name}, {current}, {here} and {unread}; and the mark of an unread one."""
    more_for = plain(_("More for “%(session)s”")) % {"session": "{name}"}
    row = ROW.format(more=plain(_("More")), more_for=more_for, icon=render_to_string("icons/more.html").strip())
    return row, UNREAD.format(unread=escape(_("unread")))


def plain(words: str) -> str:
    """Escaped, and not taken for a place."""
    return escape(words).replace("{", "{{").replace("}", "}}")
