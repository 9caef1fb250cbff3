"""The versions of a message: edits and further answers have the same parent."""

from collections import defaultdict
from collections.abc import Sequence

from django.contrib.postgres.expressions import ArraySubquery
from django.db.models import Case, OuterRef, Q, QuerySet, When

from chat.models import Message, Version


def with_families(messages: QuerySet[Message]) -> QuerySet[Message]:
    """Annotate each message with the ids of all its versions as `family`, within the same query."""
    everywhere = Message.objects.order_by("seq").values("pk")
    firsts = ArraySubquery(everywhere.filter(session=OuterRef("session"), parent=None))
    others = ArraySubquery(everywhere.filter(parent=OuterRef("parent")))
    return messages.annotate(family=Case(When(parent=None, then=firsts), default=others))


def mark(messages: Sequence[Message]) -> None:
    """Set `version` of each of `messages`, which are in order and of one session.

    An answer of several messages has the version of its first one. One query, unless they were read `with_families`.
    """
    if not messages:
        return
    families = {} if hasattr(messages[0], "family") else families_of(messages)
    answer: Version | None = None
    for message in messages:
        found = version_in(getattr(message, "family", None) or families.get(message.parent_id, []), message.pk)
        if message.role == Message.Role.USER:
            answer = None
        else:
            found = answer = found or answer
        message.version = found


def families_of(messages: Sequence[Message]) -> dict[int | None, list[int]]:
    """Return {parent id: ids of all versions} of `messages`."""
    wanted = Q(parent__in={message.parent_id for message in messages if message.parent_id})
    if any(message.parent_id is None for message in messages):
        wanted |= Q(session=messages[0].session_id, parent=None)
    families: dict[int | None, list[int]] = defaultdict(list)
    for pk, parent in Message.objects.filter(wanted).order_by("seq").values_list("pk", "parent_id"):
        families[parent].append(pk)
    return families


def version_in(family: Sequence[int], pk: int) -> Version | None:
    """Return the position of `pk` in `family`, the ids of all versions, oldest first; None for a single one. Pure."""
    if len(family) < 2 or pk not in family:
        return None
    index = family.index(pk)
    before = family[index - 1] if index else None
    after = family[index + 1] if index + 1 < len(family) else None
    return Version(index + 1, len(family), before, after)
