"""Render the rows of entries. Those of a page differ only by their texts, which are filled into a row of each kind."""

from collections.abc import Iterable
from dataclasses import dataclass

from django.template.loader import render_to_string
from django.urls import reverse
from django.utils.safestring import SafeString, mark_safe

from memory.models import MemoryDocument
from memory.overview.home import ShownEntry
from oneclaw.web.filled_rows import RowTemplate

NAMES = "key url query number topic label text said_by conversation moment day confirmed"
ENTRY = RowTemplate("memory/_entry.html", tuple(NAMES.split()))


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

    @property
    def rights(self) -> dict[str, bool]:
        """Return what decides which kind of row it is."""
        return {"may_write": self.may_write, "may_forget": self.may_forget, "may_propose": self.may_propose}


def rows_html(entries: Iterable[ShownEntry], of: RowsOf, said: str = "") -> SafeString:
    """Return the rows of `entries`, the first with the sentence `said`."""
    shared, rights, found = of.context, of.rights, list[str]()
    own = [name for name in ENTRY.names if name not in shared]
    for shown in entries:
        texts = shared | {name: getattr(shown, name) for name in own}
        if shown.waiting or said:
            context = {"row": texts, "waiting": shown.waiting, "said": said}
            found.append(render_to_string(ENTRY.template, context | rights))
            said = ""
        else:
            found.append(ENTRY.filled(texts, **rights))
    return mark_safe("".join(found))  # noqa: S308 - templates, and texts that are escaped
