"""Continue a shared link as a private copy: its text, and nothing else, in a new conversation of the reader.

What was copied are another person's words: memory learns nothing from it (ChatSession.copied_seq, copied_from), the
model reads that, and a line for memory that comes from there waits for the reader's yes, as one from an import does.
"""

import datetime as dt
from typing import Any

from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext as _

from chat.context import notices
from chat.models import ChatSession, Message, SharedLink
from chat.transfer.importing.conversation import Conversation, Said, spoken
from chat.transfer.importing.create import BATCH_ROWS, keep_html, message_row, new_session, reserved
from oneclaw import pubsub
from oneclaw.models import User
from oneclaw.text import UserFacingError

# The value of "by" in Message.meta of the messages that the other person wrote.
BY_COPY = "copy"


class NotCopyableError(UserFacingError):
    """The link was made by a release that kept no text."""

    wording = _("This link is too old to be continued. Ask for a new one.")


@transaction.atomic
def copy_link(reader: User, link: SharedLink) -> ChatSession:
    """Return a new conversation of `reader` with the text of `link`, which they may open. Raise NotCopyableError."""
    if not link.can_be_copied:
        raise NotCopyableError
    conversation = conversation_of(link)
    sharer = link.session.owner
    session = new_session(reader, conversation, timezone.now())
    session.copied_seq = len(conversation.messages)
    session.copied_from = {
        "name": str(sharer),
        "sharer": sharer.pk,
        "at": link.created_at.isoformat(),
        "title": session.title,
        # Whose members' words it may hold: a copy leaves the space by no link that the original could not have.
        "space": link.space_id,
    }
    session.save(update_fields=["copied_seq", "copied_from"])
    ids = dict(enumerate(reserved(Message, len(conversation.messages))))
    rows = [message_row(session, conversation, index, ids, None, seq=index + 1) for index in ids]
    for row in rows:
        if row.role == Message.Role.USER:
            row.meta = {"by": BY_COPY}
    keep_html(rows)
    Message.objects.bulk_create(rows, BATCH_ROWS)
    pubsub.notify(f"user:{reader.pk}", {"kind": "sessions"})
    return session


def forget_sharer(person: User, name: str) -> None:
    """Put `name` in the place of that of `person` in all copies of their links."""
    for copy in ChatSession.objects.filter(copied_from__sharer=person.pk).only("copied_from"):
        ChatSession.objects.filter(pk=copy.pk).update(
            copied_from={**(copy.copied_from or {}), "name": name, "sharer": None}
        )


def conversation_of(link: SharedLink) -> Conversation:
    """Return the text of `link` as a conversation, each message with the time of the link, and after them the notice to
    the model that these are the words of another person."""
    found = [said(message, index, link.created_at) for index, message in enumerate(link.snapshot)]
    found.append(Said("notice", len(found) - 1, [notices.COPIED], link.created_at))
    title = _("{title} (copy)").format(title=link.title[:180])
    return Conversation("", title, found, set(range(len(found))), active_at=timezone.now())


def said(message: dict[str, Any], index: int, at: dt.datetime) -> Said:
    """Return the message of a snapshot at this index; the place of one without text is kept."""
    text = message["markdown"] or _("(Something without text was left out here.)")
    return Said(message["role"], index - 1 if index else None, spoken(text), at)
