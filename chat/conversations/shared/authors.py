"""Who writes in a shared conversation: the columns that say so, and the number by which the model knows them."""

import uuid
from typing import Any

from django.db.models import Max

from chat.conversations.pasted import Ranges
from chat.conversations.shared.authorship import FROM_KEY
from chat.models import ChatSession, Message
from oneclaw.models import User


def columns(session: ChatSession, user: User, pasted: Ranges = (), peer: str = "") -> dict[str, Any]:
    """Return the columns of a message that `user` writes in the locked `session`, of which `pasted` was pasted: who, in
    a shared one or as a `peer` behind a bridge, and what they did not type."""
    meta: dict[str, Any] = {Message.PASTED_KEY: [list(each) for each in pasted]} if pasted else {}
    if peer:
        meta[Message.PEER_KEY] = peer
    if not session.is_shared:
        return {"meta": meta} if meta else {}
    return {"author": user, "meta": meta | {FROM_KEY: {"number": number_of(session, user), "name": str(user)}}}


def is_out_of_turn(session: ChatSession, client_id: uuid.UUID) -> bool:
    """Return whether a message that is not stored yet must wait behind others in the queue of the locked `session`."""
    return session.queue.exists() and not session.messages.filter(client_id=client_id).exists()


def number_of(session: ChatSession, user: User) -> int:
    """Return the number of `user` among those who have written in the locked shared `session`, which stays."""
    written = session.messages.filter(role=Message.Role.USER, author_number__isnull=False)
    known: int | None = written.filter(author=user).values_list("author_number", flat=True).first()
    if known is not None:
        return known
    return (written.aggregate(newest=Max("author_number"))["newest"] or 0) + 1
