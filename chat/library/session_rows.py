"""Render the rows of the sidebar's list. They differ only by their texts, which are filled into a row of each kind."""

import uuid
from collections.abc import Iterable
from dataclasses import dataclass

from django.utils.safestring import SafeString, mark_safe

from chat.library.sidebar import ListedSession, Listing, OlderSessions
from chat.models import Folder
from oneclaw.web.filled_rows import RowTemplate

ROW = RowTemplate("chat/_session_row.html", ("id", "name", "space_name"))


@dataclass(frozen=True)
class ShownSessions:
    """A part of the list as a page has it: the rows of each group, folder and of what is pinned, as HTML."""

    groups: list[tuple[str, SafeString]]
    # As in OlderSessions.
    after: str
    before: str
    pinned: str = ""
    folders: tuple[tuple[Folder, SafeString], ...] = ()
    is_empty: bool = False


def shown_sessions(part: OlderSessions, current: uuid.UUID | None) -> ShownSessions:
    """Return `part` of the list as HTML, in which the row of the conversation `current` is the current one."""
    groups = [(when, rows_html(sessions, current)) for when, sessions in part.groups]
    if not isinstance(part, Listing):
        return ShownSessions(groups, part.after, part.before)
    folders = tuple((folder, rows_html(sessions, current)) for folder, sessions in part.folders)
    return ShownSessions(groups, part.after, part.before, rows_html(part.pinned, current), folders, part.is_empty)


def rows_html(sessions: Iterable[ListedSession], current: uuid.UUID | None) -> SafeString:
    """Return the rows of `sessions`."""
    return mark_safe("".join(_row(session, is_current=session.id == current) for session in sessions))  # noqa: S308


def _row(session: ListedSession, *, is_current: bool) -> SafeString:
    is_shared = session.shared_at is not None
    texts = {
        "id": str(session.id),
        "name": session.name,
        "space_name": (session.space_name or "") if is_shared else "",
    }
    is_unread = session.is_unread and not is_current
    return ROW.filled(texts, is_current=is_current, is_shared=is_shared, is_unread=is_unread)
