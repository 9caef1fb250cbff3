"""Copies of the messages of a shared conversation in a fork, which is private to the member who forks it."""

import copy
import uuid
from typing import Any

from chat import extensions
from chat.attachments import store
from chat.conversations.shared.authorship import FROM_KEY, MEMBER
from chat.models import ChatSession, Message
from chat.rendering.citations import SOURCES_KEY
from oneclaw.llm.citations import uncited
from oneclaw.models import User

# What may hold something of its owner's memory in a message from before it was shared.
PERSONAL_META = ("context", "hook_text", "sent", "answer_lines", "cards", SOURCES_KEY)
HIDDEN_BLOCKS = ("thinking", "redacted_thinking", "tool_result", "compaction")


def for_fork(user: User, source: ChatSession, message: Message) -> Message:
    """Return `message` of the shared `source` as `user` gets a copy of it; not saved.

    What others wrote is marked as theirs, files become the person's own, and what came from a memory before it was
    shared stays behind.
    """
    made = copy.copy(message)
    made.content, made.meta = (
        list(message.content),
        {name: value for name, value in message.meta.items() if name != "by"},
    )
    if message.seq <= source.shared_seq:
        made.content = [uncited(block) for block in made.content if for_others(block)]
        made.meta = {name: value for name, value in made.meta.items() if name not in PERSONAL_META}
        made.html, made.html_version = "", 0
    if message.role == Message.Role.USER:
        author = message.author or source.owner
        if author.pk != user.pk:
            made.author = author
            made.meta = {FROM_KEY: {"number": 0, "name": str(author)}, **made.meta, "by": MEMBER}
        made.content = [own_file(user, block) for block in made.content]
    return made


def for_others(block: dict[str, Any]) -> bool:
    """Return whether `block` holds nothing of its owner's memory."""
    if block["type"] == "tool_use":
        return extensions.tool_named(block["name"]).is_for_others
    return block["type"] not in HIDDEN_BLOCKS


def own_file(user: User, block: dict[str, Any]) -> dict[str, Any]:
    """Return `block`, which names a file that the person has: their own, or a copy of that of another person.

    A file that is gone, or for which the person has no room, keeps its name and cannot be opened.
    """
    if block["type"] != "attachment":
        return block
    file = store.visible_file(user, uuid.UUID(block["id"]))
    if file is None or file.owner_id == user.pk:
        return block
    try:
        return {**block, "id": str(store.copy_for(user, file).pk)}
    except (store.FileMissingError, store.FileRefusedError):
        return block
