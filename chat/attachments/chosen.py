"""Attach a document of memory that a person chose instead of a file: the attachment names it, and holds nothing of its
text.

It is listed, sent again and deleted like any other attachment. Its text is sent by memory (MessageContext), which
checks at every turn who may read it.
"""

import hashlib
import uuid
from typing import Any

from django.utils.translation import gettext_lazy

from chat import extensions
from chat.attachments import store
from chat.extensions import MEMORY_NAME, Pick, PickingScope
from chat.models import Attachment, Message
from oneclaw.models import User
from oneclaw.text import UserFacingError

# What a list of picks shows at most.
PICKS_MAX_COUNT = 50


class NoPickError(UserFacingError):
    """The document is not there, or may not be added here."""

    wording = gettext_lazy("This document is not there any more. Choose another one.")


def found(scope: PickingScope, words: list[str]) -> list[tuple[str, Pick]]:
    """Return what may be picked there, each with the key that `choose` takes."""
    picks = extensions.memory().documents(scope, words, PICKS_MAX_COUNT)
    return [(f"{MEMORY_NAME}:{pick.key}", pick) for pick in picks]


def choose(scope: PickingScope, key: str) -> Attachment:
    """Store and return the attachment for what has this key. Raise NoPickError, and FileRefusedError when the person
    has no room for it."""
    app, _colon, own_key = key.partition(":")
    pick = extensions.memory().document(scope, own_key) if app == MEMORY_NAME else None
    if pick is None:
        raise NoPickError
    name = store.clean_name(pick.name)
    data = f"{name}\n".encode()
    return store.store_row(
        Attachment(
            pk=uuid.uuid4(),
            owner=scope.user,
            name=name,
            kind=Attachment.Kind.TEXT,
            media_type="text/plain",
            size=len(data),
            sha256=hashlib.sha256(data).hexdigest(),
            source={"app": app, "key": pick.key, "size": pick.size},
        ),
        data,
    )


def address(user: User, file: Attachment) -> str:
    """Return the URL of the page of what `file` names; "" when `user` may not see it."""
    source: dict[str, Any] = file.source or {}
    return extensions.memory().document_address(user, source["key"]) if source.get("app") == MEMORY_NAME else ""


def keys_in(message: Message) -> list[str]:
    """Return the keys of what was chosen for `message`, in order. A query only when something was."""
    ids = [uuid.UUID(block["id"]) for block in message.content if block["type"] == "attachment" and "chosen" in block]
    if not ids:
        return []
    rows = Attachment.objects.filter(pk__in=ids, source__app=MEMORY_NAME).in_bulk()
    sources: list[dict[str, Any]] = [rows[each].source or {} for each in ids if each in rows]
    return [source["key"] for source in sources]
