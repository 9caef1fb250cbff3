"""Provide what memory sends to the model before the text of a message: changes of the curated memory, then recalled
passages, documents, then skills."""

from collections.abc import Sequence

from chat.extensions import ContextItem
from chat.models import ChatSession, Message
from memory.access.load import access_of
from memory.prompt.added_documents import document_items, documents_text, is_document
from memory.prompt.changes import changed_items, changes_text, is_change
from memory.prompt.recall import recalled_items, recalled_text
from memory.skills.offering import is_of_skill, message_skills, skills_text


def message_items(session: ChatSession, message: Message) -> list[ContextItem]:
    """Return everything of memory that is sent to the model with `message`."""
    access = access_of(session, message.author or session.owner)
    changes = changed_items(access, message)
    recalled = [
        item | {"mark": f"m{message.seq}-{number}"}
        for number, item in enumerate(recalled_items(access, message, changes), 1)
    ]
    return [*changes, *recalled, *document_items(access, message), *message_skills(access, message)]


def message_text(found: Sequence[ContextItem]) -> str:
    """Return the text of the items that were stored with a message."""
    parts = [
        changes_text([item for item in found if is_change(item)]),
        recalled_text([item for item in found if not (is_change(item) or is_document(item) or is_of_skill(item))]),
        documents_text([item for item in found if is_document(item)]),
        skills_text([item for item in found if is_of_skill(item)]),
    ]
    return "\n\n".join(part for part in parts if part)
