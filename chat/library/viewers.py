"""Who can see a conversation, or a file that was sent in one."""

from collections.abc import Iterator

from chat.models import Attachment, ChatSession, SharedLink
from oneclaw.reasons import Reason
from oneclaw.spaces.viewers import Ground, Viewer, by_name, viewers, viewers_of_space


@viewers.register
def viewers_of_session(session: ChatSession) -> list[Viewer]:
    """Return the author of the conversation, the members of the space that it is shared with, and who has a link."""
    found = {session.owner: (Ground(Reason("viewer.author")),)}
    if session.shared_at is not None and session.space is not None:
        for viewer in viewers_of_space(session.space):
            if viewer.person is not None:
                since = tuple(
                    Ground(each.reason, max(session.shared_at, each.since) if each.since else session.shared_at)
                    for each in viewer.grounds
                )
                found[viewer.person] = (*found.get(viewer.person, ()), *since)
    everybody = [Viewer(person, grounds) for person, grounds in found.items()]
    everybody += [Viewer(None, (ground,)) for ground in grounds_of_links(session)]
    return by_name(everybody)


def grounds_of_links(session: ChatSession) -> Iterator[Ground]:
    """Yield one ground for all links to copies of the conversation that the same people may open."""
    links = session.shared_links.live().select_related("space").order_by("space__name", "created_at")
    same: dict[tuple[str, str], list[SharedLink]] = {}
    for link in links.defer("snapshot"):
        same.setdefault((link.scope, link.space.name if link.space else ""), []).append(link)
    for (scope, space), found in same.items():
        code = "viewer.link" if scope == SharedLink.Scope.EVERYBODY else f"viewer.link_{scope}"
        params = {"number": len(found)} | ({"space": space} if space else {})
        yield Ground(Reason(code, params), found[0].created_at)


@viewers.register
def viewers_of_attachment(file: Attachment) -> list[Viewer]:
    """Return who can see the conversation in which the file was sent, without those who have a link: it leaves files
    out. A file that was not sent yet is its owner's."""
    if file.session is None:
        return [Viewer(file.owner, (Ground(Reason("viewer.own")),))]
    return [viewer for viewer in viewers_of_session(file.session) if viewer.person is not None]
