"""Which versions of a message there are: what was edited, or answered again, stands beside it under the same parent."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from django.contrib.postgres.expressions import ArraySubquery
from django.db.models import Case, OuterRef, Q, QuerySet, When

from chat.models import Message


@dataclass(frozen=True)
class Place:
    """One of several versions: the `number`th of `total`, and the messages by whose id its neighbours are shown."""

    number: int
    total: int
    before: int | None
    after: int | None


def with_families(messages: QuerySet[Message]) -> QuerySet[Message]:
    """The same messages, each with all its versions as `family`, within the same query."""
    everywhere = Message.objects.order_by("seq").values("pk")
    firsts = ArraySubquery(everywhere.filter(session=OuterRef("session"), parent=None))
    others = ArraySubquery(everywhere.filter(parent=OuterRef("parent")))
    return messages.annotate(family=Case(When(parent=None, then=firsts), default=others))


def mark(messages: Sequence[Message]) -> None:
    """Tell each of these messages, in order and of one session, its place among its versions.

    An answer of several messages is one version: all of them have the place of its first one. One query, unless they
    come `with_families`.
    """
    if not messages:
        return
    families = {} if hasattr(messages[0], "family") else families_of(messages)
    answer: Place | None = None
    for message in messages:
        found = place_in(getattr(message, "family", None) or families.get(message.parent_id, []), message.pk)
        if message.role == Message.Role.USER:
            answer = None
        else:
            found = answer = found or answer
        message.place = found


def families_of(messages: Sequence[Message]) -> dict[int | None, list[int]]:
    """All versions of these messages, by their parent."""
    wanted = Q(parent__in={message.parent_id for message in messages if message.parent_id})
    if any(message.parent_id is None for message in messages):
        wanted |= Q(session=messages[0].session_id, parent=None)
    families: dict[int | None, list[int]] = defaultdict(list)
    for pk, parent in Message.objects.filter(wanted).order_by("seq").values_list("pk", "parent_id"):
        families[parent].append(pk)
    return families


def place_in(family: Sequence[int], pk: int) -> Place | None:
    """The place of `pk` among all versions, oldest first; None when it is the only one. Pure."""
    if len(family) < 2 or pk not in family:
        return None
    index = family.index(pk)
    before = family[index - 1] if index else None
    after = family[index + 1] if index + 1 < len(family) else None
    return Place(index + 1, len(family), before, after)
