"""Render the rows of a long list that differ only by their texts: each kind of row is rendered once, then filled.

    MEMBER = RowTemplate("chat/spaces/_member.html", ("name", "email"))
    html = MEMBER.filled({"name": "Ada", "email": "ada@example.org"}, is_owner=True)

The template finds the texts in `row`, and also what says which kind of row it is.
"""

import re
from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from html import escape

from django.template.loader import render_to_string
from django.utils.safestring import SafeString, mark_safe
from django.utils.translation import get_language

# A placeholder of a text in a row that is rendered once. The row is split there, so that none is sought in texts.
SLOT = re.compile(r"-slot-([a-z_]+)-")
KEPT_MAX_KINDS = 256


@dataclass(frozen=True)
class RowTemplate:
    """A template, and the names of the texts in its `row`."""

    template: str
    names: tuple[str, ...]

    def filled(self, texts: Mapping[str, str], **kind: Hashable) -> SafeString:
        """Return the row with `texts`, which are escaped. The template is rendered anew for each other `kind`, for each
        language, and for other texts that are empty."""
        empty = tuple(name for name in self.names if not texts[name])
        parts = rendered_parts(self, empty, tuple(kind.items()), get_language())
        # Every other part is the name of a slot.
        escaped = {name: escape(texts[name]) for name in self.names}
        html = "".join(escaped[part] if number % 2 else part for number, part in enumerate(parts))
        return mark_safe(html)  # noqa: S308 - of templates, and texts that are escaped


@lru_cache(maxsize=KEPT_MAX_KINDS)
def rendered_parts(
    of: RowTemplate, empty: tuple[str, ...], kind: tuple[tuple[str, Hashable], ...], language: str | None
) -> list[str]:
    """Return a row of one kind: its parts, and between them the names of its texts."""
    row = {name: "" if name in empty else f"-slot-{name}-" for name in of.names}
    return SLOT.split(render_to_string(of.template, {**dict(kind), "row": row}))
