"""The versions of a message: edits and further answers have the same parent."""

from collections.abc import Sequence

from django.contrib.postgres.expressions import ArraySubquery
from django.db.models import Case, OuterRef, When

from chat.models import Message, Version

_EVERYWHERE = Message.objects.order_by("seq").values("pk")
# The ids of all versions of a message, oldest first.
FAMILY = Case(
    When(parent=None, then=ArraySubquery(_EVERYWHERE.filter(session=OuterRef("session"), parent=None))),
    default=ArraySubquery(_EVERYWHERE.filter(parent=OuterRef("parent"))),
)


def version_of(message: Message) -> Version | None:
    """Return the version of one message. One query."""
    family = Message.objects.filter(pk=message.pk).values_list(FAMILY, flat=True).get()
    return version_in(family, message.pk)


def versions_of(messages: Sequence[Message], families: Sequence[Sequence[int]]) -> list[Version | None]:
    """Return the version of each of `messages`, which are in order and of one session and have these `families`.

    An answer of several messages has the version of its first one. Pure.
    """
    found: list[Version | None] = []
    answer: Version | None = None
    for message, family in zip(messages, families, strict=True):
        version = version_in(family, message.pk)
        if message.role == Message.Role.USER:
            answer = None
        else:
            version = answer = version or answer
        found.append(version)
    return found


def version_in(family: Sequence[int], pk: int) -> Version | None:
    """Return the position of `pk` in `family`, the ids of all versions, oldest first; None for a single one. Pure."""
    if len(family) < 2 or pk not in family:
        return None
    index = family.index(pk)
    before = family[index - 1] if index else None
    after = family[index + 1] if index + 1 < len(family) else None
    return Version(index + 1, len(family), before, after)
