"""Add an entry to the curated memory of a space: in its form, and with what follows from it."""

from django.conf import settings
from django.db import transaction

from memory.documents import alternative, write
from memory.documents.write import Append, Author, Separator
from memory.models import MemoryRevision
from memory.policy.paths import CURATED
from memory.tools import comparisons, decisions
from oneclaw.models import Space, User


@transaction.atomic
def save_entry(space: Space, entry: Append, author: Author, *, ask: bool) -> MemoryRevision | None:
    """Append `entry` to MEMORY.md, queue its comparison with older lines and, with `ask`, ask the person about its
    masked secret, in one transaction.

    Before, the content of memory.md moves there.
    """
    alternative.take_over(space, author.user)
    revision = write.apply(space, CURATED, entry, author)
    if revision is not None and ask:
        decisions.ask_about_secret(revision)
    if revision is not None:
        comparisons.request(revision)
    return revision


def append_operation(user: User, content: str) -> Append:
    """Return the operation that appends `content` to MEMORY.md, under the time if MEMORY_TIMESTAMPS is set."""
    if settings.MEMORY_TIMESTAMPS:
        text = f"## {user.local():%Y-%m-%d %H:%M}\n\n{as_entry(content)}"
        return Append(text, Separator.PARAGRAPH, unless_there=content)
    return Append(as_entry(content), Separator.LIST, unless_there=content)


def as_entry(content: str) -> str:
    """Return `content` as an entry of MEMORY.md, its words unchanged.

    One line becomes a list item; several lines, a list, a heading, code or a quotation stay as they are.
    """
    has_form = "\n" in content.rstrip("\n") or content.startswith(("- ", "* ", "+ ", "#", ">", "```", "~~~", " ", "\t"))
    return content if has_form else f"- {content}"
