"""Share a conversation by a link: a copy as it was at that moment, without content from memory.

link, token = share(user, session, "week")  # the token is returned once; only its hash is stored
find(token, person)                         # what the page shows them; None for an invalid link
"""

import datetime as dt
import secrets
from collections.abc import Mapping
from typing import Any

from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from chat import extensions
from chat.context import per_message
from chat.conversations.model_choice import open_spaces
from chat.conversations.shared.share import written_by_members
from chat.models import ChatSession, Message, SharedLink, SharedLinkQuerySet
from chat.rendering import citations, incremental, thoughts
from chat.rendering.messages import with_code_buttons
from oneclaw.audit.record import record
from oneclaw.models import AuditKind, Space, User
from oneclaw.people import notices
from oneclaw.people.keys import hashed
from oneclaw.reasons import Reason
from oneclaw.text import UserFacingError

# How long a link is valid; None: until it is revoked.
PERIODS: Mapping[str, dt.timedelta | None] = {
    "day": dt.timedelta(days=1),
    "week": dt.timedelta(days=7),
    "month": dt.timedelta(days=30),
    "never": None,
}
USUAL = "week"
# Bytes of randomness in a token.
TOKEN_BYTES = 24
# Links that a person may have.
MAX_LINKS = 500

Part = dict[str, str]
MEMORY, TOOL, FILE = "memory", "tool", "file"


class NotShareableError(UserFacingError):
    """The conversation is empty or temporary."""

    wording = _("This conversation cannot be shared, because it is temporary or has no messages.")


class TooManyLinksError(UserFacingError):
    """The person has the maximum number of shared links."""

    wording = _("You have reached the maximum number of shared links. Revoke one first.")


class NoLinkSpaceError(UserFacingError):
    """The person is no member of the space whose members are to open the link."""

    wording = _("Choose one of your spaces.")


class NotForOutsideError(UserFacingError):
    """Members of a space have written in the conversation, and the space does not let their words out."""

    wording = _(
        "Members of a space have written here. A link can be for the members of that space, or for others when an "
        "owner of the space allows it in its settings."
    )


REFUSALS = (NotShareableError, TooManyLinksError, NoLinkSpaceError, NotForOutsideError)


def share(
    user: User, session: ChatSession, period: str, scope: str = SharedLink.Scope.EVERYBODY, space_id: int | None = None
) -> tuple[SharedLink, str]:
    """Create a link of `user` to their conversation as it is shown now; return the link and its token.

    `period` is one of PERIODS; `scope` says who may open it, of SPACE the members of the space `space_id`. Raise
    NotShareableError, TooManyLinksError, NoLinkSpaceError, or NotForOutsideError.
    """
    lasts = PERIODS[period]
    shown = [] if session.mode == ChatSession.Mode.TEMPORARY else snapshot(session)
    if not shown:
        raise NotShareableError
    if SharedLink.objects.visible_to(user).count() >= MAX_LINKS:
        raise TooManyLinksError
    space = space_of(user, scope, space_id)
    of_members = space_of_members(session)
    goes_out = of_members is not None and (space is None or space.pk != of_members.pk)
    if goes_out and not (of_members and of_members.links_for_everybody):
        raise NotForOutsideError
    token, now = secrets.token_urlsafe(TOKEN_BYTES), timezone.now()
    with transaction.atomic():
        link = SharedLink.objects.create(
            session=session,
            token_hash=hashed(token),
            scope=scope,
            space=space,
            title=session.name,
            snapshot=shown,
            created_at=now,
            expires_at=now + lasts if lasts else None,
        )
        details: dict[str, Any] = {"session": str(session.pk), "link": link.pk, "period": period, "scope": scope}
        record(AuditKind.SHARED, actor=user, space=space, **details)
        if goes_out and of_members is not None:
            params = {"who": str(user), "title": session.name, "name": of_members.name}
            for member in User.objects.filter(space_roles__space=of_members).exclude(pk=user.pk):
                notices.tell(member, Reason("links.published", params))
    return link, token


def space_of_members(session: ChatSession) -> Space | None:
    """Return the space whose members' words are in `session`, which is shared, private again, or a copy of a link for
    the members of a space; None for one person's words.

    An unsaved space, which allows nothing, is returned for one that the conversation or its owner is in no more, also
    when it was moved to another space, in which not everybody is who has written.
    """
    copied_of = (session.copied_from or {}).get("space")
    if session.is_shared and copied_of in (None, session.space_id):
        return session.space or Space()
    written = written_by_members(session)
    if copied_of is None and not written.exists():
        return None
    space = Space.objects.visible_to(session.owner).filter(pk=copied_of).first() if copied_of else session.space
    was_moved = space is None or written.exclude(author__space_roles__space=space).exists()
    return Space() if was_moved else space


def space_of(user: User, scope: str, space_id: int | None) -> Space | None:
    """Return the space whose members a link of `scope` is for, one of the shared spaces of `user`; None for another
    scope. Raise NoLinkSpaceError."""
    if scope != SharedLink.Scope.SPACE:
        return None
    space = open_spaces(user).filter(pk=space_id or 0).first()
    if space is None:
        raise NoLinkSpaceError
    return space


def find(token: str, person: User | None = None) -> SharedLink | None:
    """Return the link with this token that `person` may open; None alike for an unknown, expired or revoked one, and
    for one that is for others."""
    return SharedLink.objects.open_to(person).filter(token_hash=hashed(token)).first()


def needs_sign_in(token: str) -> bool:
    """Return whether the link with this token is for people who are signed in."""
    narrow = SharedLink.objects.live().exclude(scope=SharedLink.Scope.EVERYBODY)
    return narrow.filter(token_hash=hashed(token)).exists()


def shown(link: SharedLink) -> list[dict[str, Any]]:
    """Return the messages of the link, each piece of code with its button, as in the chat."""
    return [message | {"parts": [with_buttons(part) for part in message["parts"]]} for message in link.snapshot]


def with_buttons(part: Part) -> Part:
    return part | {"html": with_code_buttons(part["html"])} if "html" in part else part


def with_open_spaces(user: User, links: SharedLinkQuerySet) -> list[SharedLink]:
    """Return `links` of `user`, which keep their spaces only where `user` still has a role."""
    found = list(links)
    spaces = {link.space_id for link in found if link.space_id is not None}
    seen = set(Space.objects.visible_to(user).filter(pk__in=spaces).values_list("pk", flat=True)) if spaces else set()
    for link in found:
        if link.space_id not in seen:
            link.space = None
    return found


@transaction.atomic
def revoke(user: User, links: SharedLinkQuerySet) -> int:
    """Delete links of `user` with their copies; return how many there were."""
    for link in links.select_related("space").defer("snapshot"):
        record(AuditKind.SHARE_ENDED, actor=user, space=link.space, link=link.pk, scope=link.scope)
    return links.delete()[0]


def snapshot(session: ChatSession) -> list[dict[str, Any]]:
    """Return the shown and finished messages as parts: {"text"} of a person, {"html"} of an answer, {"left_out"} for
    what is not shown to others; and under "markdown" their text."""
    copied: list[dict[str, Any]] = []
    for message in session.messages.shown().finished().said():
        parts, markdown = parts_of(message), markdown_of(message)
        if not parts:
            continue
        if copied and copied[-1]["role"] == message.role == Message.Role.ASSISTANT:
            # An answer in several steps is one.
            copied[-1]["parts"] = without_repetition([*copied[-1]["parts"], *parts])
            copied[-1]["markdown"] = "\n\n".join(filter(None, [copied[-1]["markdown"], markdown]))
        else:
            copied.append({"role": message.role, "parts": without_repetition(parts), "markdown": markdown})
    return copied


def markdown_of(message: Message) -> str:
    """Return the text of a message, of which `parts_of` shows all."""
    if message.role == Message.Role.USER and not message.is_by_person:
        return message.text
    texts = [block["text"] for block in message.content if block["type"] == "text"]
    return "\n\n".join(thoughts.parted(text)[1] if message.role == Message.Role.ASSISTANT else text for text in texts)


def parts_of(message: Message) -> list[Part]:
    """Return the parts of a message. Only known kinds of blocks are copied: thoughts and future kinds are not."""
    parts: list[Part] = []
    # Numbers without links: what is cited is not shown to others.
    marks = citations.Marks(message.meta.get(citations.SOURCES_KEY) or {}, None)
    for block in citations.marked_texts(message.content):
        if block["type"] == "text" and message.role == Message.Role.USER:
            parts.append({"text": block["text"] if message.is_by_person else message.text})
        elif block["type"] == "text":
            html_of_text = incremental.blocks(thoughts.parted(block["text"])[1])  # sanitised there
            parts += [{"html": marks.numbered(html)} for html in html_of_text]
        elif block["type"] == "tool_use":
            parts.append({"left_out": MEMORY if extensions.tool_named(block["name"]).about_memory else TOOL})
        elif block["type"] == "attachment":
            parts.append({"left_out": FILE})
    if any(message.meta.get(per_message.META_KEY, {}).values()):
        parts.append({"left_out": MEMORY})
    return parts


def without_repetition(parts: list[Part]) -> list[Part]:
    """Merge consecutive parts that were left out for the same reason."""
    return [part for before, part in zip([{}, *parts], parts, strict=False) if "left_out" not in part or part != before]
