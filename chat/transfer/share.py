"""Share a conversation by a link: a copy as it was at that moment, without content from memory.

link, token = share(session, "week")       # the token is returned once; only its hash is stored
find(token)                                # what the page shows; None for an invalid link
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
from chat.models import ChatSession, Message, SharedLink, SharedLinkQuerySet
from chat.rendering import citations, incremental
from chat.rendering.messages import with_code_buttons
from oneclaw.audit.record import record
from oneclaw.models import AuditKind, User
from oneclaw.people.keys import hashed
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


def share(session: ChatSession, period: str) -> tuple[SharedLink, str]:
    """Create a link to the conversation as it is shown now; return the link and its token. `period` is one of PERIODS.
    Raise NotShareable or TooMany."""
    lasts = PERIODS[period]
    shown = [] if session.mode == ChatSession.Mode.TEMPORARY else snapshot(session)
    if not shown:
        raise NotShareableError
    if SharedLink.objects.visible_to(session.owner).count() >= MAX_LINKS:
        raise TooManyLinksError
    token, now = secrets.token_urlsafe(TOKEN_BYTES), timezone.now()
    with transaction.atomic():
        link = SharedLink.objects.create(
            session=session,
            token_hash=hashed(token),
            title=session.name,
            snapshot=shown,
            created_at=now,
            expires_at=now + lasts if lasts else None,
        )
        record(AuditKind.SHARED, actor=session.owner, session=str(session.pk), link=link.pk, period=period)
    return link, token


def find(token: str) -> SharedLink | None:
    """Return the valid link with this token; None alike for an unknown, expired or revoked one."""
    return SharedLink.objects.live().filter(token_hash=hashed(token)).first()


def shown(link: SharedLink) -> list[dict[str, Any]]:
    """Return the messages of the link, each piece of code with its button, as in the chat."""
    return [message | {"parts": [with_buttons(part) for part in message["parts"]]} for message in link.snapshot]


def with_buttons(part: Part) -> Part:
    return part | {"html": with_code_buttons(part["html"])} if "html" in part else part


@transaction.atomic
def revoke(user: User, links: SharedLinkQuerySet) -> int:
    """Delete links of `user` with their copies; return how many there were."""
    for link_id in links.values_list("pk", flat=True):
        record(AuditKind.SHARE_ENDED, actor=user, link=link_id)
    return links.delete()[0]


def snapshot(session: ChatSession) -> list[dict[str, Any]]:
    """Return the shown and finished messages as parts: {"text"} of a person, {"html"} of an answer, {"left_out"} for
    what is not shown to others."""
    copied: list[dict[str, Any]] = []
    for message in session.messages.shown().finished().said():
        parts = parts_of(message)
        if not parts:
            continue
        if copied and copied[-1]["role"] == message.role == Message.Role.ASSISTANT:
            # An answer in several steps is one.
            copied[-1]["parts"] = without_repetition([*copied[-1]["parts"], *parts])
        else:
            copied.append({"role": message.role, "parts": without_repetition(parts)})
    return copied


def parts_of(message: Message) -> list[Part]:
    """Return the parts of a message. Only known kinds of blocks are copied: thoughts and future kinds are not."""
    parts: list[Part] = []
    # Numbers without links: what is cited is not shown to others.
    marks = citations.Marks(message.meta.get(citations.SOURCES_KEY) or {}, None)
    for block in citations.marked_texts(message.content):
        if block["type"] == "text" and message.role == Message.Role.USER:
            parts.append({"text": block["text"] if message.is_by_person else message.text})
        elif block["type"] == "text":
            parts += [{"html": marks.numbered(html)} for html in incremental.blocks(block["text"])]  # sanitised there
        elif block["type"] == "tool_use":
            parts.append({"left_out": MEMORY if extensions.is_about_memory(block["name"]) else TOOL})
        elif block["type"] == "attachment":
            parts.append({"left_out": FILE})
    if any(message.meta.get(per_message.META_KEY, {}).values()):
        parts.append({"left_out": MEMORY})
    return parts


def without_repetition(parts: list[Part]) -> list[Part]:
    """Merge consecutive parts that were left out for the same reason."""
    return [part for before, part in zip([{}, *parts], parts, strict=False) if "left_out" not in part or part != before]
