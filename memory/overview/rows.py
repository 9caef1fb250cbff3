"""Render the rows of entries. Those of a page differ only by their texts, which are filled into a row of each kind."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache

from django.template.loader import render_to_string
from django.urls import reverse
from django.utils.html import escape
from django.utils.safestring import SafeString, mark_safe
from django.utils.translation import get_language

from memory.models import MemoryDocument
from memory.overview.home import ShownEntry

# A placeholder of a text in a row that is rendered once. The row is split there, so that none is sought in texts.
SLOT = re.compile(r"-slot-([a-z_]+)-")
TEXTS = ("key", "url", "query", "number", "text", "said_by", "conversation", "moment", "day", "confirmed")


@dataclass(frozen=True)
class RowsOf:
    """The document of rows, where acts on them go back to, and what the person may do with them."""

    document: MemoryDocument
    next: str
    may_write: bool
    may_forget: bool
    # Whether they are of a private memory, and the person may propose them to a shared one.
    may_propose: bool = False

    @property
    def context(self) -> dict[str, str]:
        """Return the texts that all rows share: the version, which is a part of their ids, and parts of addresses."""
        query = reverse("memory", query={"version": self.document.version, "next": self.next})
        return {
            "key": str(self.document.version),
            "url": f"{reverse('memory_document', args=[self.document.pk])}entries/",
            "query": query.partition("?")[2],
        }


def rows_html(entries: Iterable[ShownEntry], of: RowsOf, said: str = "") -> SafeString:
    """Return the rows of `entries`, the first with the sentence `said`."""
    shared, found = of.context, list[str]()
    own = [name for name in TEXTS if name not in shared]
    escaped = {name: escape(text) for name, text in shared.items()}
    for shown in entries:
        if shown.marks or said:
            texts = shared | {name: getattr(shown, name) for name in own}
            context = {"row": texts, "marks": shown.marks, "said": said}
            found.append(render_to_string("memory/_entry.html", context | _rights(of)))
            said = ""
        else:
            has = bool(shown.conversation), bool(shown.confirmed)
            parts = plain_row(*has, of.may_write, of.may_forget, of.may_propose, get_language())
            texts = escaped | {name: escape(getattr(shown, name)) for name in own}
            # Every other part is the name of a slot.
            found += [texts[part] if number % 2 else part for number, part in enumerate(parts)]
    return mark_safe("".join(found))  # noqa: S308 - templates, and texts that are escaped


@lru_cache(maxsize=128)
def plain_row(
    has_conversation: bool,
    has_confirmed: bool,
    may_write: bool,
    may_forget: bool,
    may_propose: bool,
    language: str | None,
) -> list[str]:
    """Return the row of an entry about which nothing waits: its parts, and between them the names of its texts."""
    row = {name: f"-slot-{name}-" for name in TEXTS}
    row |= {} if has_conversation else {"conversation": ""}
    row |= {} if has_confirmed else {"confirmed": ""}
    rights = {"may_write": may_write, "may_forget": may_forget, "may_propose": may_propose}
    return SLOT.split(render_to_string("memory/_entry.html", {"row": row, **rights}))


def _rights(of: RowsOf) -> dict[str, bool]:
    return {"may_write": of.may_write, "may_forget": of.may_forget, "may_propose": of.may_propose}
