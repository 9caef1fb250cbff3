"""Read messages with all that is shown of them besides their rows."""

from collections.abc import Sequence

from django.db.models import F, QuerySet

from chat.conversations import versions
from chat.conversations.shared.authorship import SHARED_THROUGH, authorships_of
from chat.models import ChatSession, Message, Version
from chat.rendering.shown import ShownMessage, shown_person


def read_shown(messages: QuerySet[Message]) -> list[ShownMessage]:
    """Read `messages`, which are of one session, in order of their numbers."""
    found = messages.annotate(family=versions.FAMILY, shared_through=SHARED_THROUGH, is_good=F("rating__is_good"))
    rows = sorted(found, key=lambda row: row.seq)
    through = rows[0].shared_through if rows else None
    titles = {} if through is not None else origin_titles(rows)
    of_versions = versions.versions_of(rows, [row.family for row in rows])
    return [
        ShownMessage(
            row,
            version=version,
            is_good=row.is_good if through is None else None,
            origin_title=titles.get(row.origin_id, ""),
            author=by.author,
            is_for_several=by.is_for_several,
            hides_memory=by.hides_memory,
        )
        for row, version, by in zip(rows, of_versions, authorships_of(rows, through), strict=True)
    ]


def read_with_authors(messages: QuerySet[Message]) -> list[ShownMessage]:
    """Read `messages`, which are of one session, with their authors and what is hidden of them alone, in their order.
    Their versions, ratings and origins are not read."""
    rows = list(messages.annotate(shared_through=SHARED_THROUGH))
    through = rows[0].shared_through if rows else None
    return [
        ShownMessage(row, author=by.author, is_for_several=by.is_for_several, hides_memory=by.hides_memory)
        for row, by in zip(rows, authorships_of(rows, through), strict=True)
    ]


def just_stored(message: Message, *, origin_title: str = "", version: Version | None = None) -> ShownMessage:
    """Return a message that this process has just stored, with its author. No query."""
    author = shown_person(message.author) if message.author is not None else None
    return ShownMessage(message, version, origin_title=origin_title, author=author)


def origin_titles(messages: Sequence[Message]) -> dict[str, str]:
    """Return the titles of the conversations of the same owner that have written some of `messages`, by their ids.

    Members of a shared session are not shown the titles of its owner's other conversations.
    """
    ids = {message.origin_id for message in messages if message.origin_id}
    if not ids:
        return {}
    own = ChatSession.objects.filter(owner__chat_sessions=messages[0].session_id, deleted_at=None)
    return {str(session.pk): session.name for session in own.filter(pk__in=ids).only("title")}
